"""What stands out among the calls of a run: failures, loops, searches without a result, and what worked later."""

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import Final

from mcp_reflect.models.run import Trace
from mcp_reflect.sessions.calls import CallWithAnswer, calls_of
from mcp_reflect.sessions.noticing import findings_in
from mcp_reflect.sessions.tools import finishes
from mcp_reflect.sessions.what_followed import HORIZON
from mcp_reflect.text.signature import with_placeholders

KEY_TEXT: Final = 20_000  # characters of an answer that are compared

# Answers that carry nothing: keys, clicks and writes are rightly made again and again.
_EMPTY_ANSWERS: Final = frozenset(
    {"", "ok", "okay", "done", "true", "success", "none", "null", "{}", "[]", "succeeded"}
)


class RunReading:
    """The calls of a trace (`tried`) and what stands out among them.

    | attribute      | what it has                                                                              |
    |----------------|------------------------------------------------------------------------------------------|
    | `failed`       | the calls that failed or found nothing                                                   |
    | `worked_later` | the call that worked in place of a failed one, by the index of the failed one            |
    | `problems`     | the failures in groups of one tool with one error                                        |
    | `loops`        | groups of the same call in a row                                                         |
    | `empties`      | groups of searches in a row that found nothing                                           |
    | `unanswered`   | the calls without an answer                                                              |
    | `first`        | the first error, else the first search that found nothing; None where nothing failed     |
    """

    def __init__(self, trace: Trace) -> None:
        """Read the calls off a trace."""
        self.trace = trace
        self.tried = calls_of(trace)
        self.worked_later = _worked_later(self.tried)
        self.failed = [item for item in self.tried if item.failed]
        self.problems = _problems(self.failed)
        self.loops = _loops(self.tried)
        self.empties = _empty_searches(self.tried, beside_errors=bool(self.problems))
        self.unanswered = [item for item in self.tried if item.is_call and not item.answered]
        errors = [item for item in self.failed if not item.empty]
        self.first: CallWithAnswer | None = next(iter(errors or self.failed), None)


def _worked_later(tried: Sequence[CallWithAnswer]) -> dict[int, CallWithAnswer]:
    """The call that then worked, by the index of the failed one: one that does the same, else the same call once more."""
    later: dict[int, CallWithAnswer] = {}
    for finding in findings_in(tried):
        if finding.failed and finding.worked:  # a finding numbers its calls from 1
            later[finding.failed.number - 1] = tried[finding.worked.number - 1]
    for item in tried:
        if item.failed and item.index not in later:
            again = _same_call_that_worked(tried, item)
            if again is not None:
                later[item.index] = again
    return later


def _same_call_that_worked(
    tried: Sequence[CallWithAnswer], failed: CallWithAnswer
) -> CallWithAnswer | None:
    """The same call where it worked soon after, None where it did not."""
    for later in tried[failed.index + 1 : failed.index + 1 + HORIZON]:
        if later.worked and later.exact == failed.exact:
            return later
    return None


def _problems(failed: Sequence[CallWithAnswer]) -> list[list[CallWithAnswer]]:
    """The failures in groups of one tool and one error, in the order in which each came first; no empty searches."""
    problems: dict[tuple[str, str], list[CallWithAnswer]] = {}
    for item in failed:
        if not item.empty:
            problems.setdefault((item.tool.lower(), item.fingerprint), []).append(item)
    return list(problems.values())


def _loops(tried: Sequence[CallWithAnswer]) -> list[list[CallWithAnswer]]:
    """The groups of two or more equal calls in a row with the same answer.

    Comparing answers takes time: it is done only for calls beside an equal call.
    """
    beside_equal: set[int] = set()
    for call, following in pairwise(tried):
        if call.exact == following.exact:
            beside_equal |= {call.index, following.index}

    def key(call: CallWithAnswer) -> object:
        """Return what calls in a loop share, None for a call that no equal one stands beside."""
        if call.index not in beside_equal:
            return None
        return _loop_key(call)

    groups = _stretches(tried, key)
    return [group for group in groups if len(group) > 1 and _tells_something(group[0])]


def _empty_searches(
    tried: Sequence[CallWithAnswer], *, beside_errors: bool
) -> list[list[CallWithAnswer]]:
    """The groups of searches in a row without a result; in a run with errors, a single one is left out.

    There the errors are the story, and one empty search is no cause.
    """
    searches = [item for item in tried if item.is_call and (item.empty or not item.failed)]
    groups = _stretches(searches, lambda search: search.empty or None)
    if not beside_errors:
        return groups
    return [group for group in groups if len(group) > 1]


def _stretches(
    calls: Sequence[CallWithAnswer], key: Callable[[CallWithAnswer], object]
) -> list[list[CallWithAnswer]]:
    """The groups of calls in a row that have the same key; calls whose key is None are in no group.

    The keys a, a, None, b give two groups: of the first two calls, and of the last one.
    """
    return [[*group] for value, group in groupby(calls, key) if value is not None]


def _tells_something(call: CallWithAnswer) -> bool:
    """True for a call whose answer carries something, so that the same one again is a loop."""
    return call.failed or call.answer.strip().lower() not in _EMPTY_ANSWERS


def _loop_key(item: CallWithAnswer) -> object:
    """What two equal calls share: tool, arguments, answer, and how much people had said. None for no real call."""
    if not item.is_call or finishes(item.tool):
        return None
    answer = (item.error or item.answer)[:KEY_TEXT]
    if item.failed:  # the same error at another time of day is the same answer
        answer = with_placeholders(answer)
    return (item.exact, item.answered, item.prompts_before, tuple(answer.split()))
