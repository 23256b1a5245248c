"""The rules that say "wrong" if they are certain, here on code, dates, and the component that ran."""

import ast
import json
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from itertools import chain
from typing import Final

from mcp_reflect.critique.arithmetic import check_arithmetic, check_conclusions, check_equations
from mcp_reflect.critique.runs import check_reports
from mcp_reflect.critique.work import Fence, Finding, Fix, Work, parts

_LONGEST: Final = 12_000
_MOST_READ: Final = 60_000
_LONGEST_STEP: Final = 200_000

# A snippet with these is cut short, a template, a diff, or a session: that it does not parse says nothing.
_PARTIAL: Final = re.compile(
    r"\.\.\.|…|\{\{|\{%|<[A-Za-z_][\w .-]{0,60}>|\[(?:[a-z]+ ){1,8}(?:code|here|omitted|goes here)\]|"
    r"^\s{0,80}(?:@@ |diff --git|\+\+\+ |--- a/|>>>|\$ |%\w|!\w|In \[\d+\]|Traceback \(most|\?\w)|^\+(?=\s|[^\s\d+-])|"
    r"\bomitted\b|\byour[_ ]|\brest of\b",
    re.MULTILINE | re.IGNORECASE,
)
_JSON_NOTES: Final = re.compile(
    r"^\s{0,200}(?://|#|/\*)|\s//\s|,\s{0,20}//|,\s{0,20}#\s|\A\s{0,200}\"[^\"\n]{0,200}\"\s{0,20}:",
    re.MULTILINE,
)
# Python 2, Pythons newer than the one we run on, pseudo-code, and pieces from the middle of something.
_FOREIGN: Final = re.compile(
    r"^\s{0,200}(?:print\s+[^\s(=.,:]|print\s*>>|exec\s+[\"'\w]|raise \w+,|except [\w.]+, \w+)|<>|`|\b0[0-7]{2,}\b|"
    r"\bxrange\(|^\s{0,200}(?:type \w+.{0,200}=|(?:async )?def \w+\[|class \w+\[|lazy )|\b[rR]?[fFtT][rR]?[\"']|"
    r"^\s{0,200}(?:function|end|begin|procedure|repeat|until|input:|output:|step \d|then|for each|foreach)\b|"
    r"^\s{0,200}(?:[a-zA-Z]+,? ){4,30}[a-zA-Z]+[.:]?$|\bend (?:if|for|while)\b|:=(?= )|←|"
    r"\A\s*(?:elif\b|else\b|except\b|finally\b|case\b|\)|\]|\}|,|and\b|or\b)|(?:^@[^\n]{1,300}|:)\s*\Z",
    re.MULTILINE,
)
# Signs that the parser of Python follows by calling itself: so many exhaust the stack of a small thread.
_SIGNS: Final = re.compile(r"(?:[-+~]\s?){60}")
# The line before a block that is meant to be wrong, unless it says that this is the repair.
_SHOWN_AS_WRONG: Final = re.compile(
    r"\b(?:does not|doesn't|do not|don't|won't|will not|cannot|can't) (?:parse|compile|work|run|write|use)|"
    r"\b(?:invalid|broken|wrong|incorrect|malformed|bad|faulty|syntax ?errors?|typo|mistake|buggy|original|"
    r"pseudo-?code|python 2|snippet|fragment|excerpt)\b|❌|✗",
    re.IGNORECASE,
)
_REPAIR: Final = re.compile(r"\b(?:fix|correct|repair|now\b)", re.IGNORECASE)


def check_code(work: Work) -> Iterator[Finding]:
    """One finding for each closed block of Python or JSON that does not parse."""
    left = _MOST_READ
    for number, step in enumerate(work.steps, start=1):
        before = ""
        for part in parts(step[:_LONGEST_STEP]) if "```" in step or "~~~" in step else ():
            if not isinstance(part, Fence):
                before = part.strip() or before
                continue
            body = textwrap.dedent("\n".join(part.body))
            left -= len(body)
            if left < 0:
                return
            shown_as_wrong = _SHOWN_AS_WRONG.search(before) and not _REPAIR.search(before)
            before = ""
            read = _READERS.get(part.language)
            if (
                read is None
                or not part.closed
                or not body.strip()
                or len(body) > _LONGEST
                or shown_as_wrong
            ):
                continue
            if (fault := read(body)) and not _PARTIAL.search(body):
                claim = f"{part.language} block: {body.strip().split(chr(10), 1)[0][:80]}"
                expected = f"{part.language} that parses"
                yield Finding(step=number, wrong=True, claim=claim, expected=expected, detail=fault)


def _json_fault(body: str) -> str | None:
    """Comments, several values in lines, and pieces of an object are not faults."""
    fault = _parsed(json.loads, body)
    if fault is None or _JSON_NOTES.search(body):
        return None
    lines = [line for line in body.split("\n") if line.strip()]
    return (
        None
        if len(lines) > 1 and all(_parsed(json.loads, line) is None for line in lines)
        else fault
    )


def _python_fault(body: str) -> str | None:
    if body[:1] in " \t" or _SIGNS.search(body):
        return None
    fault = _parsed(ast.parse, body)
    if fault is None or _FOREIGN.search(body):
        return None
    # Methods shown one after another, or a piece from the middle of a function.
    return fault if _parsed(ast.parse, "if 1:\n" + textwrap.indent(body, "    ")) else None


def _parsed(parse: Callable[[str], object], body: str) -> str | None:
    """Return why a text does not parse, None if it does or this is unknown."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parse(body)
    except (json.JSONDecodeError, SyntaxError) as error:
        return f"line {error.lineno}: {error.msg}" if error.lineno else error.msg
    except (ValueError, RecursionError, MemoryError):
        return None
    return None


_READERS: Final[dict[str, Callable[[str], str | None]]] = {
    **dict.fromkeys(("python", "py", "python3"), _python_fault),
    "json": _json_fault,
}


def check_execution(work: Work) -> Iterator[Finding]:
    """Yield one finding if a component ran that was not the one decided on, at the last step that mentions either.

    Names are the same where they differ only in case, blanks, hyphens, underscores, quotes, a call's brackets, or a
    server or module before them.
    """
    decided, executed = (work.decided or "").strip()[:1_000], (work.executed or "").strip()[:1_000]
    first, second = _names(decided), _names(executed)
    if not first or not second or "".join(first) == "".join(second):
        return
    if len(first) != len(second) and all(
        a == b for a, b in zip(reversed(first), reversed(second), strict=False)
    ):
        return
    names = (executed.lower(), decided.lower())
    steps = [
        n
        for n, step in enumerate(work.steps, 1)
        if any(name in step[:20_000].lower() for name in names)
    ]
    claim = f"decided on {decided[:100]}, ran {executed[:100]}"
    detail = "another component ran than was decided on"
    yield Finding(
        step=max(steps, default=1), wrong=True, claim=claim, expected=decided[:100], detail=detail
    )


def _names(name: str) -> list[str]:
    """The qualifiers and the name, letters and digits only; a sign between digits counts, so that 1.0 is not 10."""
    plain = re.sub(r"(?<=\d)[._-](?=\d)", "p", name.lower())
    parts = (
        "".join(char for char in part if char.isalnum()) for part in re.split(r"__|[.:/]", plain)
    )
    return [part for part in parts if part]


_LONGEST_READ: Final = 10_000  # characters of a step that are read

_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DATE: Final = (
    rf"(?:[12]\d{{3}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?{_MONTH},? [12]\d{{3}}|"
    rf"{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? [12]\d{{3}})(?![\w-])"
)
_DAY: Final = rf"(?:{'|'.join(_WEEKDAYS)}|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b)"
_IS: Final = r",? ?(?:is|was|will be|falls on|fell on|lands on|=|→|:)(?: on)?(?: an?)? "
_NOT_MEANT: Final = re.compile(
    r"\b(?:wrong|incorrect\w*|false|invalid|reject\w*|error|mistak\w+|suppose|if it were|raises?|bad|example|not|"
    r"instead of|rather than|bug|typo|working|business|week\s?days)\b",
    re.IGNORECASE,
)


def _date(text: str) -> date | None:
    """Return the day, None if the calendar has no such day. Dates without a year are not read."""
    words = re.findall(r"\d+|[A-Za-z]{3,}", text)
    form = (
        "%d %b %Y" if words[1][0].isalpha() else "%b %d %Y" if words[0][0].isalpha() else "%Y %m %d"
    )
    try:
        return datetime.strptime(  # noqa: DTZ007
            " ".join(word[:3] if word[0].isalpha() else word for word in words), form
        ).date()
    except ValueError:
        return None


_LAWS: Final = tuple(
    re.compile(rf"(?<![\w-]){pattern}", re.IGNORECASE)
    for pattern in (
        rf"(?P<date>{_DATE})(?:{_IS}| \()(?P<day>{_DAY})",
        rf"(?P<day>{_DAY}),?(?: the)? (?P<date>{_DATE})",
    )
)


def check_dates(work: Work) -> Iterator[Finding]:
    """Check what the calendar decides: days of the week, and that there is such a day."""
    for number, step in enumerate(work.steps, start=1):
        text = step[:_LONGEST_READ]
        for found in re.finditer(rf"(?<![\w-]){_DATE}", text):
            if _date(found[0]) is None and not _NOT_MEANT.search(
                text[max(0, found.start() - 60) : found.end() + 60]
            ):
                yield Finding(
                    step=number, wrong=True, claim=found[0], detail="there is no such day"
                )
        for found in chain.from_iterable(law.finditer(text) for law in _LAWS):
            day = _date(found["date"])
            near, behind = (
                text[max(0, found.start() - 40) : found.end() + 40],
                text[found.end() : found.end() + 4],
            )
            if day is None or _NOT_MEANT.search(near) or behind.startswith((" or ", "?")):
                continue
            right = _WEEKDAYS[day.weekday()]
            if right.startswith(found["day"].capitalize()[:3]):
                yield Finding(step=number, wrong=False, claim=found[0])
            else:
                fix = Fix(start=found.start("day"), end=found.end("day"), text=right)
                yield Finding(step=number, wrong=True, claim=found[0], expected=right, fix=fix)


Rule = Callable[[Work], Iterable[Finding]]
"""A pure function of the work. It says nothing of steps that it does not understand."""

RULES: Final[dict[str, Rule]] = {
    "reports": check_reports,
    "arithmetic": check_arithmetic,
    "equations": check_equations,
    "conclusions": check_conclusions,
    "dates": check_dates,
    "code": check_code,
    "execution": check_execution,
}


def check(work: Work) -> tuple[Finding, ...]:
    """Return what the rules find, by step."""
    findings = [finding for rule in RULES.values() for finding in rule(work)]
    return tuple(sorted(findings, key=lambda finding: finding.step))
