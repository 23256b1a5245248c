"""The roots of lessons: what a lesson is true of (files with their content, versions, a date), kept beside it.

When these change, the lesson may no longer hold. the package `roots` compares them with what is there now.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.root import FileRoot, Planted, Roots, VersionRoot
from mcp_reflect.security.redact import clean_text
from mcp_reflect.storage.repository import Repository, Writing, transaction
from mcp_reflect.storage.rows import Row, keeps
from mcp_reflect.storage.values import Derived, scoped

_MOST_LESSONS: Final = 10_000  # whose roots a review looks at


class RootRepository(Repository):
    """The roots of lessons."""

    @transaction
    def plant(self, tx: Writing, scope: Scope, lesson_id: str, roots: Roots) -> None:
        """Keep what a lesson is true of, in place of what it was before; nothing for one without roots.

        Names with a secret in them are left out. The rest are digests, which would look like secrets.
        """
        if roots.is_empty:
            tx.run("roots_cut", {"id": lesson_id, "tenant": scope.tenant})
            return
        values = scoped(scope, lesson_id=lesson_id, now=self.clock.now())
        tx.run("roots_put", {**values, "body": Derived(json.dumps(_without_secrets(roots)))})

    async def of(self, scope: Scope, ids: Iterable[str]) -> Mapping[str, Planted]:
        """Return the roots of those lessons that have any, by id."""
        rows = await self.db.rows("roots_of", scoped(scope, ids=list(ids)))
        return {row["lesson_id"]: _planted(row) for row in rows}

    async def of_project(self, scope: Scope) -> Mapping[str, Planted]:
        """Return the roots of all lessons of a project that are in use, by id."""
        rows = await self.db.rows("roots_of_project", scoped(scope, limit=_MOST_LESSONS))
        return {row["lesson_id"]: _planted(row) for row in rows}


def _without_secrets(roots: Roots) -> dict[str, object]:
    """Return roots as JSON has them, without files, words and versions whose name has a secret in it."""
    body = asdict(roots)
    body["files"] = [file for file in body["files"] if _has_no_secret(file["path"])]
    for file in body["files"]:
        file["absent"] = [word for word in file["absent"] if _has_no_secret(word)]
    body["versions"] = [version for version in body["versions"] if _has_no_secret(version["name"])]
    return body


def _has_no_secret(text: str) -> bool:
    """Return whether redaction leaves a text as it is."""
    return clean_text(text) == text


def _planted(row: Row) -> Planted:
    """Return a row as the roots of its lesson, with whether a person keeps the lesson."""
    return Planted(_roots_from(json.loads(row["body"])), is_kept_by_person=keeps(row))


def _roots_from(body: Mapping[str, Any]) -> Roots:
    """Return roots from JSON.

    `from_json` would read any dataclass, but slower, and a person's prompt waits for this.
    """
    files = (
        FileRoot(
            path=file["path"],
            digest=file["digest"],
            size=file["size"],
            lines=tuple(file["lines"]),
            most_gone=file["most_gone"],
            absent=tuple(file["absent"]),
        )
        for file in body["files"]
    )
    versions = (VersionRoot(**version) for version in body["versions"])
    return Roots(files=tuple(files), versions=tuple(versions), valid_until=body["valid_until"])
