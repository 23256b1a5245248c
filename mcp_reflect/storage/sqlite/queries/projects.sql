-- name: project_names
-- What the other names of a tenant's projects stand for.
SELECT name, project, given FROM project_names WHERE tenant = :tenant ORDER BY name;

-- name: project_name_forget
-- A name stands for itself.
DELETE FROM project_names WHERE tenant = :tenant AND name = :name;

-- name: project_name_put
-- Note what a name stands for.
INSERT INTO project_names (tenant, name, project, given) VALUES (:tenant, :name, :project, :given)
ON CONFLICT (tenant, name) DO UPDATE SET project = excluded.project, given = excluded.given;

-- name: project_names_move
-- The names of a project stand for another one.
UPDATE project_names SET project = :project WHERE tenant = :tenant AND project = :old;

-- name: project_is_used
-- Whether a project has records.
SELECT EXISTS (SELECT 1 FROM lessons WHERE tenant = :tenant AND project = :project)
  OR EXISTS (SELECT 1 FROM reflections WHERE tenant = :tenant AND project = :project)
  OR EXISTS (SELECT 1 FROM failures WHERE tenant = :tenant AND project = :project)
  OR EXISTS (SELECT 1 FROM sessions WHERE tenant = :tenant AND project = :project) AS used;

-- name: project_counts
-- The projects that have records, with the number of their active lessons and of their failures.
SELECT project, sum(lessons) AS lessons, sum(failures) AS failures FROM (
  SELECT project, CASE WHEN kind = 'lesson' AND state = 'active' THEN 1 ELSE 0 END AS lessons, 0 AS failures
  FROM lessons WHERE tenant = :tenant
  UNION ALL SELECT project, 0, 1 FROM failures WHERE tenant = :tenant
  UNION ALL SELECT project, 0, 0 FROM reflections WHERE tenant = :tenant
  UNION ALL SELECT project, 0, 0 FROM sessions WHERE tenant = :tenant
) AS every GROUP BY project ORDER BY project;

-- name: project_lessons
-- The records of a project.
SELECT * FROM lessons WHERE tenant = :tenant AND project = :old ORDER BY row;

-- name: project_keepers
-- What tells whether a person keeps a record of a project.
SELECT DISTINCT trust, source, guard_mode, pinned_at FROM lessons WHERE tenant = :tenant AND project = :project;

-- name: project_lesson_move
-- Give a record to another project.
UPDATE lessons SET project = :project, digest = :digest WHERE tenant = :tenant AND id = :id;

-- name: project_vectors_drop
-- Remove the vectors of a record, which are stored by scope: they are made anew.
DELETE FROM vectors WHERE lesson = (SELECT row FROM lessons WHERE id = :id);

-- name: project_add_failures
-- A call that failed in both: one row has the counts of both.
UPDATE failures SET times = failures.times + old.times, works = failures.works + old.works,
  wrong = failures.wrong + old.wrong, cases = failures.cases + old.cases, worked = coalesce(failures.worked, old.worked)
FROM failures AS old
WHERE old.tenant = :tenant AND old.project = :old AND failures.tenant = :tenant AND failures.project = :project
  AND failures.signature = old.signature AND failures.exact = old.exact;

-- Tables of which one row is enough where both projects have it.

-- name: project_move_failures
UPDATE failures SET project = :project
WHERE tenant = :tenant AND project = :old AND NOT EXISTS (
  SELECT 1 FROM failures AS kept WHERE kept.tenant = :tenant AND kept.project = :project
    AND kept.signature = failures.signature AND kept.exact = failures.exact
);

-- name: project_move_search_catalogs
UPDATE search_catalogs SET project = :project
WHERE tenant = :tenant AND project = :old
  AND digest NOT IN (SELECT digest FROM search_catalogs WHERE tenant = :tenant AND project = :project);

-- name: project_move_sessions
UPDATE sessions SET project = :project
WHERE tenant = :tenant AND project = :old
  AND id NOT IN (SELECT id FROM sessions WHERE tenant = :tenant AND project = :project);

-- name: project_drop_steps
DELETE FROM steps WHERE tenant = :tenant AND project = :old;

-- name: project_drop_search_catalogs
DELETE FROM search_catalogs WHERE tenant = :tenant AND project = :old;

-- name: project_drop_failures
DELETE FROM failures WHERE tenant = :tenant AND project = :old;

-- name: project_drop_session_calls
DELETE FROM session_calls WHERE tenant = :tenant AND project = :old;

-- name: project_drop_sessions
DELETE FROM sessions WHERE tenant = :tenant AND project = :old;

-- Tables whose rows only name the project.

-- name: project_give_reflections
UPDATE reflections SET project = :project WHERE tenant = :tenant AND project = :old;

-- name: project_give_recalls
UPDATE recalls SET project = :project WHERE tenant = :tenant AND project = :old;

-- name: project_give_critique_sessions
UPDATE critique_sessions SET project = :project WHERE tenant = :tenant AND project = :old;

-- name: project_give_searches
UPDATE searches SET project = :project WHERE tenant = :tenant AND project = :old;

-- name: project_give_warnings
UPDATE warnings SET project = :project WHERE tenant = :tenant AND project = :old;

-- name: project_give_dreams
UPDATE dreams SET project = :project WHERE tenant = :tenant AND project = :old;

-- name: project_move_guards
INSERT INTO guards (tenant, project, key, lesson_id)
SELECT tenant, :project, key, lesson_id FROM guards WHERE tenant = :tenant AND project = :old
ON CONFLICT DO NOTHING;

-- name: project_drop_guards
DELETE FROM guards WHERE tenant = :tenant AND project = :old;

-- name: project_move_findings
-- What was found in both projects stays as the new one has it.
UPDATE findings SET project = :project
WHERE tenant = :tenant AND project = :old
  AND thing NOT IN (SELECT thing FROM findings WHERE tenant = :tenant AND project = :project);

-- name: project_move_promotions
UPDATE promotions SET project = :project
WHERE tenant = :tenant AND project = :old
  AND file NOT IN (SELECT file FROM promotions WHERE tenant = :tenant AND project = :project);

-- name: project_drop_promotions
DELETE FROM promotions WHERE tenant = :tenant AND project = :old;

-- name: project_drop_findings
DELETE FROM findings WHERE tenant = :tenant AND project = :old;

-- name: project_give_proposals
UPDATE proposals SET project = :project WHERE tenant = :tenant AND project = :old;

-- name: project_give_followed
UPDATE followed SET project = :project WHERE tenant = :tenant AND project = :old;
