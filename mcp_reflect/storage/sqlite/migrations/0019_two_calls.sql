-- A guard comes from two calls or is written by a person. Those that were made of words or of one call wait for a person.
UPDATE lessons SET unarmed = 'an earlier release made it from words or from one call alone'
WHERE guard IS NOT NULL AND unarmed IS NULL AND guard_mode IS NULL AND (wrong_call IS NULL OR right_call IS NULL);

DELETE FROM guards WHERE key <> '' AND lesson_id IN (SELECT id FROM lessons WHERE unarmed IS NOT NULL);
