-- A bank that version 0.2.0 filled itself (schema 14), as SQL. Its calls, one after the other:
--   after_call in two sessions: a call that failed and one that worked, of which its rules made two drafts;
--   reflect of two failed runs without an analysis, of which its rules made lessons; a person approved the second;
--   store_lesson by an agent: a guard of words (git commit -a), one of a single call (tsc), one of both calls (relctl cut);
--   two lessons of a person with a guard of their own: make test, and make release, which they enforced.
BEGIN TRANSACTION;
CREATE TABLE "critique_sessions" (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE dreams (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('applied', 'undone')),
  plan TEXT NOT NULL CHECK (json_valid(plan)),
  changes TEXT NOT NULL CHECK (json_valid(changes)),
  digest TEXT NOT NULL,
  tokens INTEGER NOT NULL CHECK (tokens >= 0),
  idle INTEGER NOT NULL CHECK (idle IN (0, 1)),
  created_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE embedders (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  dims INTEGER NOT NULL CHECK (dims > 0),
  background REAL NOT NULL CHECK (background BETWEEN 0 AND 0.9),
  used_at REAL NOT NULL,
  UNIQUE (name, dims)
) STRICT;
INSERT INTO "embedders" VALUES(1,'words-1',256,0.1,0.0);
CREATE TABLE failures (
  row INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  signature TEXT NOT NULL,
  tool TEXT NOT NULL,
  call TEXT NOT NULL,
  head TEXT NOT NULL,
  exact TEXT NOT NULL,
  bare TEXT NOT NULL,
  loose TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  arguments TEXT NOT NULL CHECK (json_valid(arguments)),
  category TEXT NOT NULL,
  error TEXT NOT NULL,
  worked TEXT CHECK (worked IS NULL OR json_valid(worked)),
  reflection_id TEXT,
  times INTEGER NOT NULL DEFAULT 1 CHECK (times > 0),
  works INTEGER NOT NULL DEFAULT 0 CHECK (works >= 0),
  wrong INTEGER NOT NULL DEFAULT 0 CHECK (wrong >= 0),
  last_session TEXT,
  last_step INTEGER NOT NULL DEFAULT 0,
  first_at REAL NOT NULL,
  last_at REAL NOT NULL,
  worked_at REAL,
  retired_at REAL, cases INTEGER NOT NULL DEFAULT 1 CHECK (cases > 0),
  UNIQUE (tenant, project, signature, exact)
) STRICT;
INSERT INTO "failures" VALUES(1,'local','shop','b6b32e945d4a6327','Bash','shell(./vault get teams/billing)','shell:./vault get','8f23c6d1c6c79bcb','8f23c6d1c6c79bcb','8f23c6d1c6c79bcb','error: denied','[{"command": "./vault get teams/billing"}]','unknown_error','Exit code 3 error: denied','[{"command": "./vault get /teams/billing/"}]',NULL,1,0,0,'one',1,1800000000.0,1800000000.0,NULL,NULL,1);
INSERT INTO "failures" VALUES(2,'local','shop','0b442be9e6498b49','Bash','shell(./pay refund P-318 40)','shell:./pay refund','1b8803002bef9f30','1b8803002bef9f30','1b8803002bef9f30','error: order is locked','[{"command": "./pay refund P-318 40"}]','unknown_error','Exit code 3 error: order is locked','[{"command": "./pay refund P-318 40 --unlock"}]',NULL,1,0,0,'two',1,1800000000.0,1800000000.0,NULL,NULL,1);
INSERT INTO "failures" VALUES(3,'local','shop','214bdb67062c9319','bash','shell(./ship publish shop)','shell:./ship publish','bba223c8c5e9699f','bba223c8c5e9699f','bba223c8c5e9699f','error: --region is required','[{"command": "./ship publish shop"}]','validation_error','error: --region is required','[{"command": "./ship publish shop --region eu"}]','ref_01mcc5rm00030000000004',1,0,0,NULL,0,1800000000.0,1800000000.0,NULL,NULL,1);
INSERT INTO "failures" VALUES(4,'local','shop','d022e3079636d2c9','bash','shell(./archive seal books)','shell:./archive seal','191a44ebf7d9a040','191a44ebf7d9a040','191a44ebf7d9a040','error: --year is required','[{"command": "./archive seal books"}]','validation_error','error: --year is required','[{"command": "./archive seal books --year 2025"}]','ref_01mcc5rm00060000000007',1,0,0,NULL,0,1800000000.0,1800000000.0,NULL,NULL,1);
CREATE TABLE features (
  row INTEGER PRIMARY KEY REFERENCES lessons (row) ON DELETE CASCADE,
  scope INTEGER NOT NULL,
  length REAL NOT NULL,
  terms TEXT NOT NULL CHECK (json_valid(terms))
, analyzer INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "features" VALUES(1,611798083305,23.8,'{"_kind_54e33b8325af":1,"_tag_6e6f01a34527":1,"_tag_1077e7896eea":1,"the":1.3,"run":1,"fail":3,"after":1,"4":1,"event":1,"1":2,"cal":2,"work":1,"bash":1.6,"ship":1,"publish":1.3,"shop":1.3,"error":1,"region":2,"is":1,"requir":1,"e2":1,"add":1,"e4":1,"valid":0.6}',2);
INSERT INTO "features" VALUES(2,611798083305,4.4,'{"_kind_ce5c9232e7ca":1,"_tag_ce5c9232e7ca":1,"_tag_6e6f01a34527":1,"_tag_1077e7896eea":1,"add":1,"region":1,"strateg":0.6,"valid":0.6,"bash":0.6,"publish":0.3,"the":0.3,"shop":0.3}',2);
INSERT INTO "features" VALUES(3,611798083305,18.8,'{"_kind_33a68d86178a":1,"_tag_6e6f01a34527":1,"_tag_1077e7896eea":1,"_error_0396151bcba2":1,"ship":1,"publish":1.3,"shop":1.3,"fail":1,"error":2,"region":4,"is":2,"requir":3,"add":2,"bash":1.6,"valid":1.6,"the":0.3}',2);
INSERT INTO "features" VALUES(4,611798083305,23.8,'{"_kind_54e33b8325af":1,"_tag_6e6f01a34527":1,"_tag_1077e7896eea":1,"the":1.3,"run":1,"fail":3,"after":1,"4":1,"event":1,"1":2,"cal":2,"work":1,"bash":1.6,"archiv":1.3,"seal":1.3,"book":1,"error":1,"year":2,"is":1,"requir":1,"e2":1,"add":1,"e4":1,"valid":0.6}',2);
INSERT INTO "features" VALUES(5,611798083305,4.4,'{"_kind_ce5c9232e7ca":1,"_tag_ce5c9232e7ca":1,"_tag_6e6f01a34527":1,"_tag_1077e7896eea":1,"add":1,"year":1,"strateg":0.6,"valid":0.6,"bash":0.6,"seal":0.3,"the":0.3,"archiv":0.3}',2);
INSERT INTO "features" VALUES(6,611798083305,18.8,'{"_kind_33a68d86178a":1,"_tag_6e6f01a34527":1,"_tag_1077e7896eea":1,"_error_c360069d67b8":1,"archiv":1.3,"seal":1.3,"book":1,"fail":1,"error":2,"year":4,"is":2,"requir":3,"add":2,"bash":1.6,"valid":1.6,"the":0.3}',2);
INSERT INTO "features" VALUES(7,611798083305,7.0,'{"_kind_33a68d86178a":1,"ran":1,"git":2,"commit":2,"a":1,"use":1,"with":1,"the":2,"nam":1,"of":1,"fil":1}',2);
INSERT INTO "features" VALUES(8,611798083305,8.0,'{"_kind_33a68d86178a":1,"ran":1,"tsc":2,"without":1,"noemit":2,"no":2,"emit":2,"run":1}',2);
INSERT INTO "features" VALUES(9,611798083305,6.0,'{"_kind_33a68d86178a":1,"cut":2,"the":1,"releas":1,"with":2,"a":1,"rehears":2,"no_rehearse":1,"no":1}',2);
INSERT INTO "features" VALUES(10,611798083305,5.0,'{"_kind_33a68d86178a":1,"run":1,"mak":2,"setup":1,"before":1,"test":1}',2);
INSERT INTO "features" VALUES(11,611798083305,4.0,'{"_kind_33a68d86178a":1,"ask":1,"ine":1,"before":1,"mak":1,"releas":1}',2);
CREATE TABLE findings (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  session TEXT NOT NULL,
  thing TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'kept', 'dropped')),
  sessions INTEGER NOT NULL,
  asked INTEGER NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  lesson_id TEXT,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL, seen TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(seen)), weight REAL NOT NULL DEFAULT 1 CHECK (weight >= 0),
  UNIQUE (tenant, project, thing)
) STRICT, WITHOUT ROWID;
INSERT INTO "findings" VALUES('fnd_01mcc5rm00010000000002','local','shop','one','./vault get: error: denied','open',1,1,'{"kind": "changed", "thing": "./vault get: error: denied", "tool": "Bash", "line": "error: denied", "failed": [1], "worked": 2, "draft": {"mistake": "`./vault get teams/billing` failed: error: denied", "correction": "Give it with `/` in front and `/` at the end: `./vault get /teams/billing/` worked.", "wrong_call": {"tool": "Bash", "arguments": {"command": "./vault get teams/billing"}}, "right_call": {"tool": "Bash", "arguments": {"command": "./vault get /teams/billing/"}}, "guards": true, "by": ""}, "form": false}',NULL,1800000000.0,1800000000.0,'[]',1.0);
INSERT INTO "findings" VALUES('fnd_01mcc5rm00020000000003','local','shop','two','./pay refund: error: order is locked','open',1,1,'{"kind": "changed", "thing": "./pay refund: error: order is locked", "tool": "Bash", "line": "error: order is locked", "failed": [1], "worked": 2, "draft": {"mistake": "`./pay refund P-318 40` failed: error: order is locked", "correction": "Add `--unlock`: `./pay refund P-318 40 --unlock` worked.", "wrong_call": {"tool": "Bash", "arguments": {"command": "./pay refund P-318 40"}}, "right_call": {"tool": "Bash", "arguments": {"command": "./pay refund P-318 40 --unlock"}}, "guards": true, "by": ""}, "form": false}',NULL,1800000000.0,1800000000.0,'[]',1.0);
CREATE TABLE guards (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  key TEXT NOT NULL,
  lesson_id TEXT NOT NULL,
  PRIMARY KEY (tenant, project, key, lesson_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "guards" VALUES('local','shop','$ git','les_01mcc5rm0009000000000a');
INSERT INTO "guards" VALUES('local','shop','$ tsc','les_01mcc5rm000a000000000b');
INSERT INTO "guards" VALUES('local','shop','$ relctl','les_01mcc5rm000b000000000c');
INSERT INTO "guards" VALUES('local','shop','$ make','les_01mcc5rm000c000000000d');
INSERT INTO "guards" VALUES('local','shop','$ make','les_01mcc5rm000d000000000e');
PRAGMA writable_schema=ON;
CREATE TABLE lessons (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('lesson', 'strategy', 'reflection')),
  state TEXT NOT NULL CHECK (state IN ('active', 'retired', 'archived')),
  trust TEXT NOT NULL CHECK (trust IN ('quarantined', 'observed', 'confirmed', 'trusted')),
  source TEXT NOT NULL CHECK (source IN ('agent', 'model', 'person', 'import', 'rules')),
  text TEXT NOT NULL,
  mistake TEXT,
  correction TEXT,
  why TEXT,
  task_type TEXT,
  context TEXT,
  context_hash TEXT,
  held TEXT CHECK (held IS NULL OR trust = 'quarantined'),  -- why it waits for a person
  symptoms TEXT NOT NULL CHECK (json_valid(symptoms)),
  keywords TEXT NOT NULL CHECK (json_valid(keywords)),
  tags TEXT NOT NULL CHECK (json_valid(tags)),
  importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
  confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  external_id TEXT,
  digest INTEGER,  -- a hash of a lesson's words: see lesson_values in storage/sqlite/statements.py
  reflection_id TEXT,
  strength INTEGER NOT NULL DEFAULT 1 CHECK (strength > 0),
  times_applied INTEGER NOT NULL DEFAULT 0 CHECK (times_applied >= 0),
  effectiveness REAL CHECK (effectiveness BETWEEN 0 AND 1),
  wins REAL NOT NULL DEFAULT 0 CHECK (wins >= 0),
  losses REAL NOT NULL DEFAULT 0 CHECK (losses >= 0),
  proof REAL NOT NULL DEFAULT 0 CHECK (proof >= 0),
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL, outside INTEGER NOT NULL DEFAULT 0 CHECK (outside IN (0, 1)), agent TEXT, suspicion TEXT, rules_version INTEGER NOT NULL DEFAULT 0 CHECK (rules_version >= 0), wrong_call TEXT, right_call TEXT, guard TEXT, unarmed TEXT, guard_mode TEXT CHECK (guard_mode IN ('enforce', 'hold', 'tell', 'off')), guard_repeats INTEGER NOT NULL DEFAULT 0 CHECK (guard_repeats >= 0),
  CHECK (kind <> 'lesson' OR (mistake IS NOT NULL AND correction IS NOT NULL))
) STRICT;
INSERT INTO "lessons" VALUES(1,'ref_01mcc5rm00030000000004','local','shop','reflection','active','observed','rules','The run failed after 4 events: 1 call worked (bash), 1 call failed. `./ship publish shop` failed: error: --region is required (e2). Add `--region` (e4).',NULL,NULL,NULL,NULL,'Publish the shop','526f366a4a130165',NULL,'[]','[]','["validation", "bash"]',0.7,0.9,NULL,NULL,'ref_01mcc5rm00030000000004',1,0,NULL,0.0,0.0,0.0,1800000000.0,1800000000.0,0,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "lessons" VALUES(2,'str_01mcc5rm00040000000005','local','shop','strategy','active','observed','rules','Add `--region`.',NULL,NULL,NULL,NULL,'Publish the shop','526f366a4a130165',NULL,'[]','[]','["strategy", "validation", "bash"]',0.77,0.9,NULL,NULL,'ref_01mcc5rm00030000000004',1,0,NULL,0.0,0.0,0.0,1800000000.0,1800000000.0,0,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "lessons" VALUES(3,'les_01mcc5rm00050000000006','local','shop','lesson','active','observed','rules','`./ship publish shop` failed: error: --region is required. Add `--region`.','`./ship publish shop` failed: error: --region is required.','Add `--region`.',NULL,NULL,'Publish the shop','526f366a4a130165',NULL,'["error: --region is required"]','["bash", "validation", "region", "required", "Add"]','["validation", "bash"]',0.6,0.9,NULL,-6904551848187398576,'ref_01mcc5rm00030000000004',1,0,NULL,0.0,0.0,0.0,1800000000.0,1800000000.0,0,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "lessons" VALUES(4,'ref_01mcc5rm00060000000007','local','shop','reflection','active','observed','rules','The run failed after 4 events: 1 call worked (bash), 1 call failed. `./archive seal books` failed: error: --year is required (e2). Add `--year` (e4).',NULL,NULL,NULL,NULL,'Seal the archive','d4b663b4a272e54a',NULL,'[]','[]','["validation", "bash"]',0.7,0.9,NULL,NULL,'ref_01mcc5rm00060000000007',1,0,NULL,0.0,0.0,0.0,1800000000.0,1800000000.0,0,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "lessons" VALUES(5,'str_01mcc5rm00070000000008','local','shop','strategy','active','observed','rules','Add `--year`.',NULL,NULL,NULL,NULL,'Seal the archive','d4b663b4a272e54a',NULL,'[]','[]','["strategy", "validation", "bash"]',0.77,0.9,NULL,NULL,'ref_01mcc5rm00060000000007',1,0,NULL,0.0,0.0,0.0,1800000000.0,1800000000.0,0,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "lessons" VALUES(6,'les_01mcc5rm00080000000009','local','shop','lesson','active','trusted','rules','`./archive seal books` failed: error: --year is required. Add `--year`.','`./archive seal books` failed: error: --year is required.','Add `--year`.',NULL,NULL,'Seal the archive','d4b663b4a272e54a',NULL,'["error: --year is required"]','["bash", "validation", "year", "required", "Add"]','["validation", "bash"]',0.6,0.9,NULL,-1793777772614168840,'ref_01mcc5rm00060000000007',1,0,NULL,0.0,0.0,0.0,1800000000.0,1800000000.0,0,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "lessons" VALUES(7,'les_01mcc5rm0009000000000a','local','shop','lesson','active','observed','agent','Ran `git commit -a`. Use `git commit` with the names of the files','Ran `git commit -a`','Use `git commit` with the names of the files',NULL,NULL,NULL,NULL,NULL,'[]','[]','[]',0.5,0.5,NULL,-5094436245422796153,NULL,1,0,NULL,0.0,0.0,0.0,1800000000.0,1800000000.0,0,NULL,NULL,1,NULL,NULL,'Bash: `git commit` with `-a` or `--all`',NULL,NULL,0);
INSERT INTO "lessons" VALUES(8,'les_01mcc5rm000a000000000b','local','shop','lesson','active','observed','agent','Ran `tsc` without `--noEmit`. Run `tsc --noEmit`','Ran `tsc` without `--noEmit`','Run `tsc --noEmit`',NULL,NULL,NULL,NULL,NULL,'[]','[]','[]',0.5,0.5,NULL,-5121541460235380671,NULL,1,0,NULL,0.0,0.0,0.0,1800000000.0,1800000000.0,0,NULL,NULL,1,'tsc',NULL,'Bash: `tsc` without `--noEmit`',NULL,NULL,0);
INSERT INTO "lessons" VALUES(9,'les_01mcc5rm000b000000000c','local','shop','lesson','active','observed','agent','Cut the release with a rehearsal. Cut with --no-rehearse','Cut the release with a rehearsal','Cut with --no-rehearse',NULL,NULL,NULL,NULL,NULL,'[]','[]','[]',0.5,0.5,NULL,3164905339220501463,NULL,1,0,NULL,0.0,0.0,0.0,1800000000.0,1800000000.0,0,NULL,NULL,1,'relctl cut v1','relctl cut --no-rehearse v1','Bash: `relctl cut` without `--no-rehearse` or `-n`',NULL,NULL,0);
INSERT INTO "lessons" VALUES(10,'les_01mcc5rm000c000000000d','local','shop','lesson','active','trusted','person','Run `make setup` before `make test`','','Run `make setup` before `make test`',NULL,NULL,NULL,NULL,NULL,'[]','[]','[]',0.5,0.5,NULL,5580565736131125802,NULL,1,0,NULL,0.0,0.0,0.0,1800000000.0,1800000000.0,0,NULL,NULL,1,NULL,NULL,'Bash: `make test`',NULL,NULL,0);
INSERT INTO "lessons" VALUES(11,'les_01mcc5rm000d000000000e','local','shop','lesson','active','trusted','person','Ask Ines before `make release`','','Ask Ines before `make release`',NULL,NULL,NULL,NULL,NULL,'[]','[]','[]',0.5,0.5,NULL,-3843340406087446175,NULL,1,0,NULL,0.0,0.0,0.0,1800000000.0,1800000000.0,0,NULL,NULL,1,NULL,NULL,'Bash: `make release`',NULL,'enforce',0);
CREATE TABLE links (
  from_id TEXT NOT NULL,
  relation TEXT NOT NULL,
  to_kind TEXT NOT NULL,
  to_id TEXT NOT NULL,
  PRIMARY KEY (from_id, relation, to_kind, to_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "links" VALUES('ref_01mcc5rm00030000000004','rests_on','event','e2');
INSERT INTO "links" VALUES('ref_01mcc5rm00060000000007','rests_on','event','e2');
INSERT INTO "links" VALUES('ref_01mcc5rm00030000000004','rests_on','event','e4');
INSERT INTO "links" VALUES('ref_01mcc5rm00060000000007','rests_on','event','e4');
INSERT INTO "links" VALUES('les_01mcc5rm00050000000006','rests_on','event','ref_01mcc5rm00030000000004/e2');
INSERT INTO "links" VALUES('str_01mcc5rm00040000000005','rests_on','event','ref_01mcc5rm00030000000004/e2');
INSERT INTO "links" VALUES('les_01mcc5rm00050000000006','rests_on','event','ref_01mcc5rm00030000000004/e4');
INSERT INTO "links" VALUES('str_01mcc5rm00040000000005','rests_on','event','ref_01mcc5rm00030000000004/e4');
INSERT INTO "links" VALUES('les_01mcc5rm00080000000009','rests_on','event','ref_01mcc5rm00060000000007/e2');
INSERT INTO "links" VALUES('str_01mcc5rm00070000000008','rests_on','event','ref_01mcc5rm00060000000007/e2');
INSERT INTO "links" VALUES('les_01mcc5rm00080000000009','rests_on','event','ref_01mcc5rm00060000000007/e4');
INSERT INTO "links" VALUES('str_01mcc5rm00070000000008','rests_on','event','ref_01mcc5rm00060000000007/e4');
INSERT INTO "links" VALUES('ref_01mcc5rm00030000000004','shows','failure','214bdb67062c9319');
INSERT INTO "links" VALUES('ref_01mcc5rm00060000000007','shows','failure','d022e3079636d2c9');
INSERT INTO "links" VALUES('les_01mcc5rm00050000000006','from','reflection','ref_01mcc5rm00030000000004');
INSERT INTO "links" VALUES('str_01mcc5rm00040000000005','from','reflection','ref_01mcc5rm00030000000004');
INSERT INTO "links" VALUES('les_01mcc5rm00080000000009','from','reflection','ref_01mcc5rm00060000000007');
INSERT INTO "links" VALUES('str_01mcc5rm00070000000008','from','reflection','ref_01mcc5rm00060000000007');
INSERT INTO "links" VALUES('les_01mcc5rm00050000000006','about','tool','bash');
INSERT INTO "links" VALUES('les_01mcc5rm00080000000009','about','tool','bash');
INSERT INTO "links" VALUES('ref_01mcc5rm00030000000004','about','tool','bash');
INSERT INTO "links" VALUES('ref_01mcc5rm00060000000007','about','tool','bash');
CREATE TABLE outcomes (
  row INTEGER PRIMARY KEY,
  recall_id TEXT NOT NULL,
  lesson_id TEXT NOT NULL REFERENCES lessons (id) ON DELETE CASCADE,
  success REAL NOT NULL CHECK (success IN (0, 0.5, 1)),
  evidence TEXT NOT NULL CHECK (evidence IN ('self', 'user', 'metric', 'test')),
  weight REAL NOT NULL CHECK (weight > 0 AND weight <= 1),
  note TEXT,
  created_at REAL NOT NULL,
  UNIQUE (lesson_id, recall_id)
) STRICT;
CREATE TABLE outputs (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  session TEXT NOT NULL,
  step INTEGER NOT NULL,
  worked INTEGER NOT NULL CHECK (worked IN (0, 1)),
  digest BLOB NOT NULL,
  PRIMARY KEY (tenant, project, session, step),
  FOREIGN KEY (tenant, project, session) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "outputs" VALUES('local','shop','one',1,0,X'7AE9CC0EE7AF8B3F');
INSERT INTO "outputs" VALUES('local','shop','one',2,1,X'7B57A6A4');
INSERT INTO "outputs" VALUES('local','shop','two',1,0,X'7AE9CC0EE1B11597');
INSERT INTO "outputs" VALUES('local','shop','two',2,1,X'5B7847DD');
CREATE TABLE project_names (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  project TEXT NOT NULL,
  given INTEGER NOT NULL DEFAULT 0 CHECK (given IN (0, 1)),
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE promotions (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  file TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  updated_at REAL NOT NULL,
  PRIMARY KEY (tenant, project, file)
) STRICT, WITHOUT ROWID;
CREATE TABLE recalls (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  task TEXT NOT NULL,
  lesson_ids TEXT NOT NULL CHECK (json_valid(lesson_ids)),
  held_out INTEGER NOT NULL DEFAULT 0 CHECK (held_out >= 0),
  holdout REAL NOT NULL DEFAULT 0 CHECK (holdout BETWEEN 0 AND 1),
  told INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1)),
  created_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE reflections (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  task TEXT NOT NULL,
  task_type TEXT,
  outcome TEXT NOT NULL CHECK (outcome IN ('success', 'failure', 'partial', 'timeout', 'error')),
  run_id TEXT,
  thinker TEXT NOT NULL,
  trace TEXT NOT NULL CHECK (json_valid(trace)),
  body TEXT NOT NULL CHECK (json_valid(body)),
  digest TEXT NOT NULL,
  run_digest TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 1 CHECK (version > 0),
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "reflections" VALUES('ref_01mcc5rm00030000000004','local','shop','Publish the shop',NULL,'failure','run 7','rules','{"task": "Publish the shop", "outcome": "failure", "run_id": "run 7", "events": [{"type": "tool_call", "tool": "bash", "arguments": {"command": "./ship publish shop"}, "id": "e1"}, {"type": "tool_response", "tool": "bash", "error": "error: --region is required", "id": "e2"}, {"type": "tool_call", "tool": "bash", "arguments": {"command": "./ship publish shop --region eu"}, "id": "e3"}, {"type": "tool_response", "content": "published", "tool": "bash", "id": "e4"}]}','{"reflection_id": "ref_01mcc5rm00030000000004", "thinker": "rules", "note": null, "reflection": "The run failed after 4 events: 1 call worked (bash), 1 call failed. `./ship publish shop` failed: error: --region is required (e2). Add `--region` (e4).", "strategy": "Add `--region`.", "importance": 0.7, "confidence": 0.9, "tags": ["validation", "bash"], "error_category": "validation_error", "first_failing_event": "e2", "source_event_ids": ["e2", "e4"], "insights": null, "assessment": {"decision_appropriate": null, "execution_effective": null, "confidence": null, "scores": {"efficiency": {"score": 0.5, "reason": "1 of 2 calls failed or went in circles"}}}, "validation": null, "related": [], "triggered_by": null, "generated_at": "2027-01-15T08:00:00+00:00", "cut": {}, "tokens": {}, "scope": "project shop", "findings": [], "strategy_id": "str_01mcc5rm00040000000005", "lessons": [{"id": "les_01mcc5rm00050000000006", "status": "stored"}]}','929b68012c791c95fa9769408bee9b93','929b68012c791c95fa9769408bee9b93',1,1800000000.0,1800000000.0);
INSERT INTO "reflections" VALUES('ref_01mcc5rm00060000000007','local','shop','Seal the archive',NULL,'failure','run 8','rules','{"task": "Seal the archive", "outcome": "failure", "run_id": "run 8", "events": [{"type": "tool_call", "tool": "bash", "arguments": {"command": "./archive seal books"}, "id": "e1"}, {"type": "tool_response", "tool": "bash", "error": "error: --year is required", "id": "e2"}, {"type": "tool_call", "tool": "bash", "arguments": {"command": "./archive seal books --year 2025"}, "id": "e3"}, {"type": "tool_response", "content": "sealed", "tool": "bash", "id": "e4"}]}','{"reflection_id": "ref_01mcc5rm00060000000007", "thinker": "rules", "note": null, "reflection": "The run failed after 4 events: 1 call worked (bash), 1 call failed. `./archive seal books` failed: error: --year is required (e2). Add `--year` (e4).", "strategy": "Add `--year`.", "importance": 0.7, "confidence": 0.9, "tags": ["validation", "bash"], "error_category": "validation_error", "first_failing_event": "e2", "source_event_ids": ["e2", "e4"], "insights": null, "assessment": {"decision_appropriate": null, "execution_effective": null, "confidence": null, "scores": {"efficiency": {"score": 0.5, "reason": "1 of 2 calls failed or went in circles"}}}, "validation": null, "related": [], "triggered_by": null, "generated_at": "2027-01-15T08:00:00+00:00", "cut": {}, "tokens": {}, "scope": "project shop", "findings": [], "strategy_id": "str_01mcc5rm00070000000008", "lessons": [{"id": "les_01mcc5rm00080000000009", "status": "stored"}]}','915e00687a17ca3ed668a09d1d123bdc','915e00687a17ca3ed668a09d1d123bdc',1,1800000000.0,1800000000.0);
CREATE TABLE "search_catalogs" (
  row INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  digest TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  created_at REAL NOT NULL,
  UNIQUE (tenant, project, digest)
) STRICT;
CREATE TABLE searches (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  version INTEGER NOT NULL DEFAULT 1 CHECK (version > 0),
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE session_calls (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  session TEXT NOT NULL,
  number INTEGER NOT NULL,
  call TEXT NOT NULL CHECK (json_valid(call)),
  PRIMARY KEY (tenant, project, session, number),
  FOREIGN KEY (tenant, project, session) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "session_calls" VALUES('local','shop','one',1,'{"tool": "Bash", "arguments": {"command": "./vault get teams/billing"}, "line": "error: denied", "failed": true, "says_no": true, "expected": false, "checksum": "4aa12669"}');
INSERT INTO "session_calls" VALUES('local','shop','one',2,'{"tool": "Bash", "arguments": {"command": "./vault get /teams/billing/"}, "line": "owner: Okafor", "failed": false, "says_no": false, "expected": false, "checksum": "c5ee708b"}');
INSERT INTO "session_calls" VALUES('local','shop','two',1,'{"tool": "Bash", "arguments": {"command": "./pay refund P-318 40"}, "line": "error: order is locked", "failed": true, "says_no": true, "expected": false, "checksum": "d23f2515"}');
INSERT INTO "session_calls" VALUES('local','shop','two',2,'{"tool": "Bash", "arguments": {"command": "./pay refund P-318 40 --unlock"}, "line": "refunded", "failed": false, "says_no": false, "expected": false, "checksum": "7b347051"}');
CREATE TABLE sessions (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  held_out INTEGER NOT NULL CHECK (held_out IN (0, 1)),
  calls INTEGER NOT NULL DEFAULT 0 CHECK (calls >= 0),
  failures INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
  recurrences INTEGER NOT NULL DEFAULT 0 CHECK (recurrences >= 0),
  changed INTEGER NOT NULL DEFAULT 0,
  worked TEXT NOT NULL CHECK (json_valid(worked)),
  shown TEXT NOT NULL CHECK (json_valid(shown)),
  started_at REAL NOT NULL,
  updated_at REAL NOT NULL, notes TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(notes)),
  PRIMARY KEY (tenant, project, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "sessions" VALUES('local','shop','one',0,2,1,0,2,'{"shell:./vault get": 2}','[]',1800000000.0,1800000000.0,'{}');
INSERT INTO "sessions" VALUES('local','shop','two',0,2,1,0,2,'{"shell:./pay refund": 2}','[]',1800000000.0,1800000000.0,'{}');
CREATE TABLE sessions_read (
  tenant TEXT NOT NULL,
  file TEXT NOT NULL,
  size INTEGER NOT NULL,
  changed REAL NOT NULL,
  PRIMARY KEY (tenant, file)
) STRICT, WITHOUT ROWID;
CREATE TABLE sizes (
  scope INTEGER PRIMARY KEY,
  rows INTEGER NOT NULL CHECK (rows >= 0),
  length INTEGER NOT NULL CHECK (length >= 0)
) STRICT;
INSERT INTO "sizes" VALUES(611798083305,11,124);
CREATE TABLE spending (
  tenant TEXT NOT NULL,
  day INTEGER NOT NULL,
  tokens INTEGER NOT NULL CHECK (tokens >= 0),
  cost REAL NOT NULL CHECK (cost >= 0),
  PRIMARY KEY (tenant, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE steps (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  run_id TEXT NOT NULL,
  step INTEGER NOT NULL CHECK (step >= 0),
  taken INTEGER NOT NULL CHECK (taken > 0),
  updated_at REAL NOT NULL,
  PRIMARY KEY (tenant, project, run_id, step)
) STRICT, WITHOUT ROWID;
CREATE TABLE task_outcomes (
  recall_id TEXT PRIMARY KEY,
  success REAL NOT NULL CHECK (success IN (0, 0.5, 1)),
  evidence TEXT NOT NULL CHECK (evidence IN ('self', 'user', 'metric', 'test')),
  created_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE terms (
  scope INTEGER NOT NULL,
  term TEXT NOT NULL,
  rows INTEGER NOT NULL,
  PRIMARY KEY (scope, term)
) STRICT, WITHOUT ROWID;
INSERT INTO "terms" VALUES(611798083305,'1',2);
INSERT INTO "terms" VALUES(611798083305,'4',2);
INSERT INTO "terms" VALUES(611798083305,'_error_0396151bcba2',1);
INSERT INTO "terms" VALUES(611798083305,'_error_c360069d67b8',1);
INSERT INTO "terms" VALUES(611798083305,'_kind_33a68d86178a',7);
INSERT INTO "terms" VALUES(611798083305,'_kind_54e33b8325af',2);
INSERT INTO "terms" VALUES(611798083305,'_kind_ce5c9232e7ca',2);
INSERT INTO "terms" VALUES(611798083305,'_tag_1077e7896eea',6);
INSERT INTO "terms" VALUES(611798083305,'_tag_6e6f01a34527',6);
INSERT INTO "terms" VALUES(611798083305,'_tag_ce5c9232e7ca',2);
INSERT INTO "terms" VALUES(611798083305,'a',2);
INSERT INTO "terms" VALUES(611798083305,'add',6);
INSERT INTO "terms" VALUES(611798083305,'after',2);
INSERT INTO "terms" VALUES(611798083305,'archiv',3);
INSERT INTO "terms" VALUES(611798083305,'ask',1);
INSERT INTO "terms" VALUES(611798083305,'bash',6);
INSERT INTO "terms" VALUES(611798083305,'before',2);
INSERT INTO "terms" VALUES(611798083305,'book',2);
INSERT INTO "terms" VALUES(611798083305,'cal',2);
INSERT INTO "terms" VALUES(611798083305,'commit',1);
INSERT INTO "terms" VALUES(611798083305,'cut',1);
INSERT INTO "terms" VALUES(611798083305,'e2',2);
INSERT INTO "terms" VALUES(611798083305,'e4',2);
INSERT INTO "terms" VALUES(611798083305,'emit',1);
INSERT INTO "terms" VALUES(611798083305,'error',4);
INSERT INTO "terms" VALUES(611798083305,'event',2);
INSERT INTO "terms" VALUES(611798083305,'fail',4);
INSERT INTO "terms" VALUES(611798083305,'fil',1);
INSERT INTO "terms" VALUES(611798083305,'git',1);
INSERT INTO "terms" VALUES(611798083305,'ine',1);
INSERT INTO "terms" VALUES(611798083305,'is',4);
INSERT INTO "terms" VALUES(611798083305,'mak',2);
INSERT INTO "terms" VALUES(611798083305,'nam',1);
INSERT INTO "terms" VALUES(611798083305,'no',2);
INSERT INTO "terms" VALUES(611798083305,'no_rehearse',1);
INSERT INTO "terms" VALUES(611798083305,'noemit',1);
INSERT INTO "terms" VALUES(611798083305,'of',1);
INSERT INTO "terms" VALUES(611798083305,'publish',3);
INSERT INTO "terms" VALUES(611798083305,'ran',2);
INSERT INTO "terms" VALUES(611798083305,'region',3);
INSERT INTO "terms" VALUES(611798083305,'rehears',1);
INSERT INTO "terms" VALUES(611798083305,'releas',2);
INSERT INTO "terms" VALUES(611798083305,'requir',4);
INSERT INTO "terms" VALUES(611798083305,'run',4);
INSERT INTO "terms" VALUES(611798083305,'seal',3);
INSERT INTO "terms" VALUES(611798083305,'setup',1);
INSERT INTO "terms" VALUES(611798083305,'ship',2);
INSERT INTO "terms" VALUES(611798083305,'shop',3);
INSERT INTO "terms" VALUES(611798083305,'strateg',2);
INSERT INTO "terms" VALUES(611798083305,'test',1);
INSERT INTO "terms" VALUES(611798083305,'the',8);
INSERT INTO "terms" VALUES(611798083305,'tsc',1);
INSERT INTO "terms" VALUES(611798083305,'use',1);
INSERT INTO "terms" VALUES(611798083305,'valid',6);
INSERT INTO "terms" VALUES(611798083305,'with',2);
INSERT INTO "terms" VALUES(611798083305,'without',1);
INSERT INTO "terms" VALUES(611798083305,'work',2);
INSERT INTO "terms" VALUES(611798083305,'year',3);
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  digest BLOB NOT NULL,
  projects TEXT NOT NULL CHECK (json_valid(projects)),
  role TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
  created_at REAL NOT NULL,
  expires_at REAL,
  revoked_at REAL
) STRICT, WITHOUT ROWID;
CREATE TABLE vectors (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  lesson INTEGER NOT NULL REFERENCES lessons (row) ON DELETE CASCADE,
  embedder INTEGER NOT NULL REFERENCES embedders (id) ON DELETE CASCADE,
  scope INTEGER NOT NULL,
  signs BLOB NOT NULL,
  vector BLOB NOT NULL,
  UNIQUE (lesson, embedder)
) STRICT;
INSERT INTO "vectors" VALUES(1,1,1,611798083305,X'8112309A5FD98E14AC927CB8A8CACE489549F083E2692CD6B8E7285C57FF8135',X'24A1473B748186C9ECC2E108D3FBCC3BECE806F3E6ED0319D0E3FDED0CFFEC0E06FC15F6F505FE0A24041E0A1107F70E0BFDFF0A18F7FEF11C0808F7FBF8FB07FF05F40014EA06000B03F5E018F7FB05EFEC12EDFE0C06010502E5F41EFD04021CFBFFEE0CF01CEC01FBF8F21A04EFEE01E606FE0F06FAF60C030CF8EC01F7ED04EDFBF406FFFA18F519F702F10DF8F403FFDE03150D140DFDE9FAEE02FFFFF3F2001D03060609FCF2FB0CE7FE0D03DD07FCFE03F1E807FE1512F5F3050AE70EF40312F506E80E160DF800F9110D01F8F9080303EAEA02FC05FBEFEFF30AF40A0508FCEFFA07FD0B001008060D07070A0A0204060AF6FBFEF0F8F60DF9F00B040006EC0B');
INSERT INTO "vectors" VALUES(2,2,1,611798083305,X'A290535681C39C432498ACE8ABF0C4BE5CC8F2A3680A2D7330A70805A00E070D',X'30E4DE3A3DAD1AE8BD822EE429CBF166D2A081E9DA26D708FA980D04F108C748FC3E3ECC01D2EFE8FBE5DE15080DCDFCB5EA082D0FC9F515071AF5E5C40EFEF0F2D21821EFD006F4FF53FEFE1DB7F42E30E6F0D92EFE03F41806CEE714121CE12DFECBD822C077C709CA160645531519DFF0DCDC412FEFD1ED01EAF807DC1B04151F1BF3F62CF33E2427F7F30925D4EE06F5CAEF330B2703E5FE1FB72ABD09B2FEE44225F04A1CDE0BF8FAF8FCE2E2CB16EB22EAD7DB05FB0A30FD18FC101927DEE21F30F4C7070FDBFCE1002AF216FAFC180417FFEAF6F322E9E6E4EBFEE6D9D416F91610FB12FFE7F8F5EAFAFFF8E8250B2FE7E2E8EDF2F6070208FCE1F7F7290FDD0B');
INSERT INTO "vectors" VALUES(3,3,1,611798083305,X'8010519E1BD5AC24ACB34828A2C0AC4CB440FA83E2EA2FD3B8C41856F79E031D',X'681D333B68818DE6CAA3DDCEEBE4D638F8D3E8DEC115F021C1D9000402FAC9190E0708EFDFEEF91132EB1A0B160DF829F40BEA1020DD04F50102FAF6FAFC01F8F102F8F40EE40EFC1919EAD213FA0E0BEDFD0408FE11EFF605E9D6F5FBFE10F01AF7FCE218EC34F1FFEC10FA140FF5F3F8EF00E312FE0BF10A13F400F702FCFD1B0DF5E102F80A1AFE17F9F2E815FCFFFFFFE8FA2905140803F005F008F2F4F3F4F71E03021A14F5F9F503FD060902E2010007F8F8E60EFD021104040C0BF415F0F1070701E7180E01FCF5EA060AFEF7FD090000FFF5FC020FFDFBF9F602EF06F70807FC05040704F602030703FEFB020C050BFAFBFBF1F9F2F6080EFDEFFB07060DF105');
INSERT INTO "vectors" VALUES(4,4,1,611798083305,X'805E36C9C9C98DB9B29224DC30828A08D5D47037A7690C9E9BE7185C3FF58125',X'90915A3B669381CEE2EDDAF8D802E028150330F900D0080BCF0E03F9180AF7F210F1FB0B0B08FDF703FAFE0C0B0AF0FB1EF7F70509F8F9F0030AF70E1AF6051401F7F70A1AF80205FCF702F91CF2E512F7F812E9F8F815FCFF0FEEFA190FF70E0808F8F6FDF60A03FCFBE6FB10FEF2EAF5DE04000AFAF5FD20FE18FFF300FDF40CEDFBF8080CED01F10DF80B0605F802FC0DE800FF080C1EF0FDFAF3F6F21106EC05140302F808F8FF021601FD1106F204F0F804F8EAFDFD1708F2E80200EA01010F10F109FAFB0F03F0030505120100FB060507F7EEFD0204FEF9F3F409000C0715FFF4FBFE010A0412030619090D05FA04FC080CF1FEF9F5FBF00CF8F30BFDFA06F406');
INSERT INTO "vectors" VALUES(5,5,1,611798083305,X'827AAE4AF58100033D1FAFC834A4CEABCD2476A369DB1CE311D19E75A5E40D0E',X'0EDAD73A24EBD8BE98DA3C84F20107293ACB1F8C12B925ED164C1CC5FF18F4D835F70CDB18142E02F404CC2328DDD3F0E3C5F03FE8F0E3DABECDC3F5C4E6E1E6DFC30924D0E301100734D731FBCFD92429220C0515CD25F4071E1A0F0B1CD2B114FDC4E2F3D76222ED07E8EC1EF71FEFE004E1DC4A24BCFF401939E725E70CE016F5281D0F20CBEF350CD50BF8F734F4EC39CFE2D0101B3CE54119C424D05AE5DA002C13E9363EE029F2F47F150CFB2216E11F0800E0F9200607EFEF030211FFF6F7410DE9F2DF1F8FDBEA1F092BFD0EF0DFE21D11E9C8281F0918FBE6010D06E657F23F12F325F4FD0EE407230415DBEB2BF6E2FBE0DDF7092CF108F4ECDAFD1B0E04EB');
INSERT INTO "vectors" VALUES(6,6,1,611798083305,X'801A17C989D981B1BC97205431808FFCC5F4B6376BF0888ED0579E77B5E48104',X'8227493B52A181EABDEBD3B6EDF5F3173A0034E4EEE1FF0AC424090F150CE1E81EF2E00F02F9FDF601E1EB0F0E0FEE0A16FFDE0907E4FAF0DC00DF1A28F60D0CF4EEFC0516FC07050203FCFC18F4EB1BF8100802F5F009F0FBFEE900F718F801FB09F2F1FEF81517F8F2F20503FEF9EBE9E4FEE90AED00FF2D0C0D09020204032407F6EC070BF3F3F904F80205040212F418F7F501FE0825EF1104F9F5E21413EA010F02FC0113F00C00132706110905FDEDFDFC03EAFFFF06FFFEF107FCF7FF050708FD0604F805F1EFFCFEF314FC04FF02010712FAF30E0D040B00F701050DFD1E0A0406F70D02FE09FB09170208FBF109FBFF01F3F5F3FBFDFD0CFBF3FBFDFB0BFFFC');
INSERT INTO "vectors" VALUES(8,7,1,611798083305,X'A5BB9603AE1BD44960D4C6871C511B1230879A924E00B8566D7292E4D19C6AE0',X'36A10D3B25BD2DCAD60F813104A94E6B48E1033123F1E62DEB2114D1E9C7FFB9CEB224130BFA03F9360E68F3D2DFDB1B15F01A054C07F51AE150CFEFCB2BE3C715D3D106D12423F6F2DFDB000234D02CCA2200EC350DE0E4EF0715ED14F0E7FFFB020E04F3E0E1100620F4C4DC0DCF0ED9EFF819EB00FE0203E70C07F5FAEA15CBEC09DEFFE20311E0EFFBF808F5FE00F1020B1A17FDFD0104FA1AE90FE1FB0AFDFD03F5FC0EE6EB0B020BE1F1FCEFF6F700F8F108EA151804FCFF00E805DE0EF8161BDCF80506F50A0AF41DF7010804F8F60BEA12FDF80DFDF802FA051604FDF50CFCF40107FC01F600FA0208FEFE0C0403F3FDF3150FF103F805FB150A07F4FEF5F9F8');
INSERT INTO "vectors" VALUES(9,8,1,611798083305,X'8D70889F6D0EAA2425FB9627DA9C57F187A4683664420577B2BAE7621CB96B67',X'42A3D73A3AAEEA9E271DE07FA6231719C4E3FBD939EFF7D126B4E6E702D3CD1C3C100502FF0D13F52B37E15AC4F1F2DD330F07E169DB6F9B09E101FDC8D402FEE113E2AAC7DA1EC5DE02E8054122051F0BE4202823F1F02CEC161FC8F9FA54C0C3122B260A14AC0732C315B110EEE01B3B1ED8BBF52BF75FD71C125B011D151CECCBE21B13EBECFDF244212511FC1FDDEF0BD0EFED172EF201E3FED9FEBB0329DB1804D5EF4426EED31BDCE9D60FF4F7FAF819F2D7D6E7F5F21FEF02E72D1832E41120100ED42221ECF304FD32F8171C0ED80EE31A271AE4F2090309F33928F1EBFE03F2CEE0FF081307E3F829D604251D00C832FE1113CA0CE51526F8161CE2FC1A0A0F');
INSERT INTO "vectors" VALUES(10,9,1,611798083305,X'ED9A947A9B3DDDD9547B1FEABDC08D4A3EF123D161DC7DB4DD842F3DF760615C',X'689EF63A7F330BC0102BE95912E7EA542EA508EA12B8F10ACD37ADD0E40C0F1018E140DD03D1F00438EE1925D0A0074A1C2BB2334F07B6133B1BE3180E20FF1141F9B751C60AE627CC09FDFDE2194C0F04C95008E7BCF105051E0716121A41C137ED0FFF3DE1021C0810F12F2802D6E9FEFEE4DA0600FCD11E1FD002CA08FDEB08F102FEF6F6220E0A240BE323181515D3EEEE13EDD210DFE3EA070F0C14F326F3EF0033EA090EE7E3F8DC241E11F0230B1DF1F2E8090F020417CD1914F50E04EF09FDFF1314DE0B0421E70B2ADF0000F50FE6F8FDFB09D60D2B0429F6E111031509F9191216030CF8080A10F72022EF00FBEBFEEE0719F8E5F5E40BF117FA010108F7F6');
INSERT INTO "vectors" VALUES(11,10,1,611798083305,X'8512BA1B1BA72B72E697B0A302FA59133FC036A7479D8C56C9DACD0DD653A3A3',X'916AEA3A18ACE081E74BDF0CB8CCED23D7A71E8A12D20A3C55EB37F0BDBCDB3B7AFE5431C8F7B92373C245091EB841E2D5181F1CA6D521E420B60915E8230841E1EB40E01B2026E8F8031AF50AE4F627DC2E213C28E82C35FFCAFB0025F411EEEFE94820E8E400DAF7E70BF90D060A111AEA0AEEFE27E50109FAC053E0ACFC5BEDE00803DCEF0708121E07182403FEFEECE8FBEE00004918F90113D71CFA1200E3060610F904ECF0F306080219E0FD1B0E17E32202F6EAE80A14FEFAFC16EB23E20301DC0B12F0F50FF2FD0B0D06E90101F009000502E7E50C0FF010FA00F2F51205FB010416F701F00D19FAFB03F10EFDFD10290DE005FBFFED010217E703EEFDF4050A');
INSERT INTO "vectors" VALUES(12,11,1,611798083305,X'A1BA3E2ABA7F99B9F87AA3633D60CD99FEE17AD184D4A504BCB8A73DE7FB8CDD',X'EFE3013B7FF03EA5F0E5C62A17E711254CEA1285D4FC1122020618B6FDED05E037F527DA3BFF171C26DB24EBF909292B110D113021AEFA1014FBC51731F9232F1FCEFC331813035021F6F6DEEE152A22020037EF1EFD22FEF1FF0F17F45210C4F3DA050EE9D32C2D3110E518E3260EE9E2FADDF21408E6EC0718DB060EEFDC460DF8EA210B14080C141F12EB210617E9E1CCDE20D5091F0411FC0BF0363DC406EDEAE23103F3E8CEED05FDF03906FB1FFA2DF6F908E619F7D229F70CF2F1F6F5F02600E517FA05101813E3E107F3131807FCE4D50AF606F7DE04031BC6FD1A26080FEC240F0A12FDEB1D0D120C03060E03E90D2603EBE4D9081BDFF62215F6011004E714');
CREATE TABLE versions (
  record_id TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  reason TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  created_at REAL NOT NULL,
  PRIMARY KEY (record_id, version)
) STRICT, WITHOUT ROWID;
INSERT INTO "versions" VALUES('les_01mcc5rm00080000000009',1,'approved','{"text": "`./archive seal books` failed: error: --year is required. Add `--year`.", "mistake": "`./archive seal books` failed: error: --year is required.", "correction": "Add `--year`.", "why": null, "task_type": null, "importance": 0.6, "confidence": 0.9, "wrong_call": null, "right_call": null, "guard": null, "unarmed": null, "guard_mode": null, "state": "active", "trust": "observed", "source": "rules"}',1800000000.0);
INSERT INTO "versions" VALUES('les_01mcc5rm000d000000000e',1,'edited','{"text": "Ask Ines before `make release`", "mistake": "", "correction": "Ask Ines before `make release`", "why": null, "task_type": null, "importance": 0.5, "confidence": 0.5, "wrong_call": null, "right_call": null, "guard": "Bash: `make release`", "unarmed": null, "guard_mode": null, "state": "active", "trust": "trusted", "source": "person"}',1800000000.0);
CREATE TABLE warnings (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  session TEXT NOT NULL,
  failure INTEGER NOT NULL,
  lesson_id TEXT,
  match TEXT NOT NULL CHECK (match IN ('exact', 'loose', 'tool_and_error', 'similar')),
  certainty REAL NOT NULL CHECK (certainty BETWEEN 0 AND 1),
  exact TEXT NOT NULL,
  call_id TEXT,
  shown INTEGER NOT NULL CHECK (shown IN (0, 1)),
  characters INTEGER NOT NULL CHECK (characters >= 0),
  sequel TEXT CHECK (sequel IN ('heeded', 'failed', 'worked')),
  created_at REAL NOT NULL,
  settled_at REAL
) STRICT, WITHOUT ROWID;
CREATE INDEX lessons_by_scope ON lessons (tenant, project, kind, state);
CREATE INDEX lessons_held ON lessons (tenant, project) WHERE trust = 'quarantined';
CREATE INDEX lessons_by_reflection ON lessons (reflection_id);
CREATE INDEX lessons_by_digest ON lessons (digest) WHERE digest IS NOT NULL;
CREATE INDEX reflections_by_digest ON reflections (tenant, project, digest);
CREATE INDEX reflections_by_run_digest ON reflections (tenant, project, run_digest);
CREATE INDEX reflections_by_run ON reflections (tenant, project, run_id);
CREATE INDEX reflections_by_time ON reflections (tenant, project, created_at);
CREATE INDEX reflections_by_component ON reflections (tenant, project, trim(json_extract(trace, '$.decision.component')))
WHERE json_extract(trace, '$.decision.component') IS NOT NULL;
CREATE INDEX failures_by_bare ON failures (tenant, bare);
CREATE INDEX failures_by_loose ON failures (tenant, loose);
CREATE INDEX failures_by_error ON failures (tenant, fingerprint);
CREATE INDEX failures_by_session ON failures (tenant, last_session, head);
CREATE INDEX recalls_untold ON recalls (created_at) WHERE told = 0;
CREATE TRIGGER recall_task_told AFTER INSERT ON task_outcomes BEGIN
  UPDATE recalls SET told = 1 WHERE id = new.recall_id;
END;
CREATE TRIGGER recall_told AFTER INSERT ON outcomes BEGIN
  UPDATE recalls SET told = 1 WHERE id = new.recall_id;
END;
CREATE INDEX links_back ON links (to_kind, to_id);
CREATE INDEX searches_by_time ON searches (updated_at);
CREATE INDEX steps_by_time ON steps (updated_at);
CREATE INDEX sessions_by_time ON sessions (updated_at);
CREATE INDEX warnings_by_time ON warnings (created_at);
CREATE INDEX warnings_by_session ON warnings (tenant, project, session, exact);
CREATE INDEX dreams_by_time ON dreams (tenant, project, created_at);
CREATE INDEX vectors_by_scope ON vectors (embedder, scope, seq, lesson, signs);
CREATE TRIGGER lesson_changed AFTER UPDATE OF text, symptoms, keywords, state, trust ON lessons
WHEN (old.text, old.symptoms, old.keywords, old.state, old.trust = 'quarantined')
  IS NOT (new.text, new.symptoms, new.keywords, new.state, new.trust = 'quarantined')
BEGIN
  DELETE FROM vectors WHERE lesson = new.row;
END;
CREATE INDEX critique_sessions_by_time ON critique_sessions (updated_at);
CREATE INDEX features_by_analyzer ON features (analyzer);
CREATE UNIQUE INDEX tokens_by_name ON tokens (name) WHERE revoked_at IS NULL;
CREATE INDEX lessons_by_rules ON lessons (rules_version);
CREATE INDEX project_names_by_project ON project_names (tenant, project);
CREATE INDEX guards_of_lesson ON guards (lesson_id);
CREATE INDEX findings_by_state ON findings (tenant, project, state, updated_at);
CREATE INDEX findings_by_session ON findings (tenant, project, session);
PRAGMA writable_schema=OFF;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('lessons',11);
INSERT INTO "sqlite_sequence" VALUES('vectors',13);
COMMIT;
CREATE VIRTUAL TABLE lesson_terms USING fts5(
  terms, content = '', detail = none, tokenize = "ascii tokenchars '_'"
);
INSERT INTO lesson_terms (rowid, terms) VALUES (1, '8e7201e6e9__kind_54e33b8325af 8e7201e6e9__tag_6e6f01a34527 8e7201e6e9__tag_1077e7896eea 8e7201e6e9_the 8e7201e6e9_run 8e7201e6e9_fail 8e7201e6e9_after 8e7201e6e9_4 8e7201e6e9_event 8e7201e6e9_1 8e7201e6e9_cal 8e7201e6e9_work 8e7201e6e9_bash 8e7201e6e9_ship 8e7201e6e9_publish 8e7201e6e9_shop 8e7201e6e9_error 8e7201e6e9_region 8e7201e6e9_is 8e7201e6e9_requir 8e7201e6e9_e2 8e7201e6e9_add 8e7201e6e9_e4 8e7201e6e9_valid');
INSERT INTO lesson_terms (rowid, terms) VALUES (2, '8e7201e6e9__kind_ce5c9232e7ca 8e7201e6e9__tag_ce5c9232e7ca 8e7201e6e9__tag_6e6f01a34527 8e7201e6e9__tag_1077e7896eea 8e7201e6e9_add 8e7201e6e9_region 8e7201e6e9_strateg 8e7201e6e9_valid 8e7201e6e9_bash 8e7201e6e9_publish 8e7201e6e9_the 8e7201e6e9_shop');
INSERT INTO lesson_terms (rowid, terms) VALUES (3, '8e7201e6e9__kind_33a68d86178a 8e7201e6e9__tag_6e6f01a34527 8e7201e6e9__tag_1077e7896eea 8e7201e6e9__error_0396151bcba2 8e7201e6e9_ship 8e7201e6e9_publish 8e7201e6e9_shop 8e7201e6e9_fail 8e7201e6e9_error 8e7201e6e9_region 8e7201e6e9_is 8e7201e6e9_requir 8e7201e6e9_add 8e7201e6e9_bash 8e7201e6e9_valid 8e7201e6e9_the');
INSERT INTO lesson_terms (rowid, terms) VALUES (4, '8e7201e6e9__kind_54e33b8325af 8e7201e6e9__tag_6e6f01a34527 8e7201e6e9__tag_1077e7896eea 8e7201e6e9_the 8e7201e6e9_run 8e7201e6e9_fail 8e7201e6e9_after 8e7201e6e9_4 8e7201e6e9_event 8e7201e6e9_1 8e7201e6e9_cal 8e7201e6e9_work 8e7201e6e9_bash 8e7201e6e9_archiv 8e7201e6e9_seal 8e7201e6e9_book 8e7201e6e9_error 8e7201e6e9_year 8e7201e6e9_is 8e7201e6e9_requir 8e7201e6e9_e2 8e7201e6e9_add 8e7201e6e9_e4 8e7201e6e9_valid');
INSERT INTO lesson_terms (rowid, terms) VALUES (5, '8e7201e6e9__kind_ce5c9232e7ca 8e7201e6e9__tag_ce5c9232e7ca 8e7201e6e9__tag_6e6f01a34527 8e7201e6e9__tag_1077e7896eea 8e7201e6e9_add 8e7201e6e9_year 8e7201e6e9_strateg 8e7201e6e9_valid 8e7201e6e9_bash 8e7201e6e9_seal 8e7201e6e9_the 8e7201e6e9_archiv');
INSERT INTO lesson_terms (rowid, terms) VALUES (6, '8e7201e6e9__kind_33a68d86178a 8e7201e6e9__tag_6e6f01a34527 8e7201e6e9__tag_1077e7896eea 8e7201e6e9__error_c360069d67b8 8e7201e6e9_archiv 8e7201e6e9_seal 8e7201e6e9_book 8e7201e6e9_fail 8e7201e6e9_error 8e7201e6e9_year 8e7201e6e9_is 8e7201e6e9_requir 8e7201e6e9_add 8e7201e6e9_bash 8e7201e6e9_valid 8e7201e6e9_the');
INSERT INTO lesson_terms (rowid, terms) VALUES (7, '8e7201e6e9__kind_33a68d86178a 8e7201e6e9_ran 8e7201e6e9_git 8e7201e6e9_commit 8e7201e6e9_a 8e7201e6e9_use 8e7201e6e9_with 8e7201e6e9_the 8e7201e6e9_nam 8e7201e6e9_of 8e7201e6e9_fil');
INSERT INTO lesson_terms (rowid, terms) VALUES (8, '8e7201e6e9__kind_33a68d86178a 8e7201e6e9_ran 8e7201e6e9_tsc 8e7201e6e9_without 8e7201e6e9_noemit 8e7201e6e9_no 8e7201e6e9_emit 8e7201e6e9_run');
INSERT INTO lesson_terms (rowid, terms) VALUES (9, '8e7201e6e9__kind_33a68d86178a 8e7201e6e9_cut 8e7201e6e9_the 8e7201e6e9_releas 8e7201e6e9_with 8e7201e6e9_a 8e7201e6e9_rehears 8e7201e6e9_no_rehearse 8e7201e6e9_no');
INSERT INTO lesson_terms (rowid, terms) VALUES (10, '8e7201e6e9__kind_33a68d86178a 8e7201e6e9_run 8e7201e6e9_mak 8e7201e6e9_setup 8e7201e6e9_before 8e7201e6e9_test');
INSERT INTO lesson_terms (rowid, terms) VALUES (11, '8e7201e6e9__kind_33a68d86178a 8e7201e6e9_ask 8e7201e6e9_ine 8e7201e6e9_before 8e7201e6e9_mak 8e7201e6e9_releas');
PRAGMA application_id = 1296257106;
PRAGMA user_version = 14;
