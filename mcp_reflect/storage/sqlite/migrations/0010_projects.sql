-- Other names of projects: the folders of a repository on each machine, names by first commit, and former names.
-- `given`: a person chose the project for this name.
CREATE TABLE project_names (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  project TEXT NOT NULL,
  given INTEGER NOT NULL DEFAULT 0 CHECK (given IN (0, 1)),
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX project_names_by_project ON project_names (tenant, project);
