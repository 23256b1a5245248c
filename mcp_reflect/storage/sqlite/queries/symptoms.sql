-- name: symptom_add
-- Store an error that identifies a lesson.
INSERT INTO symptoms (tenant, fingerprint, lesson_id) VALUES (:tenant, :fingerprint, :lesson_id) ON CONFLICT DO NOTHING;

-- name: symptom_remove
-- Remove the errors that identify a lesson.
DELETE FROM symptoms WHERE lesson_id = :lesson_id;

-- name: symptom_lessons
-- The active lessons of a scope, and global ones, that one of these errors identifies.
SELECT DISTINCT lessons.* FROM symptoms JOIN lessons ON lessons.id = symptoms.lesson_id
WHERE symptoms.tenant = :tenant AND symptoms.fingerprint IN (SELECT value FROM json_each(:fingerprints))
  AND lessons.tenant = :tenant AND project IN (:project, '') AND state = 'active' AND trust <> 'quarantined'
ORDER BY lessons.id LIMIT 50;
