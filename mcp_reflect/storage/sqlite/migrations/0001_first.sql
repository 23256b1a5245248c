-- The records that recall can return: lessons, strategies, and the summary of each reflection.
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
  updated_at REAL NOT NULL,
  CHECK (kind <> 'lesson' OR (mistake IS NOT NULL AND correction IS NOT NULL))
) STRICT;
CREATE INDEX lessons_by_scope ON lessons (tenant, project, kind, state);
CREATE INDEX lessons_held ON lessons (tenant, project) WHERE trust = 'quarantined';
CREATE INDEX lessons_by_reflection ON lessons (reflection_id);
CREATE INDEX lessons_by_digest ON lessons (digest) WHERE digest IS NOT NULL;

-- The analyzed terms of each active row out of quarantine with their weighted counts, and the length of its text in
-- terms. See storage/retrieval/index.py.
CREATE TABLE features (
  row INTEGER PRIMARY KEY REFERENCES lessons (row) ON DELETE CASCADE,
  scope INTEGER NOT NULL,
  length REAL NOT NULL,
  terms TEXT NOT NULL CHECK (json_valid(terms))
) STRICT;

-- The rows that hold a term: each term has the number of its scope as a prefix. The tokenizer splits at spaces only.
CREATE VIRTUAL TABLE lesson_terms USING fts5(
  terms, content = '', detail = none, tokenize = "ascii tokenchars '_'"
);

-- In how many active rows of a scope a term is.
CREATE TABLE terms (
  scope INTEGER NOT NULL,
  term TEXT NOT NULL,
  rows INTEGER NOT NULL,
  PRIMARY KEY (scope, term)
) STRICT, WITHOUT ROWID;

-- How many active rows a scope has, and the total length of their texts in terms.
CREATE TABLE sizes (
  scope INTEGER PRIMARY KEY,
  rows INTEGER NOT NULL CHECK (rows >= 0),
  length INTEGER NOT NULL CHECK (length >= 0)
) STRICT;

-- A run that was reflected on: the redacted trace, and the reflection as it was returned. `digest` names the run
-- with its judgement, `run_digest` the run alone.
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
CREATE INDEX reflections_by_digest ON reflections (tenant, project, digest);
CREATE INDEX reflections_by_run_digest ON reflections (tenant, project, run_digest);
CREATE INDEX reflections_by_run ON reflections (tenant, project, run_id);
CREATE INDEX reflections_by_time ON reflections (tenant, project, created_at);
CREATE INDEX reflections_by_component ON reflections (tenant, project, trim(json_extract(trace, '$.decision.component')))
WHERE json_extract(trace, '$.decision.component') IS NOT NULL;

-- Calls that are known to fail, by signature, a row for each form in which they were made.
-- head, exact, bare and loose are keys of the call's forms; session and step say where it failed last.
-- worked_at is there where the same call has worked since it last failed.
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
  retired_at REAL,
  UNIQUE (tenant, project, signature, exact)
) STRICT;
CREATE INDEX failures_by_bare ON failures (tenant, bare);
CREATE INDEX failures_by_loose ON failures (tenant, loose);
CREATE INDEX failures_by_error ON failures (tenant, fingerprint);
CREATE INDEX failures_by_session ON failures (tenant, last_session, head);

-- How often lessons worked, by task type: sums over those with enough proof (see storage/effectiveness.py) of their
-- wins, and of wins and losses. The triggers keep them up to date.
CREATE TABLE rates (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  task_type TEXT NOT NULL,
  wins REAL NOT NULL,
  told REAL NOT NULL,
  PRIMARY KEY (tenant, project, task_type)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER rates_taken AFTER UPDATE OF wins, losses, proof, task_type ON lessons WHEN old.proof >= 1 BEGIN
  UPDATE rates SET wins = max(0.0, wins - old.wins), told = max(0.0, told - old.wins - old.losses)
  WHERE tenant = old.tenant AND project = old.project AND task_type = coalesce(old.task_type, '');
END;
CREATE TRIGGER rates_added AFTER UPDATE OF wins, losses, proof, task_type ON lessons WHEN new.proof >= 1 BEGIN
  INSERT INTO rates (tenant, project, task_type, wins, told)
  VALUES (new.tenant, new.project, coalesce(new.task_type, ''), new.wins, new.wins + new.losses)
  ON CONFLICT DO UPDATE SET wins = wins + excluded.wins, told = told + excluded.told;
END;
CREATE TRIGGER rates_erased AFTER DELETE ON lessons WHEN old.proof >= 1 BEGIN
  UPDATE rates SET wins = max(0.0, wins - old.wins), told = max(0.0, told - old.wins - old.losses)
  WHERE tenant = old.tenant AND project = old.project AND task_type = coalesce(old.task_type, '');
END;

-- The lessons that were shown: one row a recall. `holdout` is the share of tasks whose lessons were held out then,
-- `held_out` how many lessons this one would have been shown.
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
CREATE INDEX recalls_untold ON recalls (created_at) WHERE told = 0;

-- How a task went whose lessons were recalled, or held out; the latest of a recall wins.
CREATE TABLE task_outcomes (
  recall_id TEXT PRIMARY KEY,
  success REAL NOT NULL CHECK (success IN (0, 0.5, 1)),
  evidence TEXT NOT NULL CHECK (evidence IN ('self', 'user', 'metric', 'test')),
  created_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- The outcomes of using a lesson; success is 1, 0.5 for partial, or 0. The latest of a recall and lesson wins.
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

-- A recall with an outcome is kept: one without is dropped after some time.
CREATE TRIGGER recall_task_told AFTER INSERT ON task_outcomes BEGIN
  UPDATE recalls SET told = 1 WHERE id = new.recall_id;
END;
CREATE TRIGGER recall_told AFTER INSERT ON outcomes BEGIN
  UPDATE recalls SET told = 1 WHERE id = new.recall_id;
END;

-- The links between lessons, reflections, events, tools, files and error codes.
CREATE TABLE links (
  from_id TEXT NOT NULL,
  relation TEXT NOT NULL,
  to_kind TEXT NOT NULL,
  to_id TEXT NOT NULL,
  PRIMARY KEY (from_id, relation, to_kind, to_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_back ON links (to_kind, to_id);

-- Earlier and other wordings; nothing that was written is lost.
CREATE TABLE versions (
  record_id TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version > 0),
  reason TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  created_at REAL NOT NULL,
  PRIMARY KEY (record_id, version)
) STRICT, WITHOUT ROWID;

-- The tokens and US dollars that language models used, by day (since 1970, UTC), over all processes.
CREATE TABLE spending (
  tenant TEXT NOT NULL,
  day INTEGER NOT NULL,
  tokens INTEGER NOT NULL CHECK (tokens >= 0),
  cost REAL NOT NULL CHECK (cost >= 0),
  PRIMARY KEY (tenant, day)
) STRICT, WITHOUT ROWID;

-- The state that a call of critique leaves for the next one, redacted.
CREATE TABLE workings (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX workings_by_time ON workings (updated_at);

-- The state that a call of replan_search leaves for the next one, redacted; the version counts these calls.
CREATE TABLE searches (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  version INTEGER NOT NULL DEFAULT 1 CHECK (version > 0),
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX searches_by_time ON searches (updated_at);

-- The catalogs that searches name, each once, by the SHA-256 of its text: vocabularies are long.
CREATE TABLE catalogues (
  row INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  digest TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  created_at REAL NOT NULL,
  UNIQUE (tenant, project, digest)
) STRICT;

-- How often a search strategy was used against a kind of failure, and how often it found something; partly counts half.
CREATE TABLE payoffs (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  kind TEXT NOT NULL,
  strategy TEXT NOT NULL CHECK (strategy IN ('relax', 'rewrite', 'pivot')),
  used INTEGER NOT NULL CHECK (used >= 0),
  paid REAL NOT NULL CHECK (paid BETWEEN 0 AND used),
  PRIMARY KEY (tenant, project, kind, strategy)
) STRICT, WITHOUT ROWID;

-- How often each step of a run was reflected on: the budget that its processes share.
CREATE TABLE steps (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  run_id TEXT NOT NULL,
  step INTEGER NOT NULL CHECK (step >= 0),
  taken INTEGER NOT NULL CHECK (taken > 0),
  updated_at REAL NOT NULL,
  PRIMARY KEY (tenant, project, run_id, step)
) STRICT, WITHOUT ROWID;
CREATE INDEX steps_by_time ON steps (updated_at);

-- A session of an agent that is watched. Recurrences are calls that failed and were known to fail.
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
  updated_at REAL NOT NULL,
  PRIMARY KEY (tenant, project, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_time ON sessions (updated_at);

-- A warning before a call, given or (in a session that is held out) only noted, and its sequel.
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
CREATE INDEX warnings_by_time ON warnings (created_at);
CREATE INDEX warnings_by_session ON warnings (tenant, project, session, exact);

-- The errors, by their fingerprint, that identify a lesson.
CREATE TABLE symptoms (
  tenant TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  lesson_id TEXT NOT NULL REFERENCES lessons (id) ON DELETE CASCADE,
  PRIMARY KEY (tenant, fingerprint, lesson_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX symptoms_by_lesson ON symptoms (lesson_id);

-- Dreams: the plan, and in `changes` the data that undoes it. `digest` names the state in which they left the records.
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
CREATE INDEX dreams_by_time ON dreams (tenant, project, created_at);

-- The work that only one process may do at a time, and until when (seconds since 1970): a crashed one's lease expires.
CREATE TABLE leases (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  holder TEXT NOT NULL,
  until REAL NOT NULL,
  PRIMARY KEY (tenant, project, name)
) STRICT, WITHOUT ROWID;

-- Embedding models that lessons have vectors of, with the cosine of unrelated texts. The first is the table of word
-- vectors that comes with the package.
CREATE TABLE embedders (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  dims INTEGER NOT NULL CHECK (dims > 0),
  background REAL NOT NULL CHECK (background BETWEEN 0 AND 0.9),
  used_at REAL NOT NULL,
  UNIQUE (name, dims)
) STRICT;
INSERT INTO embedders (id, name, dims, background, used_at) VALUES (1, 'words-1', 256, 0.1, 0);

-- The vector of an active lesson out of quarantine, a signed byte for each dimension, and a bit for the sign of each.
CREATE TABLE vectors (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  lesson INTEGER NOT NULL REFERENCES lessons (row) ON DELETE CASCADE,
  embedder INTEGER NOT NULL REFERENCES embedders (id) ON DELETE CASCADE,
  scope INTEGER NOT NULL,
  signs BLOB NOT NULL,
  vector BLOB NOT NULL,
  UNIQUE (lesson, embedder)
) STRICT;
CREATE INDEX vectors_by_scope ON vectors (embedder, scope, seq, lesson, signs);

-- A change of a lesson's text or state, and quarantine, takes its vectors away.
CREATE TRIGGER lesson_changed AFTER UPDATE OF text, symptoms, keywords, state, trust ON lessons
WHEN (old.text, old.symptoms, old.keywords, old.state, old.trust = 'quarantined')
  IS NOT (new.text, new.symptoms, new.keywords, new.state, new.trust = 'quarantined')
BEGIN
  DELETE FROM vectors WHERE lesson = new.row;
END;
