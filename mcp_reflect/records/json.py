"""The type of a JSON value, for what comes from outside and has no better type."""

from typing import TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
