"""Bracket matching, step by step with a stack, and the brackets that close what is open."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_reflect.critique.checks.checker import Finding, Fix, Work
from mcp_reflect.records.verdict import Status

_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OPENERS = {closer: opener for opener, closer in _PAIRS.items()}
_BRACKETS = "()[]{}<>"
_RUN = re.compile(r"(?:[\[\](){}<>] ?){1,20000}")
_LONGEST = 20_000

_STEP = re.compile(
    r"^\s{0,20}([\[\](){}<>])\s{0,5};\s{0,5}stack:\s{0,5}((?:empty|[\[\](){}<> ]{1,20000})?)", re.IGNORECASE
)
_START = re.compile(r"^\s{0,20}stack:\s{0,5}(empty|[\[\](){}<> ]{0,20000})\s{0,20}$", re.IGNORECASE)
_FINAL = re.compile(r"\bfinal stack is (empty|\"?[\[\](){}<> \"]{1,20000})", re.IGNORECASE)
_POP = re.compile(r"\bpop out ([\[\](){}<>\" ,and]{1,20000}?)(?: one by one|\.|$)", re.IGNORECASE)
_NEED = re.compile(r"\b(?:we need|need to add) ([\[\](){}<>\" ,and]{1,20000}?)(?:\.|$)", re.IGNORECASE)
_ANSWER = re.compile(
    r"\b(?:the answer is|answer:|the closing sequence is):? ?\"?([\[\](){}<> ]{0,20000})\"?\.?\s{0,5}$", re.IGNORECASE
)


@dataclass(slots=True)
class _Track:
    """Where we are in the sequence, and what is open."""

    symbols: str
    place: int = 0
    stack: str = ""
    lost: bool = False


def check_brackets(work: Work) -> Iterator[Finding]:
    """Only where the goal is, or ends in, a sequence of brackets; every stated stack is held against the true one."""
    symbols = _sequence(work.goal)
    if not symbols:
        return
    track = _Track(symbols)
    whole = _stack_of(symbols)
    for number, step in enumerate(work.steps, start=1):
        finding = _symbol(number, step, track) or _ending(number, step, track, whole)
        if finding is not None:
            yield finding


def _sequence(goal: str) -> str:
    """The brackets of the last line that is nothing but brackets, or that follow "Input:"."""
    for line in reversed(goal[:_LONGEST].strip().split("\n")):
        text = line.rpartition("Input:")[2].strip()
        if len(text) > 1 and not text.strip(_BRACKETS + " "):
            return text.replace(" ", "")
    return ""


def _pushed(stack: str, symbol: str) -> str | None:
    """The stack after one symbol; None where it does not match."""
    if symbol in _PAIRS:
        return stack + symbol
    return stack[:-1] if stack and stack[-1] == _OPENERS[symbol] else None


def _stack_of(symbols: str) -> str | None:
    stack: str | None = ""
    for symbol in symbols:
        stack = _pushed(stack, symbol)
        if stack is None:
            return None
    return stack


def _symbol(number: int, step: str, track: _Track) -> Finding | None:
    if (found := _START.match(step)) and track.place == 0:
        return _compared(number, found, 1, "")
    found = _STEP.match(step)
    if found is None or track.lost:
        return None
    due = track.symbols[track.place : track.place + 1]
    after = _pushed(track.stack, due) if due else None
    if due != found[1] or after is None:
        track.lost = True
        detail = f"the next symbol is {due}" if due else "the sequence has ended"
        return Finding(step=number, status=Status.FAIL, claim=step.strip()[:200], expected=due or None, detail=detail)
    track.place += 1
    track.stack = after
    return _compared(number, found, 2, after)


def _compared(number: int, found: re.Match[str], group: int, true: str) -> Finding:
    claim = found[0].strip()[:200]
    if true == _plain(found[group]):
        return Finding(step=number, status=Status.PASS, claim=claim)
    shown = " ".join(true) or "empty"
    written = found[group].rstrip()
    start = found.start(group)
    return Finding(
        step=number,
        status=Status.FAIL,
        claim=claim,
        expected=f"stack: {shown}"[:400],
        detail="the stack differs",
        fix=Fix(start=start, end=start + len(written), text=shown),
    )


def _plain(text: str) -> str:
    return "".join(char for char in text if char in _BRACKETS)


def _ending(number: int, step: str, track: _Track, whole: str | None) -> Finding | None:
    """The final stack, what is popped, what is needed, the answer."""
    if whole is None or len(step) > _LONGEST:
        return None
    ending = "".join(_PAIRS[symbol] for symbol in reversed(whole))
    checked = False
    for pattern, true in ((_FINAL, whole), (_POP, whole[::-1]), (_NEED, ending), (_ANSWER, ending)):
        found = pattern.search(step)
        if found is None:
            continue
        checked = True
        said = _plain(found[1])
        if said != true and not (pattern is _ANSWER and said == track.symbols + ending):
            shown = " ".join(true) or "empty"
            return Finding(
                step=number,
                status=Status.FAIL,
                claim=found[0].strip()[:200],
                expected=shown[:400],
                detail="the brackets left open are others",
            )
    return Finding(step=number, status=Status.PASS, claim=step.strip()[:200]) if checked else None
