"""Whose records: the first argument of every bank call."""

from dataclasses import dataclass

GLOBAL = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """A tenant (one per person here; a team server has many) and a project (`""` is global)."""

    tenant: str = "local"
    project: str = GLOBAL

    def __str__(self) -> str:
        return f"project {self.project}" if self.project else "global"
