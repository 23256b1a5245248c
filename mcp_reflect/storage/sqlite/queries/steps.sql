-- name: step_by_number
-- The number of reflections on a step of a run.
SELECT taken FROM steps WHERE tenant = :tenant AND project = :project AND run_id = :run_id AND step = :step;

-- name: step_take
-- Count one more reflection of a step, unless it has had as many as it may.
INSERT INTO steps (tenant, project, run_id, step, taken, updated_at)
VALUES (:tenant, :project, :run_id, :step, 1, :now)
ON CONFLICT (tenant, project, run_id, step) DO UPDATE SET taken = steps.taken + 1, updated_at = excluded.updated_at
WHERE steps.taken < :most;

-- name: step_drop_old
-- Drop the oldest counts of runs that were not counted for long.
DELETE FROM steps WHERE (tenant, project, run_id, step) IN (
  SELECT tenant, project, run_id, step FROM steps WHERE updated_at < :before ORDER BY updated_at LIMIT :most
);

-- name: step_reset
-- Start a run afresh, or every run of a project.
DELETE FROM steps
WHERE tenant = :tenant AND project = :project AND (CAST(:run_id AS TEXT) IS NULL OR run_id = :run_id);
