"""Fenced Python and JSON that does not parse."""

import ast
import json
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from mcp_reflect.critique.work import Fence, Finding, Work, parts

_LONGEST: Final = 12_000
_DEEPEST: Final = 50
_MOST_READ: Final = 60_000
_LONGEST_STEP: Final = 200_000

# A snippet with these is cut short, a template, a diff, or a session: that it does not parse says nothing.
_PARTIAL: Final = re.compile(
    r"\.\.\.|…|\{\{|\{%|<[A-Za-z_][\w .-]{0,60}>|\[(?:[a-z]+ ){1,8}(?:code|here|omitted|goes here)\]|"
    r"^\s{0,80}(?:@@ |diff --git|\+\+\+ |--- a/)|^\+(?=\s|[^\s\d+-])|\bomitted\b|\byour[_ ]|\brest of\b",
    re.MULTILINE | re.IGNORECASE,
)
_JSON_NOTES: Final = re.compile(
    r"^\s{0,200}(?://|#|/\*)|\s//\s|,\s{0,20}//|,\s{0,20}#\s|\A\s{0,200}\"[^\"\n]{0,200}\"\s{0,20}:", re.MULTILINE
)
_SESSION: Final = re.compile(r"^\s{0,80}(?:>>>|\$ |%\w|!\w|In \[\d+\]|Traceback \(most|\?\w)", re.MULTILINE)
# Python 2, Pythons newer than the one we run on, pseudo-code, and pieces from the middle of something.
_FOREIGN: Final = (
    re.compile(
        r"^\s{0,200}(?:print\s+[^\s(=.,:]|print\s*>>|exec\s+[\"'\w]|raise \w+,|except [\w.]+, \w+:)|<>|"
        r"\bur?['\"].{0,200}`|\b0[0-7]{2,}\b|\bxrange\(",
        re.MULTILINE,
    ),
    re.compile(
        r"^\s{0,200}(?:type \w+.{0,200}=|(?:async )?def \w+\[|class \w+\[|except \w+, \w+|lazy )|"
        r"\b[rR]?[fFtT][rR]?[\"']",
        re.MULTILINE,
    ),
    re.compile(
        r"^\s{0,200}(?:function\b|end\b|begin\b|procedure\b|repeat\b|until\b|input:|output:|step \d|then\b)|"
        r"^\s{0,200}(?:[a-zA-Z]+,? ){4,30}[a-zA-Z]+[.:]?$|^\s{0,200}(?:for each|foreach)\b|\bend (?:if|for|while)\b|"
        r":=(?= )|←",
        re.MULTILINE | re.IGNORECASE,
    ),
    re.compile(r"\A\s*(?:elif\b|else\b|except\b|finally\b|case\b|\)|\]|\}|,|and\b|or\b)"),
    re.compile(r"(?:^@[^\n]{1,300}|:)\s*\Z", re.MULTILINE),
)
# Operators that a parser follows by calling itself: too many on one line are not worth its stack.
_CHAIN: Final = re.compile(r"(?:[-+~]\s?){60}|(?:\*\*){60}")
_NESTING: Final = re.compile(r"\b(?:lambda|not|await|else|if)\b")
_MOST_NESTED: Final = 40
# The line before a block that is meant to be wrong, unless it says that this is the repair.
_SHOWN_AS_WRONG: Final = re.compile(
    r"\b(?:does not|doesn't|do not|don't|won't|will not|cannot|can't) (?:parse|compile|work|run|write|use)|"
    r"\b(?:invalid|broken|wrong|incorrect|malformed|bad|faulty|syntax ?errors?|typo|mistake|buggy|original|"
    r"pseudo-?code|python 2|snippet|fragment|excerpt)\b|❌|✗",
    re.IGNORECASE,
)
_REPAIR: Final = re.compile(r"\b(?:fix|correct|repair|now\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a block does not parse. `line` counts from 1, None where the whole block is meant."""

    message: str
    line: int | None = None


def check_code(work: Work) -> Iterator[Finding]:
    """One finding for each closed block with a language that does not parse."""
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
            if part.closed and body.strip() and len(body) <= _LONGEST and not shown_as_wrong and not _too_deep(body):
                read = _READERS.get(part.language)
                if fault := read(body) if read else None:
                    claim = f"{part.language} block: {body.strip().split(chr(10), 1)[0][:80]}"
                    detail = f"line {fault.line}: {fault.message}" if fault.line else fault.message
                    expected = f"{part.language} that parses"
                    yield Finding(step=number, wrong=True, claim=claim, expected=expected, detail=detail)
            before = ""


def _too_deep(body: str) -> bool:
    """True if brackets nest deeper than a parser should be asked to go, quotes or not: one pass."""
    depth = 0
    for char in body:
        depth += (char in "([{") - (char in ")]}" and depth > 0)
        if depth > _DEEPEST:
            return True
    return False


def _json_fault(body: str) -> Fault | None:
    """Comments, several values in lines, and pieces of an object are not faults."""
    fault = _parsed_json(body)
    if fault is None or _PARTIAL.search(body) or _JSON_NOTES.search(body):
        return None
    lines = [line for line in body.split("\n") if line.strip()]
    return None if len(lines) > 1 and all(_parsed_json(line) is None for line in lines) else fault


def _parsed_json(body: str) -> Fault | None:
    try:
        json.loads(body)
    except json.JSONDecodeError as error:
        return Fault(error.msg, error.lineno)
    except (ValueError, RecursionError):
        return None
    return None


def _python_fault(body: str) -> Fault | None:
    nested = _CHAIN.search(body) or any(len(_NESTING.findall(line)) > _MOST_NESTED for line in body.split("\n"))
    if nested or _SESSION.search(body) or body[:1] in " \t":
        return None
    fault = _parsed_python(body)
    if fault is None or _PARTIAL.search(body) or any(pattern.search(body) for pattern in _FOREIGN):
        return None
    # Methods shown one after another, or a piece from the middle of a function.
    return fault if _parsed_python("if 1:\n" + textwrap.indent(body, "    ")) else None


def _parsed_python(body: str) -> Fault | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(body)
    except SyntaxError as error:
        return Fault(error.msg, error.lineno)
    except (ValueError, RecursionError, MemoryError):
        return None
    return None


_READERS: Final[dict[str, Callable[[str], Fault | None]]] = {
    **dict.fromkeys(("python", "py", "python3"), _python_fault),
    "json": _json_fault,
}
