"""Access tokens of a team's service, of which only digests are stored; bank.py composes the repository."""

import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Any, Final

from mcp_reflect.clock import DAY
from mcp_reflect.errors import InputError
from mcp_reflect.models.access import AccessRole, StoredToken
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage.repository import Repository, Writing
from mcp_reflect.storage.rows import Row, record_from

PREFIX: Final = "mcpr_"
"""Begins every token, so that people and scanners of secrets recognize one."""

_RANDOM_BYTES: Final = 32  # so many that the token cannot be found by trying what has its digest
_ALL_TENANTS: Final = ""
"""The tenant of transactions about tokens: whose request it is, only the token tells."""


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
        """Make and store a token; return its text `mcpr_ID_SECRET`, which nobody can read again.

        It works for `days`, None for ever. InputError if another token has the name.
        """
        token_id = self.clock.new_id("tok").removeprefix("tok_")
        secret = urlsafe_b64encode(self.clock.random(_RANDOM_BYTES)).decode().rstrip("=")
        text = f"{PREFIX}{token_id}_{secret}"
        now = self.clock.now()
        expires_at: float | None = None
        if days is not None:
            expires_at = now + days * DAY
        values: dict[str, Any] = {
            "id": token_id,
            "name": name,
            "tenant": tenant,
            "projects": list(projects),
            "role": role.value,
            "digest": _digest(text),
            "now": now,
            "expires_at": expires_at,
        }

        def add(tx: Writing) -> None:
            if tx.row("token_by_name", values) is not None:
                raise InputError(
                    "name",
                    f"'{quoted(name)}' is the name of another token",
                    "Choose another, or revoke it.",
                )
            tx.run("token_add", values)

        await self.db.write(_ALL_TENANTS, add)
        return text

    async def list_all(self) -> list[StoredToken]:
        """Return every token, oldest first, also those that no longer work."""
        return [_token(row) for row in await self.db.rows("token_list", {"tenant": _ALL_TENANTS})]

    async def revoke(self, name: str) -> None:
        """Revoke a token by its name: the next request with it is refused. InputError if there is none."""
        values = {"name": name, "now": self.clock.now()}
        if not await self.db.write(_ALL_TENANTS, lambda tx: tx.run("token_revoke", values)):
            fix = "`mcp-reflect tokens list` shows those that are."
            raise InputError("name", f"no token in use is named '{quoted(name)}'", fix)

    async def find(self, text: str) -> StoredToken | None:
        """Return the token that a request sent, None if it is none, is revoked or has expired."""
        token_id, _, secret = text.removeprefix(PREFIX).partition("_")
        if not text.startswith(PREFIX) or not secret:
            return None
        row = await self.db.row("token_by_id", {"id": token_id, "tenant": _ALL_TENANTS})
        if row is None or not hmac.compare_digest(row["digest"], _digest(text)):
            return None
        token = _token(row)
        expired = token.expires_at is not None and token.expires_at <= self.clock.now()
        if expired or token.revoked_at is not None:
            return None
        return token


def _digest(text: str) -> bytes:
    """Return what is stored of a token; a slow hash is not needed, since nobody can guess 32 random bytes."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _token(row: Row) -> StoredToken:
    """Return a row of `tokens` as the record."""
    return record_from(row, StoredToken, {"projects": _projects_from, "role": AccessRole})


def _projects_from(text: str) -> tuple[str, ...]:
    """Return the projects of a token, which are stored as JSON."""
    return tuple(json.loads(text))
