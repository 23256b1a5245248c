"""The SQL of the bank, by name: it stands in .sql files, and values are bound to it."""

import re
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Final

from mcp_reflect.models.lesson import Lesson

# The name of a query stands above it, then a comment about its purpose.
_HEAD: Final = re.compile(r"^-- name: (\w+)$", re.MULTILINE)

# Every field of Lesson is a column, so that a new field needs a migration and no query: queries name their columns by
# the placeholders /*columns*/ (id, project, …), /*values*/ (:id, :project, …) and /*changes*/ (text = :text, …).

# The columns that a record keeps for life.
_FIXED: Final = (
    "id",
    "project",
    "kind",
    "source",
    "external_id",
    "reflection_id",
    "created_at",
    "tenant",
)
# The columns that are counted from outcomes, and no edit writes.
_COUNTED: Final = (
    "times_applied",
    "effectiveness",
    "wins",
    "losses",
    "proof",
)
LESSON_FIELDS: Final = tuple(field.name for field in fields(Lesson))
_LESSON_COLUMNS: Final = (*LESSON_FIELDS, "tenant", "digest")


def queries_in(folder: Path) -> dict[str, str]:
    """Return the SQL of the queries in a folder by name, with the columns of a lesson in place of the placeholders."""
    text = "".join(file.read_text(encoding="utf-8") for file in folder.glob("*.sql"))
    changed = [name for name in _LESSON_COLUMNS if name not in (*_FIXED, *_COUNTED)]
    text = text.replace("/*columns*/", ", ".join(_LESSON_COLUMNS))
    text = text.replace("/*values*/", ", ".join(f":{name}" for name in _LESSON_COLUMNS))
    text = text.replace("/*changes*/", ", ".join(f"{name} = :{name}" for name in changed))
    _before_first, *names_and_queries = _HEAD.split(text)  # a name, its query, a name, its query…
    names = names_and_queries[0::2]
    texts = [query.strip() for query in names_and_queries[1::2]]
    return dict(zip(names, texts, strict=True))


@cache
def queries() -> dict[str, str]:
    """Return every query by name in SQLite's SQL; other engines translate them, or have their own."""
    return queries_in(Path(__file__).parent / "sqlite" / "queries")


@cache
def migrations_in(folder: Path) -> tuple[tuple[int, str], ...]:
    """Return every migration as (version, SQL), oldest first; the version is the file's leading number."""
    files = sorted(folder.glob("[0-9]*.sql"))
    return tuple((int(file.name.split("_")[0]), file.read_text(encoding="utf-8")) for file in files)
