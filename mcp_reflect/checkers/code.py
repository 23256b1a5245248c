"""Fenced code and data that does not parse, or in which a linter's rule finds a defect."""

import json
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.checkers.fences import parts
from mcp_reflect.checkers.lint import DEFECTS, SYNTAX, python_tree, syntax_error
from mcp_reflect.models.critique import Status

_LONGEST: Final = 12_000
_LONGEST_YAML: Final = 4_000  # its parser takes some 20 ms for these
_DEEPEST: Final = 50
_MOST_READ: Final = 60_000
_MOST_BLOCKS: Final = 60
_LONGEST_STEP: Final = 200_000
_NEAR: Final = 240


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a block does not parse. `line` counts from 1, None where the whole block is meant."""

    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """One closed fence: `language` in lower case, `body` without common indentation, the prose before it."""

    language: str
    body: str
    before: str


def blocks(step: str) -> list[Block]:
    """Return the closed, outermost fences that name a language, in order."""
    found: list[Block] = []
    before: list[str] = []
    for part in parts(step[:_LONGEST_STEP]):
        if isinstance(part, str):
            before = [*before, part][-3:]
            continue
        if part.closed and part.language and len(found) < _MOST_BLOCKS:
            found.append(Block(part.language, textwrap.dedent("\n".join(part.body)), "\n".join(before)[-_NEAR:]))
        before = []
    return found


# A snippet with these is cut short, a template, a diff, or a session: that it does not parse says nothing.
_PARTIAL: Final = re.compile(
    r"\.\.\.|…|\{\{|\{%|<[A-Za-z_][\w .-]{0,60}>|\[(?:[a-z]+ ){1,8}(?:code|here|omitted|goes here)\]|"
    r"^\s{0,80}(?:@@ |diff --git|\+\+\+ |--- a/)|^\+(?=\s|[^\s\d+-])|\bomitted\b|\byour[_ ]|\brest of\b",
    re.MULTILINE | re.IGNORECASE,
)


def _too_deep(body: str) -> bool:
    """True if brackets nest deeper than a parser should be asked to go, quotes or not: one pass."""
    depth = 0
    for char in body:
        if char in "([{":
            depth += 1
            if depth > _DEEPEST:
                return True
        elif char in ")]}":
            depth -= 1
    return False


# Each reader returns the fault, None where the text parses, True where it is partial or in another dialect.

_COMMENT: Final = re.compile(r"^\s{0,200}(?://|#|/\*)|\s//\s|,\s{0,20}//|,\s{0,20}#\s", re.MULTILINE)
_ENTRY: Final = re.compile(r"^\s{0,200}\"[^\"\n]{0,200}\"\s{0,20}:")


def _json_fault(body: str) -> Fault | bool | None:
    """Comments, several values in lines, and pieces of an object are no faults."""
    fault = _parsed_json(body)
    if fault is None:
        return None
    lines = [line for line in body.split("\n") if line.strip()]
    if _PARTIAL.search(body) or _COMMENT.search(body) or _ENTRY.match(body):
        return True
    return True if len(lines) > 1 and all(_parsed_json(line) is None for line in lines) else fault


def _parsed_json(body: str) -> Fault | None:
    try:
        json.loads(body)
    except json.JSONDecodeError as error:
        return Fault(error.msg, error.lineno)
    except (ValueError, RecursionError):
        return None
    return None


_MOST_DOTS: Final = 200  # the parser takes quadratic time over a dotted key


def _toml_fault(body: str) -> Fault | bool | None:
    if any(line.count(".") > _MOST_DOTS for line in body.split("\n")):
        return True
    try:
        tomllib.loads(body)
    except tomllib.TOMLDecodeError as error:
        if _PARTIAL.search(body):
            return True
        line = re.search(r"\(at line (\d+)", str(error))
        return Fault(str(error).split(" (at ")[0], int(line[1]) if line else None)
    except (ValueError, RecursionError):
        return True
    return None


def _yaml_fault(body: str) -> Fault | bool | None:
    """Tags of other programs are no faults."""
    from ruamel.yaml import YAML, YAMLError  # noqa: PLC0415 - it takes 60 ms to import
    from ruamel.yaml.constructor import ConstructorError, DuplicateKeyError  # noqa: PLC0415

    if len(body) > _LONGEST_YAML or _PARTIAL.search(body):
        return True
    reader: Any = YAML(typ="safe", pure=True)
    try:
        list(reader.load_all(body))
    except ConstructorError as error:
        return _yaml_message(error) if isinstance(error, DuplicateKeyError) else True
    except YAMLError as error:
        return _yaml_message(error)
    except (ValueError, RecursionError, TypeError):
        return True
    return None


def _yaml_message(error: Any) -> Fault:
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or "this is not YAML")
    return Fault(problem.partition(" with value")[0], mark.line + 1 if mark else None)


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


def _python_fault(body: str) -> Fault | bool | None:
    nested = _CHAIN.search(body) or any(len(_NESTING.findall(line)) > _MOST_NESTED for line in body.split("\n"))
    if nested or _SESSION.search(body) or body[:1] in " \t":
        return True
    fault = _parsed_python(body)
    if fault is None:
        return None
    if _PARTIAL.search(body) or any(pattern.search(body) for pattern in _FOREIGN):
        return True
    # Methods shown one after another, or a piece from the middle of a function.
    inner = _parsed_python("if 1:\n" + textwrap.indent(body, "    "))
    return True if inner is None else fault


def _parsed_python(body: str) -> Fault | None:
    try:
        python_tree(body)
    except SyntaxError as error:
        return Fault(error.msg, error.lineno)
    except (ValueError, RecursionError, MemoryError):
        return None
    return None


def _script_fault(language: str, body: str) -> Fault | bool | None:
    """That a script parses says little, so it does not pass as such."""
    wrong = None if _PARTIAL.search(body) or _SESSION.search(body) else syntax_error(language, body)
    return Fault(*wrong) if wrong else True


_READERS: Final[dict[str, Callable[[str], Fault | bool | None]]] = {
    **dict.fromkeys(("python", "py", "python3"), _python_fault),
    "json": _json_fault,
    "toml": _toml_fault,
    **dict.fromkeys(("yaml", "yml"), _yaml_fault),
    **{language: partial(_script_fault, language) for language in SYNTAX},
}

# The line before a block that is meant to be wrong, unless it says that this is the repair.
_SHOWN_AS_WRONG: Final = re.compile(
    r"\b(?:does not|doesn't|do not|don't|won't|will not|cannot|can't) (?:parse|compile|work|run|write|use)|"
    r"\b(?:invalid|"
    r"broken|wrong|incorrect|malformed|bad|faulty|syntax ?errors?|typo|mistake|buggy|original|pseudo-?code|python 2|"
    r"snippet|fragment|excerpt)\b|❌|✗",
    re.IGNORECASE,
)


class CodeChecker:
    """Blocks that parse pass as such, unless a linter's rule finds a defect; a defect or a syntax error fails."""

    name = "code"

    def check(self, work: Work) -> Iterator[Finding]:
        """One finding a block that can be judged."""
        left = _MOST_READ
        for number, step in enumerate(work.steps, start=1):
            for block in blocks(step) if "```" in step or "~~~" in step else ():
                left -= len(block.body)
                if left < 0:
                    return
                if block.body.strip() and len(block.body) <= _LONGEST and not _too_deep(block.body):
                    yield from _findings(number, block)


def _findings(number: int, block: Block) -> Iterator[Finding]:
    read, find_defects = _READERS.get(block.language), DEFECTS.get(block.language)
    claim = f"{block.language} block: {block.body.strip().split(chr(10), 1)[0][:80]}"
    fault = read(block.body) if read else True
    expected = f"{block.language} that parses"
    if not isinstance(fault, Fault) and find_defects and (defect := next(find_defects(block.body), None)):
        fault, expected = Fault(*defect), f"{block.language} without this defect"
    leading = block.before.strip().rsplit("\n", 1)[-1]
    shown_as_wrong = _SHOWN_AS_WRONG.search(leading) and not re.search(r"(?i)\b(?:fix|correct|repair|now\b)", leading)
    if isinstance(fault, Fault) and not shown_as_wrong:
        detail = f"line {fault.line}: {fault.message}" if fault.line else fault.message
        yield Finding(step=number, status=Status.FAIL, claim=claim, expected=expected, detail=detail)
    elif fault is None:
        yield Finding(step=number, status=Status.PASS, claim=claim, detail="it parses; what it does was not checked")
