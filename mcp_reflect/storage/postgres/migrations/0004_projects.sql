-- Other names of projects: the folders of a repository on each machine, names by first commit, and former names.
-- `given`: a person chose the project for this name.
CREATE TABLE project_names (
  tenant words NOT NULL,
  name words NOT NULL,
  project words NOT NULL,
  given INTEGER NOT NULL DEFAULT 0 CHECK (given IN (0, 1)),
  PRIMARY KEY (tenant, name)
);
CREATE INDEX project_names_by_project ON project_names (tenant, project);
SELECT secure_tables();
