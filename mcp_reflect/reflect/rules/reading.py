"""A trace as the rules have read it: its calls, and what stands out among them."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_reflect.models.run import ErrorCategory, Outcome, Trace
from mcp_reflect.reflect.rules.categories import category_of
from mcp_reflect.reflect.rules.corrections import Pair, pairs_in
from mcp_reflect.reflect.rules.loops import Loop, loops_in
from mcp_reflect.reflect.rules.repeats import zero_runs
from mcp_reflect.reflect.rules.tried import Tried, tried_calls
from mcp_reflect.reflect.rules.words import clip


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`first` is the earliest failure, `mattered` the one that says most about the run; both null for none."""

    trace: Trace
    tried: Sequence[Tried]
    loops: Sequence[Loop]
    empties: Sequence[tuple[Tried, ...]]
    pairs: Sequence[Pair]
    first: Tried | None
    mattered: Tried | None

    @property
    def category(self) -> ErrorCategory | None:
        """The caller's word, else the error that mattered, a loop, an empty search; null where nothing was seen."""
        error, fault = self.trace.error, self.mattered.fault if self.mattered else None
        if error is not None and error.category is not None:
            return error.category
        if fault is not None and not fault.empty and fault.category is not ErrorCategory.UNKNOWN:
            return fault.category
        if self.loops:
            return ErrorCategory.LOOP
        if fault is not None:
            return fault.category
        if error is not None and error.message:
            return category_of(clip(error.message, 300), error.message)
        return ErrorCategory.TIMEOUT if self.trace.outcome is Outcome.TIMEOUT else None


def read(trace: Trace) -> Reading:
    """Read the calls of a trace, in one pass for each rule."""
    tried = tried_calls(trace)
    pairs = pairs_in(tried, succeeded=trace.outcome is Outcome.SUCCESS)
    failed = [item for item in tried if item.failed]
    return Reading(
        trace=trace,
        tried=tried,
        loops=loops_in(tried),
        empties=zero_runs(tried),
        pairs=pairs,
        first=_first(failed),
        mattered=_mattered(failed, pairs),
    )


def _first(failed: Sequence[Tried]) -> Tried | None:
    """The earliest error; where there is none, the earliest search that found nothing."""
    return next((item for item in failed if not _empty(item)), failed[0] if failed else None)


def _mattered(failed: Sequence[Tried], pairs: Sequence[Pair]) -> Tried | None:
    """The first error of a known kind not put right, else of any kind, else any error, else an empty search."""
    righted = {pair.failed.index for pair in pairs}
    left = [item for item in failed if item.index not in righted]
    errors = [item for item in left if not _empty(item)]
    known = [item for item in errors if item.fault is not None and item.fault.category is not ErrorCategory.UNKNOWN]
    first = _first(failed)
    if first is not None and not _empty(first) and not errors:
        return first
    return next(iter((*known, *errors, *left)), first)


def _empty(item: Tried) -> bool:
    return item.fault is not None and item.fault.empty
