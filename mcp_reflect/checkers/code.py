"""Fenced code and data that does not parse."""

import ast
import json
import re
import textwrap
import tomllib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.checkers.lint import DEFECTS, unused_imports
from mcp_reflect.models.critique import Status

LONGEST = 12_000
DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a block does not parse. `line` counts from 1, None where the whole block is meant."""

    message: str
    line: int | None = None


# A snippet with these is cut short, a template, a diff, or a session: that it does not parse says nothing.
_PARTIAL = re.compile(
    r"\.\.\.|…|\{\{|\{%|<[A-Za-z_][\w .-]{0,60}>|\[(?:[a-z]+ ){1,8}(?:code|here|omitted|goes here)\]|"
    r"^\s{0,80}(?:@@ |diff --git|\+\+\+ |--- a/)|\bomitted\b|\byour[_ ]|\brest of\b",
    re.MULTILINE | re.IGNORECASE,
)
_ADDED = re.compile(r"^\+(?=\s|[^\s\d+-])", re.MULTILINE)
_TAKEN = re.compile(r"^-(?=\s|[^\s\d+-])", re.MULTILINE)


def is_partial(body: str, *, dashes: bool = False) -> bool:
    """True if the text marks itself as incomplete, as a template or as a diff; `dashes` may begin lines in YAML."""
    if _PARTIAL.search(body) or _ADDED.search(body):
        return True
    return not dashes and bool(_TAKEN.search(body))


def too_deep(body: str) -> bool:
    """True if brackets nest deeper than a parser should be asked to go, quotes or not: one pass."""
    depth = 0
    for char in body:
        if char in "([{":
            depth += 1
            if depth > DEEPEST:
                return True
        elif char in ")]}":
            depth -= 1
    return False


_MOST_BLOCKS = 60
_LONGEST_STEP = 200_000
_NEAR = 240

_FENCE = re.compile(r"^([ \t]{0,40})(`{3,40}|~{3,40})[ \t]*(.{0,200})$")
_LANGUAGE = re.compile(r"^\{?\.?([A-Za-z][\w+#-]{0,30})")


@dataclass(frozen=True, slots=True)
class Block:
    """One closed fence: `language` in lower case, `body` without common indentation, the prose around it."""

    language: str
    body: str
    before: str
    after: str


def blocks(step: str) -> list[Block]:
    """The closed, outermost fences that name a language, in order; lines are looked at once."""
    found: list[Block] = []
    lines = step[:_LONGEST_STEP].split("\n")
    opened: tuple[int, str, str] | None = None
    for place, line in enumerate(lines):
        mark = _FENCE.match(line) if line.lstrip()[:3] in ("```", "~~~") else None
        if mark is None:
            continue
        if opened is None:
            named = _LANGUAGE.match(mark[3])
            opened = (place, mark[2], named[1].lower() if named else "")
        elif mark[2].startswith(opened[1]) and not mark[3].strip():
            if opened[2]:
                found.append(_block(lines, opened, place))
            opened = None
            if len(found) >= _MOST_BLOCKS:
                break
    return found


def _block(lines: list[str], opened: tuple[int, str, str], end: int) -> Block:
    start, _, language = opened
    return Block(
        language=language,
        body=textwrap.dedent("\n".join(lines[start + 1 : end])),
        before="\n".join(lines[max(0, start - 3) : start])[-_NEAR:],
        after="\n".join(lines[end + 1 : end + 3])[:_NEAR],
    )


_COMMENT = re.compile(r"^\s{0,200}(?://|#|/\*)|\s//\s|,\s{0,20}//|,\s{0,20}#\s", re.MULTILINE)
_ENTRY = re.compile(r"^\s{0,200}\"[^\"\n]{0,200}\"\s{0,20}:")


def json_fault(body: str) -> Fault | bool | None:
    """The fault, None where it parses, True for comments, several values in lines, and pieces of an object."""
    if not body.strip():
        return True
    fault = _json(body)
    if fault is None:
        return None
    if is_partial(body) or _COMMENT.search(body) or _ENTRY.match(body):
        return True
    lines = [line for line in body.split("\n") if line.strip()]
    if len(lines) > 1 and all(_json(line) is None for line in lines):
        return True
    return fault


def _json(body: str) -> Fault | None:
    try:
        json.loads(body)
    except json.JSONDecodeError as error:
        return Fault(error.msg, error.lineno)
    except (ValueError, RecursionError):
        return None
    return None


# TOML 1.1 lets an inline table run over lines; the parser at hand knows 1.0.
_LATER = re.compile(r"\{[^}\n]{0,500}$|\\[ex]|,\s{0,20}\}", re.MULTILINE)
# The parser takes quadratic time over a dotted key.
_MOST_DOTS = 200
_LINE = re.compile(r"\(at line (\d+)")


def toml_fault(body: str) -> Fault | bool | None:
    """The fault, None where it parses, True for pieces and for what a later TOML allows."""
    if not body.strip() or any(line.count(".") > _MOST_DOTS for line in body.split("\n")):
        return True
    try:
        tomllib.loads(body)
    except tomllib.TOMLDecodeError as error:
        if is_partial(body) or _LATER.search(body):
            return True
        line = _LINE.search(str(error))
        return Fault(str(error).split(" (at ")[0], int(line[1]) if line else None)
    except (ValueError, RecursionError):
        return True
    return None


_SESSION = re.compile(r"^\s{0,80}(?:>>>|\$ |%\w|!\w|In \[\d+\]|Traceback \(most|\?\w)", re.MULTILINE)
_PYTHON_2 = re.compile(
    r"^\s{0,200}(?:print\s+[^\s(=.,:]|print\s*>>|exec\s+[\"'\w]|raise \w+,|except [\w.]+, \w+:)|<>|"
    r"\bur?['\"].{0,200}`|\b0[0-7]{2,}\b|"
    r"\bxrange\(",
    re.MULTILINE,
)
# Valid in a Python newer than the one we run on: type aliases, generics, freer f-strings, template strings.
_NEWER = re.compile(
    r"^\s{0,200}(?:type \w+.{0,200}=|(?:async )?def \w+\[|class \w+\[|except \w+, \w+|lazy )|\b[rR]?[fFtT][rR]?[\"']",
    re.MULTILINE,
)
_FRAGMENT = re.compile(r"^(?:elif\b|else\b|except\b|finally\b|case\b|\)|\]|\}|,|and\b|or\b)")
_PSEUDO = re.compile(
    r"^\s{0,200}(?:function\b|end\b|begin\b|procedure\b|repeat\b|until\b|input:|output:|step \d|then\b)|"
    r"^\s{0,200}(?:[a-zA-Z]+,? ){4,30}[a-zA-Z]+[.:]?$|^\s{0,200}(?:for each|foreach)\b|\bend (?:if|for|while)\b|"
    r":=(?= )|←",
    re.MULTILINE | re.IGNORECASE,
)
_CHAIN = re.compile(r"(?:[-+~]\s?){60}|(?:\*\*){60}")
_NESTING = re.compile(r"\b(?:lambda|not|await|else|if)\b")
_MOST_NESTED = 40
_HEADER_ONLY = re.compile(r"(?:^@[^\n]{1,300}|:)\s*$")
_INDENTED_LATER = ("unexpected indent", "'return' outside", "'await' outside", "'yield' outside")


def python_fault(body: str) -> Fault | bool | None:
    """The syntax error, None where it parses, True where the text is none of our business."""
    if _SESSION.search(body) or _too_nested(body) or not body.strip() or body[:1] in " \t":
        return True
    fault = _parsed(body)
    if fault is None:
        return None
    if is_partial(body) or _is_foreign(body):
        return True
    # Methods shown one after another, or a piece from the middle of a function.
    if fault.message.startswith(_INDENTED_LATER) or _parsed("if 1:\n" + textwrap.indent(body, "    ")) is None:
        return True
    return fault


def _too_nested(body: str) -> bool:
    """Operators that a parser follows by calling itself: too many on one line are not worth its stack."""
    return bool(_CHAIN.search(body)) or any(len(_NESTING.findall(line)) > _MOST_NESTED for line in body.split("\n"))


def _is_foreign(body: str) -> bool:
    first = body.lstrip().split("\n", 1)[0]
    patterns = (_PYTHON_2, _NEWER, _PSEUDO)
    cut = _HEADER_ONLY.search(body.rstrip().rsplit("\n", 1)[-1])
    return bool(_FRAGMENT.match(first)) or bool(cut) or any(pattern.search(body) for pattern in patterns)


def _parsed(body: str) -> Fault | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(body)
    except SyntaxError as error:
        return Fault(error.msg, error.lineno)
    except (ValueError, RecursionError, MemoryError):
        return None
    return None


_ELSE = re.compile(
    r"\$\w{0,30}\$|\\['\"]|^\s{0,20}(?:sqlite>|mysql>|\w+[=#-]>|\w+=#)|^\s{0,20}(?:delimiter|copy|\\\w)\b",
    re.MULTILINE | re.IGNORECASE,
)
_TOKEN = re.compile(r"--[^\n]*|/\*.*?\*/|/\*|'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|\(|\)|'|\"|`", re.DOTALL)


def sql_fault(body: str) -> Fault | bool | None:
    """A bracket or quote that does not match, None where all do, True for sessions and dollar quotes."""
    if not body.strip() or is_partial(body):
        return True
    if _ELSE.search(body):
        return None
    depth = 0
    for found in _TOKEN.finditer(body):
        text = found[0]
        if text in {"'", '"', "`", "/*"}:
            return Fault(f"{text} is not closed", _line(body, found))
        depth += (text == "(") - (text == ")")
        if depth < 0:
            return Fault("a closing bracket without an opening one", _line(body, found))
    return Fault(f"{depth} opening bracket{'s' if depth > 1 else ''} not closed") if depth else None


def _line(body: str, found: re.Match[str]) -> int:
    return body.count("\n", 0, found.start()) + 1


_KEY = re.compile(r"^([\w.\"'/-]{1,100}) {0,5}:(?: {1,80}(\S.*)|\s*)$")
_BLOCK = re.compile(r"(?:^|[:\s-])[|>][+-]?\d?[+-]?\s*(?:#.*)?$")
_TAB = re.compile(r"^ {0,200}\t")


def yaml_fault(body: str) -> Fault | bool | None:
    """A certain fault, None where none is found, True where the text is cut short or a template."""
    if not body.strip() or is_partial(body, dashes=True):
        return True
    reader = _YamlReader()
    for number, line in enumerate(body.split("\n"), start=1):
        if line.strip() and (fault := reader.read(line, number)):
            return fault
    if not reader.flow:
        return None
    kind = "quote" if reader.flow[-1] in QUOTES else "bracket"
    return Fault(f"the {kind} {reader.flow[-1]} is not closed", reader.since)


class _YamlReader:
    """The columns of the open mappings with their keys, the open brackets and quote, and the column of a block."""

    def __init__(self) -> None:
        self.levels: list[tuple[int, set[str]]] = []
        self.flow: list[str] = []
        self.since = 0
        self.block = -1

    def read(self, line: str, number: int) -> Fault | None:
        """Follow one line that is not blank."""
        text, indent = line.strip(), len(line) - len(line.lstrip(" "))
        if self.flow:
            _follow(text, self.flow)
            return None
        if text.startswith("#") or 0 <= self.block < indent:
            return None
        self.block = -1
        if _TAB.match(line) and text[:1] not in "#]}":
            return Fault("a tab cannot indent", number)
        if text.startswith("---"):
            self.levels = []
            return None
        while text.startswith("- ") and text[2:].strip():  # an item opens a level at the column of its content
            self.levels = [level for level in self.levels if level[0] <= indent]
            indent += len(text) - len(text[2:].lstrip())
            text = text[2:].lstrip()
            self.levels = [level for level in self.levels if level[0] < indent]
        if _BLOCK.search(text):
            self.block = indent
        key = _KEY.match(text)
        value = key[2] if key else text
        if value and value[0] in "[{\"'" and self.block < 0:
            self.since = number
            _follow(value, self.flow)
        return _placed(key[1], indent, self.levels, number) if key else None


QUOTES = "\"'"


def _placed(key: str, indent: int, levels: list[tuple[int, set[str]]], number: int) -> Fault | None:
    """Put a key into the mapping at its column; a fault where no mapping is open there or it stands twice."""
    closed = [levels.pop() for _ in range(sum(level[0] > indent for level in levels))]
    if not levels or levels[-1][0] < indent:
        if closed:
            return Fault(f"{key} is indented like no line before it", number)
        levels.append((indent, set()))
    keys = levels[-1][1]
    if key in keys and key != "<<":
        return Fault(f"the key {key} stands twice", number)
    keys.add(key)
    return None


def _follow(text: str, flow: list[str]) -> None:
    """Follow brackets and quotes of a value that may run over lines; stop where all are closed."""
    skip = False
    for place, char in enumerate(text):
        quote = flow[-1] if flow and flow[-1] in QUOTES else ""
        if skip:
            skip = False
        elif quote:
            skip = char == "\\" and quote == '"'
            if char == quote:
                flow.pop()
        elif char == "#" and (place == 0 or text[place - 1] in " \t"):
            return
        elif char in "[{" or (char in QUOTES and (place == 0 or text[place - 1] in " \t[{,:")):
            flow.append(char)
        elif char in "]}" and flow:
            flow.pop()
        if not flow:
            return


Reader = Callable[[str], Fault | bool | None]

_READERS: dict[str, Reader] = {
    **dict.fromkeys(("python", "py", "python3"), python_fault),
    "json": json_fault,
    "toml": toml_fault,
    **dict.fromkeys(("yaml", "yml"), yaml_fault),
    **dict.fromkeys(("sql", "postgresql", "mysql", "sqlite"), sql_fault),
}
_MOST_READ = 60_000
# No parser stands behind these: sound brackets and quotes are not yet a pass.
_STRUCTURE_ONLY = (yaml_fault, sql_fault)

# The line before a block that is meant to be wrong, unless it says that this is the repair.
_SHOWN_AS_WRONG = re.compile(
    r"\b(?:does not|doesn't|do not|don't|won't|will not|cannot|can't) (?:parse|compile|work|run|write|use)|"
    r"\b(?:invalid|broken|"
    r"wrong|incorrect|malformed|bad|faulty|syntax ?errors?|typo|mistake|buggy|original|pseudo-?code|python 2|"
    r"snippet|fragment|"
    r"excerpt)\b|❌|✗",
    re.IGNORECASE,
)
_REPAIR = re.compile(r"\b(?:fix(?:ed|es)?|correct(?:ed|ion)?|repaired|now)\b", re.IGNORECASE)
_WRONG_AFTER = re.compile(
    r"\bSyntaxError|\b(?:does not|doesn't|will not|won't) (?:parse|compile)|\binvalid\b", re.IGNORECASE
)


_IMPORTS_USED = re.compile(
    r"\b(?:every|all(?: the)?|each) imports? (?:is|are) used|\bno unused imports?", re.IGNORECASE
)


class CodeChecker:
    """Blocks that parse pass as such, unless a linter's rule finds a defect; a defect or a syntax error fails."""

    name = "code"

    def check(self, work: Work) -> Iterator[Finding]:
        """One finding a block that can be judged, and one for an import said to be used that is not."""
        left = _MOST_READ
        for number, step in enumerate(work.steps, start=1):
            if "```" not in step and "~~~" not in step:
                continue
            for block in blocks(step):
                left -= len(block.body)
                if left < 0:
                    return
                if len(block.body) <= LONGEST and not too_deep(block.body):
                    yield from _findings(number, block)
                    yield from _imports(number, step, block)


def _findings(number: int, block: Block) -> Iterator[Finding]:
    read, find_defects = _READERS.get(block.language), DEFECTS.get(block.language)
    claim = f"{block.language} block: {block.body.strip().split(chr(10), 1)[0][:80]}"
    fault = read(block.body) if read else None
    defect = next(find_defects(block.body), None) if find_defects and not isinstance(fault, Fault) else None
    if (isinstance(fault, Fault) or defect) and not _meant_wrong(block):
        message, line = (fault.message, fault.line) if isinstance(fault, Fault) else defect or ("", None)
        expected = (
            f"{block.language} that parses" if isinstance(fault, Fault) else f"{block.language} without this defect"
        )
        where = f"line {line}: " if line else ""
        yield Finding(step=number, status=Status.FAIL, claim=claim, expected=expected, detail=where + message)
    elif read and fault is None and read in _STRUCTURE_ONLY:
        detail = "only brackets and quotes were checked"
        yield Finding(step=number, status=Status.UNCHECKED, claim=claim, detail=detail)
    elif read and fault is None:
        yield Finding(step=number, status=Status.PASS, claim=claim, detail="it parses; what it does was not checked")


def _imports(number: int, step: str, block: Block) -> Iterator[Finding]:
    said = _IMPORTS_USED.search(step)
    if said and block.language in {"python", "py", "python3"} and (names := unused_imports(block.body)):
        detail = "F401: imported and never used"
        yield Finding(
            step=number, status=Status.FAIL, claim=said[0], expected=f"unused: {', '.join(names)}", detail=detail
        )


def _meant_wrong(block: Block) -> bool:
    leading = block.before.strip().rsplit("\n", 1)[-1]
    if _SHOWN_AS_WRONG.search(leading) and not _REPAIR.search(leading):
        return True
    return bool(_WRONG_AFTER.search(block.after))
