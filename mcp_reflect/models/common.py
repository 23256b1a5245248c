"""Values that most models share: JSON, the scope of a record, the names of judges."""

from dataclasses import dataclass
from typing import Final, TypeAlias

# The type of a JSON value, for what comes from outside and has no better type.


Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


# Whose records: the first argument of every bank call.


GLOBAL = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """A tenant (one per person here; a team server has many) and a project (`""` is global)."""

    tenant: str = "local"
    project: str = GLOBAL

    def __str__(self) -> str:
        return f"project {self.project}" if self.project else "global"


# The names of who thought, in results: a language model is named `provider:model` or `sampling`.


HOST: Final = "host"
"""The calling agent, by the analysis that it sent."""

RULES: Final = "rules"
"""Nobody but the rules."""
