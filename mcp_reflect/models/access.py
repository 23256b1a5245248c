"""Who calls the service of a team: the tenant, the projects and the role that a token gives."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mcp_reflect.errors import NotAllowedError

ANY_PROJECT: Final = "*"
"""Stands for every project of a tenant."""


class AccessRole(StrEnum):
    """What a caller may do: recall; also store; also decide about what others stored."""

    READER = "reader"
    WRITER = "writer"
    ADMIN = "admin"


ROLES: Final = tuple(AccessRole)
"""From the least to the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller. Of `projects`, the first is that of calls that name none; an empty name is global.

    The `id` is empty where a service asks nobody for a token.
    """

    id: str
    name: str
    tenant: str
    projects: tuple[str, ...]
    role: AccessRole

    @property
    def is_known(self) -> bool:
        """True if it showed a token, or logged in."""
        return bool(self.id)

    def may(self, role: AccessRole) -> bool:
        """Return whether the caller has that role, or one that includes it."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def refuse_below(self, role: AccessRole, act: str) -> None:
        """Raise NotAllowedError if the caller may not do an act, for which it takes `role`."""
        if not self.may(role):
            fault = f"your token's role is {self.role}, and to {act} it must be {role}"
            raise NotAllowedError(
                "role", fault, "Ask an admin of your team for a token with that role."
            )

    def uses(self, project: str) -> bool:
        """Return whether the caller may use a project."""
        return ANY_PROJECT in self.projects or project in self.projects


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredToken(Principal):
    """A stored token. Times are seconds since 1970 (UTC); None is never."""

    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None
