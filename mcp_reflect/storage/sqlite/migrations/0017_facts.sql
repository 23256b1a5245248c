-- A finding is two calls and a line. What rules drafted of it is gone: a model's words stay, as what they are.
UPDATE findings SET body = json_object(
  'kind', CASE json_extract(body, '$.kind')
    WHEN 'changed' THEN 'worked' WHEN 'prepared' THEN 'worked' WHEN 'retried' THEN 'worked'
    WHEN 'refused' THEN 'correction' ELSE json_extract(body, '$.kind') END,
  'act', CASE WHEN instr(thing, ': ') > 0 THEN substr(thing, 1, instr(thing, ': ') - 1)
    ELSE coalesce(json_extract(body, '$.tool'), '') END,
  'thing', thing,
  'line', CASE WHEN json_extract(body, '$.kind') IN ('said', 'correction', 'refused')
      AND coalesce(json_extract(body, '$.draft.correction'), '') <> '' THEN json_extract(body, '$.draft.correction')
    ELSE coalesce(json_extract(body, '$.line'), '') END,
  'exit_code', NULL,
  'failed', json(CASE json_type(body, '$.draft.wrong_call')
    WHEN 'object' THEN json_object(
      'tool', coalesce(json_extract(body, '$.draft.wrong_call.tool'), ''),
      'arguments', json_extract(body, '$.draft.wrong_call.arguments'),
      'number', coalesce(json_extract(body, '$.failed[0]'), 0))
    WHEN 'text' THEN json_object(
      'tool', 'Bash', 'arguments', json_object('command', json_extract(body, '$.draft.wrong_call')),
      'number', coalesce(json_extract(body, '$.failed[0]'), 0))
    ELSE 'null' END),
  'worked', json(CASE json_type(body, '$.draft.right_call')
    WHEN 'object' THEN json_object(
      'tool', coalesce(json_extract(body, '$.draft.right_call.tool'), ''),
      'arguments', json_extract(body, '$.draft.right_call.arguments'),
      'number', coalesce(json_extract(body, '$.worked'), 0))
    WHEN 'text' THEN json_object(
      'tool', 'Bash', 'arguments', json_object('command', json_extract(body, '$.draft.right_call')),
      'number', coalesce(json_extract(body, '$.worked'), 0))
    ELSE 'null' END),
  'wording', json(CASE WHEN coalesce(json_extract(body, '$.draft.by'), '') <> '' THEN json_object(
      'mistake', coalesce(json_extract(body, '$.draft.mistake'), ''),
      'correction', coalesce(json_extract(body, '$.draft.correction'), ''),
      'wrong_call', json_extract(body, '$.draft.wrong_call'),
      'right_call', json_extract(body, '$.draft.right_call'),
      'by', json_extract(body, '$.draft.by'))
    ELSE 'null' END)
) WHERE json_type(body, '$.draft') = 'object';

-- Lessons and strategies that rules wrote, and that no person approved, leave recall; the archive keeps them.
DELETE FROM guards WHERE lesson_id IN (
  SELECT id FROM lessons WHERE source = 'rules' AND kind IN ('lesson', 'strategy') AND trust <> 'trusted'
);
UPDATE features SET analyzer = 0 WHERE row IN (
  SELECT row FROM lessons
  WHERE source = 'rules' AND kind IN ('lesson', 'strategy') AND trust <> 'trusted' AND state = 'active'
);
UPDATE lessons SET state = 'archived'
WHERE source = 'rules' AND kind IN ('lesson', 'strategy') AND trust <> 'trusted' AND state = 'active';
