"""What scores a run by a criterion of its own: made elsewhere, given to the engine or found by its entry point."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final, Protocol, TypeAlias

from mcp_reflect.models.reflection import Score
from mcp_reflect.models.run import Trace

GROUP: Final = "mcp_reflect.scorer"

Scores: TypeAlias = Mapping[str, Score | float | None]
"""By criterion: 0..1, null where it cannot be known; with a reason where there is one."""


class Scorer(Protocol):
    """Scores a run, redacted, by criteria that it names."""

    def score(self, trace: Trace) -> Scores | Awaitable[Scores]:
        """The scores of a run; it may be a coroutine."""
        ...


@cache
def installed() -> tuple[tuple[str, Scorer | Exception], ...]:
    """The scorers of other packages by the name of their entry point, or why one cannot be loaded."""
    return tuple(
        (entry.name, _made(entry.load)) for entry in sorted(entry_points(group=GROUP), key=lambda one: one.name)
    )


def forget() -> None:
    """Look for scorers anew: packages may have come or gone."""
    installed.cache_clear()


def _made(load: Callable[[], Any]) -> Scorer | Exception:
    try:
        return load()()
    except Exception as error:  # noqa: BLE001 - the edge to code that is not ours
        return error
