-- name: proposal_add
-- Keep what an agent wants changed of a lesson that a person keeps.
INSERT INTO proposals (id, tenant, project, lesson_id, kind, state, reason, body, agent, created_at)
VALUES (:id, :tenant, :project, :lesson_id, :kind, 'open', :reason, :body, :agent, :now);

-- name: proposals_of_lesson
-- The open proposals about a lesson, the first first.
SELECT id, lesson_id, kind, reason, body, agent, created_at FROM proposals
WHERE tenant = :tenant AND lesson_id = :lesson_id AND state = 'open' ORDER BY created_at, id;

-- name: proposals_waiting
-- The open proposals about lessons of a project and global ones that are in use, the first first.
SELECT proposals.id, lesson_id, proposals.kind, reason, body, proposals.agent, proposals.created_at FROM proposals
JOIN lessons ON lessons.id = proposals.lesson_id AND lessons.tenant = proposals.tenant
WHERE proposals.tenant = :tenant AND proposals.project IN (:project, '') AND proposals.state = 'open'
  AND lessons.state = 'active'
ORDER BY proposals.created_at, proposals.id LIMIT :limit;

-- name: proposal_by_id
-- An open proposal, by its id.
SELECT id, lesson_id, kind, reason, body, agent, created_at FROM proposals
WHERE tenant = :tenant AND project IN (:project, '') AND id = :id AND state = 'open';

-- name: proposal_decide
-- Note what a person decided about a proposal.
UPDATE proposals SET state = :state, decided_at = :now WHERE tenant = :tenant AND id = :id AND state = 'open';

-- name: proposal_erase
-- Remove the proposals about a record at a person's request.
DELETE FROM proposals WHERE lesson_id = :id AND tenant = :tenant;
