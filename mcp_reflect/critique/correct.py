"""Put computed results in the place of wrong ones, and redo what was built on them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from mcp_reflect.critique.certain import check
from mcp_reflect.critique.numbers import NUMBER, read, write
from mcp_reflect.critique.work import Finding, Work

MAX_ROUNDS = 60  # corrections in one call; each is followed by a full check
MAX_CHECKED = 200_000  # characters that these checks may read; a long work has fewer rounds
MAX_CHARACTERS = 20_000  # per step: longer ones are left as they are

_MONEY = "$€£¥₹"


def correct(steps: Sequence[str], findings: Iterable[Finding], *, goal: str) -> tuple[str, ...]:
    """The steps with every computable correction made, the first wrong step first.

    A corrected value is put in wherever later text uses the old one, unless the old one also stands in
    the goal or before the mistake, where it may have another origin. After each correction the steps
    are checked again, and what then fails is corrected in turn.
    """
    current = tuple(steps)
    tried: set[tuple[int, int, str]] = set()
    pending = list(findings)
    for _ in range(min(MAX_ROUNDS, 1 + MAX_CHECKED // max(1, sum(map(len, steps))))):
        finding = _next(pending, tried)
        if finding is None or finding.fix is None:
            break
        tried.add((finding.step, finding.fix.start, finding.fix.text))
        corrected = _apply(current, finding, goal)
        if corrected == current:
            continue
        current = corrected
        pending = list(check(Work(goal=goal, steps=current)))
    return current


def _next(findings: Iterable[Finding], tried: set[tuple[int, int, str]]) -> Finding | None:
    """Return the earliest failure with a correction that was not made before, so that two cannot undo each other."""
    fixable = [
        (finding.step, fix.start, index, finding)
        for index, finding in enumerate(findings)
        if finding.wrong and (fix := finding.fix) and (finding.step, fix.start, fix.text) not in tried
    ]
    return min(fixable)[3] if fixable else None


def _apply(steps: tuple[str, ...], finding: Finding, goal: str) -> tuple[str, ...]:
    fix, index = finding.fix, finding.step - 1
    if fix is None or index >= len(steps) or len(steps[index]) > MAX_CHARACTERS:
        return steps
    step = steps[index]
    head, wrong, tail = step[: fix.start], step[fix.start : fix.end], step[fix.end :]
    old, new = _last_value(wrong), _last_value(fix.text)
    later = list(steps[index + 1 :])
    earlier = " ".join((goal, *steps[:index], head))
    if old is not None and new is not None and old not in {value for _, value, _ in _numbers(earlier)}:
        tail = _replace(tail, old, new)
        later = [_replace(text, old, new) if len(text) <= MAX_CHARACTERS else text for text in later]
    return (*steps[:index], head + fix.text + tail, *later)


def _last_value(text: str) -> Fraction | None:
    """The last number of a text with its sign: -1 in `(5 - 6) = -1`."""
    found = list(_numbers(text))
    return found[-1][1] if found else None


def _numbers(text: str) -> Iterator[tuple[re.Match[str], Fraction, int]]:
    """Each number with the value that it has with the sign glued to it, and where that begins."""
    for match in NUMBER.finditer(text[: 5 * MAX_CHARACTERS]):
        parsed, start = read(match[0]), match.start()
        at = start - 1 if start and text[start - 1] in _MONEY else start
        if parsed is None:
            continue
        # "= -1" and "5 -1" have a sign, "5-1" and "5 - 1" have an operator.
        if at and text[at - 1] in "-−" and not re.search(r"[\w)\]%]$", text[: at - 1]):
            yield match, -parsed[0], at - 1
        else:
            yield match, parsed[0], start


def _replace(text: str, old: Fraction, new: Fraction) -> str:
    parts: list[str] = []
    position = 0
    for match, value, start in _numbers(text):
        if value == old:
            money = match.start() > 0 and text[match.start() - 1] in _MONEY
            currency = text[match.start() - 1] if money and start < match.start() else ""
            sign = "-" if new < 0 else ""
            parts += [text[position:start], sign, currency, write(abs(new), match[0], money=money)]
            position = match.end()
    return "".join([*parts, text[position:]])
