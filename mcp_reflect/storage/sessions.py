"""State that calls share across processes: searches, critiques, budgets of steps, use of models, and access tokens."""

import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from mcp_reflect.clock import DAY
from mcp_reflect.errors import InputError
from mcp_reflect.models.access import AccessRole, StoredToken
from mcp_reflect.models.common import Scope
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage.repository import Repository, Writing, brief_transaction, transaction
from mcp_reflect.storage.rows import Row, record_from
from mcp_reflect.storage.values import Derived, scoped

_FIX: Final = "Send the id that the first call gave."


class StoredCatalog(NamedTuple):
    """A catalog as JSON text, with the hash that names it."""

    digest: str
    text: str


class SearchRepository(Repository):
    """Searches, and the catalogs they use.

    They are in the bank, so that any server of the project can continue a search.
    """

    async def load(self, scope: Scope, search_id: str) -> tuple[dict[str, Any], int]:
        """Return the state of a search, and its version: how many calls saved one. NotFoundError names the argument."""
        query = ("search_by_id", scope, "search_id", search_id, _FIX)
        row = await self.db.look(scope.tenant, lambda reading: reading.existing(*query))
        return json.loads(row["body"]), row["version"]

    async def catalog(self, scope: Scope, digest: str) -> str | None:
        """Return the JSON text of a catalog; None if a hundred newer ones have replaced it."""
        row = await self.db.row("catalog_by_digest", scoped(scope, digest=digest))
        if row is None:
            return None
        return row["body"]

    @brief_transaction
    def save(
        self,
        tx: Writing,
        scope: Scope,
        search_id: str,
        body: dict[str, Any],
        *,
        version: int | None,
        catalog: StoredCatalog | None = None,
    ) -> bool:
        """Save `body` for the next call, or nothing of it.

        `version` is the one that was loaded, None for a new search. Returns False, with nothing saved, if another call
        has saved something since: load again.
        """
        now = self.clock.now()
        own = scoped(scope, now=now)
        if version is None:
            tx.run("search_add", {"id": search_id, "body": body, **own})
            tx.drop_old("search", now, self.context.keep_days)
        elif (
            tx.run("search_replace", {"id": search_id, "body": body, "version": version, **own})
            == 0
        ):
            return False
        # The text of a catalog is redacted already, and is stored unchanged: its hash names it.
        if catalog is not None:
            values = {"digest": catalog.digest, "text": Derived(catalog.text), **own}
            if tx.run("catalog_add", values):
                tx.run("catalog_trim", own)
        return True


class CritiqueSessions(Repository):
    """The state that a call of critique leaves for the next one; any server of the project can continue."""

    async def load(self, scope: Scope, critique_id: str) -> dict[str, Any]:
        """Return the saved state; NotFoundError names the argument."""
        query = ("critique_session_by_id", scope, "critique_id", critique_id, _FIX)
        row = await self.db.look(scope.tenant, lambda reading: reading.existing(*query))
        return json.loads(row["body"])

    @transaction
    def save(self, tx: Writing, scope: Scope, critique_id: str, body: dict[str, Any]) -> None:
        """Save `body` under that id."""
        now = self.clock.now()
        tx.run("critique_session_keep", scoped(scope, id=critique_id, body=body, now=now))
        tx.drop_old("critique_session", now, self.context.keep_days)


class StepBudget(Repository):
    """Counts the reflections on each step of a run, over all processes of the run.

    Steps are whole numbers from 0.
    """

    async def taken(self, scope: Scope, run_id: str, step: int) -> int:
        """Return how many reflections that step has had."""
        row = await self.db.row("step_by_number", scoped(scope, run_id=run_id, step=step))
        return row["taken"] if row else 0

    @transaction
    def take(self, tx: Writing, scope: Scope, run_id: str, step: int, most: int) -> int | None:
        """Take one of the `most` reflections of that step; return how many it has had then, None if none is left."""
        where = scoped(scope, run_id=run_id, step=step)
        now = self.clock.now()
        if most <= 0 or not tx.run("step_take", {**where, "most": most, "now": now}):
            return None
        tx.drop_old("step", now, self.context.keep_days)
        return tx.rows("step_by_number", where)[0]["taken"]

    @transaction
    def reset(self, tx: Writing, scope: Scope, run_id: str | None = None) -> None:
        """Forget the counts of a run; None forgets those of every run of the project."""
        tx.run("step_reset", scoped(scope, run_id=run_id))


class UsageStore(Repository):
    """The tokens of language models by day, over all processes that share the bank. Days begin at midnight, UTC."""

    tenant = "local"

    def of(self, tenant: str) -> "UsageStore":
        """Return the use by a tenant."""
        usage = UsageStore(self.context)
        usage.tenant = tenant
        return usage

    async def add(self, tokens: int) -> int:
        """Add tokens to today's, fewer than 0 to give some back; return the sum."""
        today = {"tenant": self.tenant, "day": int(self.clock.now() // DAY)}

        def work(tx: Writing) -> int:
            tx.run("spend_add", {**today, "tokens": tokens})
            return tx.rows("spent_on", today)[0]["tokens"]

        return await self.db.write(self.tenant, work)


# Tokens of a team's service: only their digests are stored.

PREFIX: Final = "mcpr_"
"""Begins every token, so that people and scanners of secrets recognize one."""

_RANDOM_BYTES: Final = 32  # so that a plain digest tells nothing about the token
_ALL: Final = (
    ""  # the tenant of transactions about tokens: a request's tenant is known only after them
)


class TokenRepository(Repository):
    """The tokens of all tenants. No scope: a token is what tells the scope."""

    async def add(
        self,
        name: str,
        *,
        tenant: str,
        projects: Sequence[str],
        role: AccessRole,
        days: float | None = None,
    ) -> str:
        """Store a token under a name that no other has, and return it: nobody can read it again."""
        token_id = self.clock.new_id("tok").removeprefix("tok_")
        text = f"{PREFIX}{token_id}_{urlsafe_b64encode(self.clock.random(_RANDOM_BYTES)).decode().rstrip('=')}"
        now = self.clock.now()
        values: dict[str, Any] = {
            "id": token_id,
            "name": name,
            "tenant": tenant,
            "projects": list(projects),
            "role": role.value,
            "digest": _digest(text),
            "now": now,
            "expires_at": None if days is None else now + days * DAY,
        }

        def add(tx: Writing) -> None:
            if tx.row("token_by_name", values) is not None:
                raise InputError(
                    "name",
                    f"'{quoted(name)}' is the name of another token",
                    "Choose another, or revoke it.",
                )
            tx.run("token_add", values)

        await self.db.write(_ALL, add)
        return text

    async def list_all(self) -> list[StoredToken]:
        """Return every token, oldest first, also those that no longer work."""
        return [_token(row) for row in await self.db.rows("token_list", {"tenant": _ALL})]

    async def revoke(self, name: str) -> None:
        """Revoke a token by its name: the next request with it is refused. InputError if there is none."""
        values = {"name": name, "now": self.clock.now()}
        if not await self.db.write(_ALL, lambda tx: tx.run("token_revoke", values)):
            fix = "`mcp-reflect tokens list` shows those that are."
            raise InputError("name", f"no token in use is named '{quoted(name)}'", fix)

    async def find(self, text: str) -> StoredToken | None:
        """Return the token that a request sent, None if it is none, is revoked or has expired."""
        token_id, _, secret = text.removeprefix(PREFIX).partition("_")
        if not text.startswith(PREFIX) or not secret:
            return None
        row = await self.db.row("token_by_id", {"id": token_id, "tenant": _ALL})
        if row is None or not hmac.compare_digest(row["digest"], _digest(text)):
            return None
        token = _token(row)
        expired = token.expires_at is not None and token.expires_at <= self.clock.now()
        if expired or token.revoked_at is not None:
            return None
        return token


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _token(row: Row) -> StoredToken:
    return record_from(
        row, StoredToken, {"projects": lambda value: tuple(json.loads(value)), "role": AccessRole}
    )
