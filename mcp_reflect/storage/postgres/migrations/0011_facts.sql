-- A finding is two calls and a line, and lessons of rules leave recall; see storage/sqlite/migrations/0017_facts.sql.
UPDATE findings SET body = jsonb_build_object(
  'kind', CASE
    WHEN body::jsonb ->> 'kind' IN ('changed', 'prepared', 'retried') THEN 'worked'
    WHEN body::jsonb ->> 'kind' = 'refused' THEN 'correction' ELSE body::jsonb ->> 'kind' END,
  'act', CASE WHEN strpos(thing, ': ') > 0 THEN substr(thing, 1, strpos(thing, ': ') - 1)
    ELSE coalesce(body::jsonb ->> 'tool', '') END,
  'thing', thing,
  'line', CASE WHEN body::jsonb ->> 'kind' IN ('said', 'correction', 'refused')
      AND coalesce(body::jsonb #>> '{draft,correction}', '') <> '' THEN body::jsonb #>> '{draft,correction}'
    ELSE coalesce(body::jsonb ->> 'line', '') END,
  'exit_code', NULL,
  'failed', CASE jsonb_typeof(body::jsonb #> '{draft,wrong_call}')
    WHEN 'object' THEN jsonb_build_object(
      'tool', coalesce(body::jsonb #>> '{draft,wrong_call,tool}', ''),
      'arguments', body::jsonb #> '{draft,wrong_call,arguments}',
      'number', coalesce(body::jsonb #> '{failed,0}', '0'))
    WHEN 'string' THEN jsonb_build_object(
      'tool', 'Bash', 'arguments', jsonb_build_object('command', body::jsonb #> '{draft,wrong_call}'),
      'number', coalesce(body::jsonb #> '{failed,0}', '0'))
    ELSE 'null' END,
  'worked', CASE jsonb_typeof(body::jsonb #> '{draft,right_call}')
    WHEN 'object' THEN jsonb_build_object(
      'tool', coalesce(body::jsonb #>> '{draft,right_call,tool}', ''),
      'arguments', body::jsonb #> '{draft,right_call,arguments}',
      'number', coalesce(body::jsonb -> 'worked', '0'))
    WHEN 'string' THEN jsonb_build_object(
      'tool', 'Bash', 'arguments', jsonb_build_object('command', body::jsonb #> '{draft,right_call}'),
      'number', coalesce(body::jsonb -> 'worked', '0'))
    ELSE 'null' END,
  'wording', CASE WHEN coalesce(body::jsonb #>> '{draft,by}', '') <> '' THEN jsonb_build_object(
      'mistake', coalesce(body::jsonb #>> '{draft,mistake}', ''),
      'correction', coalesce(body::jsonb #>> '{draft,correction}', ''),
      'wrong_call', body::jsonb #> '{draft,wrong_call}',
      'right_call', body::jsonb #> '{draft,right_call}',
      'by', body::jsonb #> '{draft,by}')
    ELSE 'null' END
)::text WHERE jsonb_typeof(body::jsonb -> 'draft') = 'object';

DELETE FROM guards USING lessons WHERE lessons.tenant = guards.tenant AND lessons.id = guards.lesson_id
  AND source = 'rules' AND kind IN ('lesson', 'strategy') AND trust <> 'trusted';
UPDATE features SET analyzer = 0 FROM lessons WHERE lessons.tenant = features.tenant AND lessons.row = features.row
  AND source = 'rules' AND kind IN ('lesson', 'strategy') AND trust <> 'trusted' AND state = 'active';
UPDATE lessons SET state = 'archived'
WHERE source = 'rules' AND kind IN ('lesson', 'strategy') AND trust <> 'trusted' AND state = 'active';
