-- name: symptom_add
-- Remember an error that a lesson is known by.
INSERT INTO symptoms (tenant, fingerprint, lesson_id) VALUES (:tenant, :fingerprint, :lesson_id) ON CONFLICT DO NOTHING;

-- name: symptom_remove
-- Forget the errors that a lesson was known by.
DELETE FROM symptoms WHERE lesson_id = :lesson_id;

-- name: symptom_lessons
-- The active lessons of a scope, and global ones, that are known by one of these errors.
SELECT DISTINCT lessons.* FROM symptoms JOIN lessons ON lessons.id = symptoms.lesson_id
WHERE symptoms.tenant = :tenant AND symptoms.fingerprint IN (SELECT value FROM json_each(:fingerprints))
  AND lessons.tenant = :tenant AND project IN (:project, '') AND state = 'active' AND trust <> 'quarantined'
ORDER BY lessons.id LIMIT 50;
