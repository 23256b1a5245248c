"""YAML by its structure alone: only faults that no YAML allows. Anything else stays unchecked."""

import re

from mcp_reflect.critique.checks.code.faults import Fault, is_partial

_KEY = re.compile(r"^(\s{0,200})(?:- {1,20}){0,10}([\w.\"'/-]{1,100}) {0,5}:(?: {1,80}(\S.*)|\s*)$")
_ITEM = re.compile(r"^(\s{0,200})- {1,20}(\S.*)$")
_BLOCK = re.compile(r"(?:^|[:\s-])[|>][+-]?\d?[+-]?\s*(?:#.*)?$")
_TOP = re.compile(r"^([A-Za-z_][\w.-]{0,100}):(?:\s|$)")
_TAB = re.compile(r"^ {0,200}\t")


def yaml_fault(body: str) -> Fault | bool | None:
    """A certain fault, None where none is found, True where the text is cut short or a template."""
    if not body.strip() or is_partial(body, dashes=True):
        return True
    lines = body.split("\n")
    return _flow_and_tabs(lines) or _twice(lines)


def _flow_and_tabs(lines: list[str]) -> Fault | None:
    block: int | None = None
    flow = _Flow()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        if block is not None and indent > block:
            continue
        block = None
        if flow.open:
            flow.read(line, number)
            continue
        if _TAB.match(line) and line.strip()[:1] not in "#]}":
            return Fault("a tab cannot indent", number)
        if _BLOCK.search(line) and not line.lstrip().startswith("#"):
            block = indent
            continue
        if (value := _value(line)) and value[0] in "[{\"'":
            flow.read(value, number)
    return Fault(f"{flow.what} is not closed", flow.since) if flow.open else None


def _value(line: str) -> str | None:
    if line.lstrip().startswith("#"):
        return None
    found = _KEY.match(line)
    if found:
        return found[3]
    item = _ITEM.match(line)
    return item[2] if item else None


class _Flow:
    """Brackets and quotes of a value that may run over lines."""

    def __init__(self) -> None:
        self.brackets: list[str] = []
        self.quote = ""
        self.since = 0

    @property
    def open(self) -> bool:
        return bool(self.brackets or self.quote)

    @property
    def what(self) -> str:
        return f"the quote {self.quote}" if self.quote else f"the bracket {self.brackets[-1]}"

    def read(self, text: str, number: int) -> None:
        """Follows one line; a closing bracket without an opening one is left to others to judge."""
        if not self.open:
            self.since = number
        skip = False
        for place, char in enumerate(text):
            if skip:
                skip = False
            elif self.quote:
                skip = char == "\\" and self.quote == '"'
                self.quote = "" if char == self.quote else self.quote
            elif char == "#" and (place == 0 or text[place - 1] in " \t"):
                return
            elif char in "\"'" and (place == 0 or text[place - 1] in " \t[{,:"):
                self.quote = char
            elif char in "[{":
                self.brackets.append(char)
            elif char in "]}" and self.brackets:
                self.brackets.pop()
            if not self.open:
                return


def _twice(lines: list[str]) -> Fault | None:
    """The same key twice at the top of one document."""
    seen: set[str] = set()
    block = False
    for number, line in enumerate(lines, start=1):
        if line.startswith("---"):
            seen = set()
        elif line[:1].isspace() and block:
            continue
        elif found := _TOP.match(line):
            if found[1] in seen:
                return Fault(f"the key {found[1]} stands twice", number)
            seen.add(found[1])
            block = bool(_BLOCK.search(line))
    return None
