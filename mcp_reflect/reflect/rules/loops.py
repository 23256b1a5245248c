"""Loops: the same call with the same answer again and again, or a cycle of two to four calls."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_reflect.models.run import ErrorCategory, Finding, FindingKind
from mcp_reflect.reflect.rules.tools import acts_on_screen, finishes
from mcp_reflect.reflect.rules.tried import Tried
from mcp_reflect.reflect.rules.words import names, times
from mcp_reflect.signature import steady

LONGEST_CYCLE = 4  # calls; what repeats with a longer period is a procedure as often as a loop
BARE_ANSWERS = frozenset({"", "ok", "okay", "done", "true", "success", "none", "null", "{}", "[]", "succeeded"})
BARE_REPEATS = 3  # an answer that carries nothing must come this often; any other twice
KEY_TEXT = 20_000  # characters of an answer that are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """`period` calls made `rounds` times over; `calls` are all of them."""

    period: int
    rounds: int
    calls: tuple[Tried, ...]


def loops_in(tried: Sequence[Tried]) -> list[Loop]:
    """The loops, in order, none overlapping another. A word from a person in between ends one."""
    keys = [_key(item) for item in tried]
    found: list[Loop] = []
    start = 0
    while start < len(keys):
        loop = _loop_at(tried, keys, start)
        if loop is None:
            start += 1
        else:
            found.append(loop)
            start += len(loop.calls)
    return found


def loop_finding(loop: Loop) -> Finding:
    """The loop in a sentence."""
    ids = tuple(item.call.event_id for item in loop.calls)
    if loop.period == 1:
        how = f"{times(loop.rounds)} in a row with the same answer"
        text = f"The same call was made {how} ({names(ids)}): {loop.calls[0].text}."
    else:
        steps = ", then ".join(item.text for item in loop.calls[: loop.period])
        how = f"{times(loop.rounds)} over with the same answers"
        text = f"The same {loop.period} calls were made {how} ({names(ids)}): {steps}."
    return Finding(kind=FindingKind.LOOP, event_ids=ids, text=text, category=ErrorCategory.LOOP)


def _loop_at(tried: Sequence[Tried], keys: Sequence[bytes | None], start: int) -> Loop | None:
    for period in range(1, LONGEST_CYCLE + 1):
        rounds = _rounds(keys, start, period)
        members = tuple(tried[start : start + period * rounds])
        if (
            rounds >= 2
            and (period == 1 or len(set(keys[start : start + period])) > 1)
            and _counts(members, period, rounds)
        ):
            return Loop(period=period, rounds=rounds, calls=members)
    return None


def _rounds(keys: Sequence[bytes | None], start: int, period: int) -> int:
    if start + 2 * period > len(keys):
        return 1
    same = 0
    while start + period + same < len(keys):
        key = keys[start + same]
        if key is None or key != keys[start + period + same]:
            break
        same += 1
    return 1 + same // period


def _counts(members: Sequence[Tried], period: int, rounds: int) -> bool:
    """Whether what repeats says something: bare acknowledgements must repeat more often, keys may repeat at will."""
    one_round = members[:period]
    if all(item.call.answer.strip().lower() in BARE_ANSWERS and not item.failed for item in one_round):
        return rounds >= BARE_REPEATS and not all(acts_on_screen(item.call.tool) for item in one_round)
    return True


def _key(item: Tried) -> bytes | None:
    """What must be equal for two calls to be the same: tool, arguments, answer, and what people had said."""
    call = item.call
    if not call.made or finishes(call.tool):
        return None
    answer = (call.error or call.answer)[:KEY_TEXT]
    if item.failed:  # the same error at another time of day is the same answer
        answer = steady(answer)
    joined = "\x1f".join((item.exact, str(call.answered), str(call.spoken), " ".join(answer.split())))
    return hashlib.sha256(joined.encode("utf-8", "replace")).digest()
