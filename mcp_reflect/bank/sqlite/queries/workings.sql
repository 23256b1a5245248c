-- name: working_by_id
-- What an earlier call of this project left.
SELECT body FROM workings WHERE id = :id AND kind = :kind AND tenant = :tenant AND project = :project;

-- name: working_keep
-- Leave something for the next call.
INSERT INTO workings (id, tenant, project, kind, body, created_at, updated_at)
VALUES (:id, :tenant, :project, :kind, :body, :now, :now)
ON CONFLICT (id) DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at;

-- name: payoff_list
-- What each search strategy has brought in this project.
SELECT kind, strategy, used, paid FROM payoffs WHERE tenant = :tenant AND project = :project ORDER BY kind, strategy;

-- name: payoff_add
-- Count what a search strategy brought.
INSERT INTO payoffs (tenant, project, kind, strategy, used, paid)
VALUES (:tenant, :project, :kind, :strategy, :used, :paid)
ON CONFLICT (tenant, project, kind, strategy) DO UPDATE SET
  used = used + excluded.used, paid = paid + excluded.paid;
