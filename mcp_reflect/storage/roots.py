"""What lessons are true of, as it is kept beside them."""

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
    body = asdict(roots)
    body["files"] = [one for one in body["files"] if clean_text(one["path"]) == one["path"]]
    for one in body["files"]:
        one["absent"] = [word for word in one["absent"] if clean_text(word) == word]
    body["versions"] = [one for one in body["versions"] if clean_text(one["name"]) == one["name"]]
    return body


def _planted(row: Row) -> Planted:
    return Planted(_roots_from(json.loads(row["body"])), is_kept_by_person=keeps(row))


def _roots_from(body: Mapping[str, Any]) -> Roots:
    """Return roots as they were kept; read by hand, since a prompt waits for it."""
    files = (
        FileRoot(
            path=one["path"],
            digest=one["digest"],
            size=one["size"],
            lines=tuple(one["lines"]),
            most_gone=one["most_gone"],
            absent=tuple(one["absent"]),
        )
        for one in body["files"]
    )
    versions = (VersionRoot(**one) for one in body["versions"])
    return Roots(files=tuple(files), versions=tuple(versions), valid_until=body["valid_until"])
