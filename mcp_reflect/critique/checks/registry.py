"""The checkers there are, by name; each is imported when it is first used.

Our own stand in `SHIPPED`, one line each, in the order in which their findings are told. Others come
through the entry point group `mcp_reflect.checker`, whose values name a class or a factory of Checkers.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec

from mcp_reflect.critique.checks.checker import Checker
from mcp_reflect.critique.checks.foreign import Absent, Foreign

GROUP = "mcp_reflect.checker"

SHIPPED: tuple[tuple[str, str], ...] = (
    ("evidence", "mcp_reflect.critique.checks.evidence:EvidenceChecker"),
    ("arithmetic", "mcp_reflect.critique.checks.arithmetic:ArithmeticChecker"),
    ("units", "mcp_reflect.critique.checks.units:UnitsChecker"),
    ("dates", "mcp_reflect.critique.checks.dates:DatesChecker"),
    ("code", "mcp_reflect.critique.checks.code:CodeChecker"),
    ("execution", "mcp_reflect.critique.checks.execution:ExecutionChecker"),
)


def checkers(names: Iterable[str] | None = None) -> list[Checker]:
    """The checkers of these names, else all: ours first, then those of other packages by name."""
    wanted = None if names is None else set(names)
    return [checker for name, checker in _all() if wanted is None or name in wanted]


def forget() -> None:
    """Look for checkers anew: packages may have come or gone."""
    _all.cache_clear()


@cache
def _all() -> tuple[tuple[str, Checker], ...]:
    return (*_shipped(), *_others())


def _shipped() -> Iterator[tuple[str, Checker]]:
    for name, path in SHIPPED:
        module, _, attribute = path.partition(":")
        if find_spec(module) is None:
            continue
        yield name, getattr(import_module(module), attribute)()


def _others() -> Iterator[tuple[str, Checker]]:
    ours = {name for name, _ in SHIPPED}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        if entry.name in ours:
            continue
        try:
            made: Checker = entry.load()()
        except Exception as error:  # noqa: BLE001 - the edge to code that is not ours, see foreign.py
            made = Absent(error)
        yield entry.name, Foreign(entry.name, made)
