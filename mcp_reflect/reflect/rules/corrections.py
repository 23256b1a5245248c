"""Mistakes whose correction was seen: a call that failed and the related later call that worked.

Three forms are read. The arguments changed and the call worked. The same call worked after something
else had been done (a package installed, a file edited). The same call worked when it was repeated, which
says something only of errors that pass by themselves. Anything vaguer makes no lesson.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_reflect.models.run import Change, ErrorCategory
from mcp_reflect.reflect.rules.changes import changes_between, leaf_map
from mcp_reflect.reflect.rules.related import tie_between
from mcp_reflect.reflect.rules.text_ties import Tie
from mcp_reflect.reflect.rules.tools import Kind, kind_of, may_change
from mcp_reflect.reflect.rules.tried import Tried

_FIRST = re.compile(r"(?i)\b(?:first|before|has not been|must be|requires?)\b")
HORIZON = 30  # later calls that are looked at for the one that worked
MAX_STEPS = 4  # calls between two runs of the same call that can be named as what made the difference
PASSING = frozenset({ErrorCategory.TIMEOUT, ErrorCategory.RATE_LIMIT, ErrorCategory.NETWORK, ErrorCategory.CONFLICT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A failed call, the call that worked, what ties them, and what was done in between."""

    failed: Tried
    worked: Tried
    tie: Tie
    changes: tuple[Change, ...]
    steps: tuple[Tried, ...] = ()

    @property
    def teaches(self) -> bool:
        """Whether what made the difference was seen."""
        fault = self.failed.fault
        return bool(self.changes or self.steps) or (fault is not None and fault.category in PASSING)


def pairs_in(tried: Sequence[Tried], *, succeeded: bool) -> list[Pair]:
    """For each failed call the first later call that put it right, where there is one; `succeeded` is the run's end."""
    by_tool: dict[str, list[Tried]] = {}
    for item in tried:
        if item.call.made:
            by_tool.setdefault(item.call.tool.lower(), []).append(item)
    places = {item.index: (group, place) for group in by_tool.values() for place, item in enumerate(group)}
    found: list[Pair] = []
    for item in tried:
        if item.failed and item.index in places:
            group, place = places[item.index]
            pair = _first_pair(tried, item, group[place + 1 : place + 1 + HORIZON], proved=succeeded) or _other_tool(
                tried, item
            )
            if pair is not None:
                found.append(pair)
    return found


def _first_pair(tried: Sequence[Tried], failed: Tried, later: Sequence[Tried], *, proved: bool) -> Pair | None:
    for other in later:
        if other.worked and (tie := tie_between(failed, other, proved=proved)) is not None:
            steps = tuple(_steps(tried, failed, other)) if tie is Tie.SAME else ()
            if len(steps) > MAX_STEPS:
                steps = ()
            changes = changes_between(failed.call.arguments, other.call.arguments)
            return Pair(failed=failed, worked=other, tie=tie, changes=changes, steps=steps)
    return None


def _other_tool(tried: Sequence[Tried], failed: Tried) -> Pair | None:
    """The very next call sends the same arguments to another tool and works: the tool was what was wrong.

    Searches are left out, since another search tool may simply hold other things.
    """
    following = failed.index + 1
    if following >= len(tried) or not failed.call.arguments or (failed.fault and failed.fault.empty):
        return None
    other = tried[following]
    same_arguments = failed.exact.partition("(")[2] == other.exact.partition("(")[2]
    if not (other.worked and same_arguments and len(failed.exact) > len(failed.call.tool) + 8):
        return None
    change = Change(path="(tool)", before=failed.call.tool, after=other.call.tool)
    return Pair(failed=failed, worked=other, tie=Tie.SAME, changes=(change,))


def _asked_first(failed: Tried, item: Tried) -> bool:
    """The error asked for something to be done first, and this call is on the same thing (a file to be read)."""
    if failed.fault is None or not _FIRST.search(failed.fault.text[:2_000]):
        return False
    texts = {value for value in leaf_map(failed.call.arguments).values() if isinstance(value, str) and len(value) >= 4}
    return any(value in texts for value in leaf_map(item.call.arguments).values() if isinstance(value, str))


def _steps(tried: Sequence[Tried], failed: Tried, worked: Tried) -> Iterator[Tried]:
    """What was done between the two that can have made the difference: calls that worked and may change things."""
    for item in tried[failed.index + 1 : worked.index]:
        call = item.call
        if not call.made or item.failed or item.exact == failed.exact:
            continue
        changing = may_change(call.tool, call.arguments) and kind_of(call.tool, call.arguments) is not Kind.READ
        if changing or _asked_first(failed, item):
            yield item
