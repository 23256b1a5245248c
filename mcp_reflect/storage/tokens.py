"""Tokens of a team's service: made, listed, revoked, and looked up for a request. Only their digests are stored."""

import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Any, Final

from mcp_reflect.clock import DAY
from mcp_reflect.errors import InputError
from mcp_reflect.models.access import Role, Token
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage.repository import Repository, Row, Writing, record_from

PREFIX: Final = "mcpr_"
"""Begins every token, so that people and scanners of secrets recognize one."""

_RANDOM_BYTES: Final = 32  # so that a plain digest tells nothing about the token
_ALL: Final = ""  # the tenant of transactions about tokens: a request's tenant is known only after them


class TokenRepository(Repository):
    """The tokens of all tenants. No scope: a token is what tells the scope."""

    async def add(
        self, name: str, *, tenant: str, projects: Sequence[str], role: Role, days: float | None = None
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
                    "name", f"'{quoted(name)}' is the name of another token", "Choose another, or revoke it."
                )
            tx.run("token_add", values)

        await self.db.write(_ALL, add)
        return text

    async def list_all(self) -> list[Token]:
        """Return every token, oldest first, also those that no longer work."""
        return [_token(row) for row in await self.db.rows("token_list", {"tenant": _ALL})]

    async def revoke(self, name: str) -> None:
        """Revoke a token by its name: the next request with it is refused. InputError where there is none."""
        values = {"name": name, "now": self.clock.now()}
        if not await self.db.write(_ALL, lambda tx: tx.run("token_revoke", values)):
            fix = "`mcp-reflect tokens list` shows those that are."
            raise InputError("name", f"no token in use is named '{quoted(name)}'", fix)

    async def find(self, text: str) -> Token | None:
        """Return the token that a request sent, None where it is none, is revoked or has expired."""
        token_id, _, secret = text.removeprefix(PREFIX).partition("_")
        if not text.startswith(PREFIX) or not secret:
            return None
        row = await self.db.row("token_by_id", {"id": token_id, "tenant": _ALL})
        if row is None or not hmac.compare_digest(row["digest"], _digest(text)):
            return None
        token = _token(row)
        expired = token.expires_at is not None and token.expires_at <= self.clock.now()
        return None if expired or token.revoked_at is not None else token


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _token(row: Row) -> Token:
    return record_from(row, Token, {"projects": lambda value: tuple(json.loads(value)), "role": Role})
