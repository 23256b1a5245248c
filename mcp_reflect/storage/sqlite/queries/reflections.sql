-- name: reflection_add
-- Store a reflection with its redacted trace.
INSERT INTO reflections (
  id, tenant, project, task, task_type, outcome, run_id, thinker, trace, body, digest, run_digest, version, created_at,
  updated_at
) VALUES (
  :id, :tenant, :project, :task, :task_type, :outcome, :run_id, :thinker, :trace, :body, :digest, :run_digest, 1, :now,
  :now
);

-- name: reflection_change
-- Write the next version of a reflection.
UPDATE reflections
SET thinker = :thinker, body = :body, digest = :digest, version = version + 1, updated_at = :now
WHERE id = :id AND tenant = :tenant AND project = :project;

-- name: reflection_by_id
-- One reflection of this project, or a global one.
SELECT * FROM reflections WHERE id = :id AND tenant = :tenant AND project IN (:project, '');

-- name: reflection_by_digest
-- The same run with the same judgment, if it was stored before.
SELECT * FROM reflections
WHERE digest = :digest AND tenant = :tenant AND project = :project ORDER BY id LIMIT 1;

-- name: reflection_of_same_run
-- The latest reflections on an equal run: by rules, or by a language model, or one to which the agent added its own.
SELECT * FROM reflections
WHERE run_digest = :run_digest AND tenant = :tenant AND project = :project
  AND (CASE thinker WHEN :rules THEN 'rules' WHEN :host THEN 'host' ELSE 'model' END = :thinks
    OR thinker = :host AND version > 1)
ORDER BY id DESC LIMIT 5;

-- name: reflection_by_run
-- The latest reflection on a run.
SELECT id FROM reflections
WHERE run_id = :run_id AND tenant = :tenant AND project = :project ORDER BY id DESC LIMIT 1;

-- name: reflection_of_component
-- The latest run of this project that executed a decision about a component.
SELECT trace FROM reflections
WHERE tenant = :tenant AND project = :project
  AND json_extract(trace, '$.decision.component') IS NOT NULL
  AND trim(json_extract(trace, '$.decision.component')) = :component
  AND json_extract(trace, '$.execution.metrics') IS NOT NULL
ORDER BY id DESC LIMIT 1;

-- name: reflection_by_importance
-- The summaries of the most important active reflections with any of these tags (or any at all).
SELECT id FROM lessons
WHERE kind = 'reflection' AND state = 'active' AND trust <> 'quarantined'
  AND tenant = :tenant AND project IN (:project, '')
  AND importance >= :min_importance
  AND (:tags = '[]' OR EXISTS (
    SELECT 1 FROM json_each(lessons.tags) AS own JOIN json_each(:tags) AS asked ON lower(own.value) = lower(asked.value)
  ))
ORDER BY importance DESC, id DESC LIMIT :limit;

-- name: reflection_list
-- Reflections of a scope, newest first.
SELECT * FROM reflections WHERE tenant = :tenant AND project IN (:project, '')
ORDER BY id DESC LIMIT :limit;

-- name: latest_runs
-- The latest runs of a project. The index has their order: no other run is read.
SELECT trace FROM reflections WHERE tenant = :tenant AND project = :project ORDER BY created_at DESC LIMIT :limit;

-- name: latest_runs_of_all
-- The latest runs of a tenant. Runs are long: the others are read in the index alone.
SELECT trace FROM reflections WHERE id IN (
  SELECT id FROM reflections WHERE tenant = :tenant ORDER BY created_at DESC LIMIT :limit
);

-- name: reflection_findings
-- Findings of which nobody has told a lesson, the latest first.
SELECT reflections.id AS id, json_extract(finding.value, '$.text') AS text
FROM reflections, json_each(body, '$.findings') AS finding
WHERE tenant = :tenant AND project IN (:project, '') AND thinker = 'rules' ORDER BY reflections.id DESC LIMIT :limit;

-- name: reflection_erase
-- Remove a reflection and its trace at a person's request.
DELETE FROM reflections WHERE id = :id AND tenant = :tenant;

-- name: link_add
-- Link a record to another, or to an event, tool, file or error code.
INSERT INTO links (from_id, relation, to_kind, to_id) VALUES (:from_id, :relation, :to_kind, :to_id)
ON CONFLICT DO NOTHING;

-- name: link_list
-- The links of a record.
SELECT relation, to_kind, to_id FROM links WHERE from_id = :from_id ORDER BY relation, to_kind, to_id;

-- name: link_erase
-- Remove a record's links, both ways.
DELETE FROM links WHERE from_id = :id OR to_id = :id;

-- name: version_add
-- Keep a wording: the one before a change, or another one that says the same.
INSERT INTO versions (record_id, version, reason, body, created_at)
VALUES (
  :record_id, (SELECT coalesce(max(version), 0) + 1 FROM versions WHERE record_id = :record_id), :reason, :body, :now
);

-- name: version_list
-- The history of a record, oldest first.
SELECT version, reason, body, created_at FROM versions WHERE record_id = :record_id ORDER BY version;

-- name: version_page
-- The history of some records, oldest first.
SELECT record_id, reason, body, created_at FROM versions
WHERE record_id IN (SELECT value FROM json_each(:ids)) ORDER BY record_id, version;

-- name: version_erase
-- Remove a record's history at a person's request.
DELETE FROM versions WHERE record_id = :id;
