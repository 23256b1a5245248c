"""A prompt template: front matter, a fixed system part and a user part with `$name` places.

    ---
    name: critique
    version: 1
    role: critic
    inputs: goal, steps
    output: {"quality_score": "number"}
    token_limit: 1000
    ---
    What stays the same from call to call.
    ---user---
    Judge the work: $steps

A value may go on in indented lines. `output: text` asks for no JSON. A dollar sign is written `$$`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from mcp_reflect.errors import PromptError
from mcp_reflect.models.common import Json

KEYS = ("name", "version", "role", "inputs", "output", "token_limit")
ROLES = ("reflector", "critic", "corrector", "planner", "evaluator", "dreamer", "host")
USER_MARK = "---user---"

_PAIR = re.compile(r"(?P<key>[A-Za-z_]+)\s*:(?:\s+(?P<value>.*))?$")
_PLACE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<braced>[a-z][a-z0-9_]*)\}|(?P<name>[a-z][a-z0-9_]*)|(?P<bad>))")
_INPUT = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A template that has been checked. `output` is the shape of the reply, null for plain text.

    `text` is the whole file, to be shown or copied.
    """

    name: str
    version: int
    role: str
    inputs: tuple[str, ...]
    output: Mapping[str, Json] | None
    token_limit: int
    system: str
    user: str
    text: str

    def fill(self, texts: Mapping[str, str]) -> str:
        """The user part with every place filled; `texts` has all of them. What is filled in is not read again."""

        def one(place: re.Match[str]) -> str:
            return "$" if place["dollar"] else texts[place["braced"] or place["name"]]

        return _PLACE.sub(one, self.user)


def parse_template(text: str, file: str) -> Template:
    """The template in a text; raises PromptError naming `file` and the line."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        raise PromptError(file, 1, "does not begin with front matter", "Put --- on the first line.")
    end = next((place for place, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
    if end is None:
        raise PromptError(file, len(lines), "front matter has no end", "Put --- on a line of its own after it.")
    values = _front_matter(lines[:end], file)
    mark = next((place for place, line in enumerate(lines) if line.strip() == USER_MARK and place > end), None)
    if mark is None:
        raise PromptError(file, len(lines), "has no user part", f"Put {USER_MARK} on a line before it.")
    front = _Front(values, file)
    template = Template(
        name=front.word("name"),
        version=front.number("version"),
        role=front.role(),
        inputs=front.inputs(),
        output=front.output(),
        token_limit=front.number("token_limit"),
        system="\n".join(lines[end + 1 : mark]).strip(),
        user="\n".join(lines[mark + 1 :]).strip(),
        text=text,
    )
    _check_places(template, lines, mark, values["inputs"][1], file)
    if not template.user:
        raise PromptError(file, mark + 1, "the user part is empty", "Write what is asked, with its places.")
    return template


def _front_matter(lines: list[str], file: str) -> dict[str, tuple[str, int]]:
    """Each key's value and line; every key is known, there, and there once."""
    found: dict[str, tuple[str, int]] = {}
    last = ""
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        if line[0].isspace() and last:
            found[last] = (f"{found[last][0]} {line.strip()}".strip(), found[last][1])
            continue
        match = _PAIR.match(line)
        if match is None:
            raise PromptError(file, number, "is not `key: value`", f"The keys are {', '.join(KEYS)}.")
        last = match["key"]
        if last not in KEYS:
            raise PromptError(file, number, f"unknown key {last!r}", f"The keys are {', '.join(KEYS)}.")
        if last in found:
            raise PromptError(file, number, f"{last!r} is given twice", "Keep one.")
        found[last] = ((match["value"] or "").strip(), number)
    missing = [key for key in KEYS if key not in found]
    if missing:
        raise PromptError(file, 1, f"front matter lacks {', '.join(missing)}", f"The keys are {', '.join(KEYS)}.")
    return found


@dataclass(frozen=True, slots=True)
class _Front:
    """The values of a front matter, read by type."""

    values: Mapping[str, tuple[str, int]]
    file: str

    def fault(self, key: str, fault: str, fix: str) -> PromptError:
        return PromptError(self.file, self.values[key][1], fault, fix)

    def word(self, key: str) -> str:
        if not _INPUT.fullmatch(self.values[key][0]):
            raise self.fault(key, f"{key} is not a plain name", "Use lower-case letters, digits and underscores.")
        return self.values[key][0]

    def number(self, key: str) -> int:
        value = self.values[key][0]
        if not (value.isascii() and value.isdigit() and len(value) < 8 and int(value) > 0):
            raise self.fault(key, f"{key} is not a whole number above 0", f"Write, for example, `{key}: 1`.")
        return int(value)

    def role(self) -> str:
        if self.values["role"][0] not in ROLES:
            raise self.fault("role", f"unknown role {self.values['role'][0]!r}", f"The roles are {', '.join(ROLES)}.")
        return self.values["role"][0]

    def inputs(self) -> tuple[str, ...]:
        names = [name.strip() for name in self.values["inputs"][0].split(",") if name.strip()]
        bad = [name for name in names if not _INPUT.fullmatch(name) or names.count(name) > 1]
        if bad:
            raise self.fault("inputs", f"not plain names, or named twice: {', '.join(bad)}", "Part names with commas.")
        return tuple(names)

    def output(self) -> Mapping[str, Json] | None:
        value = self.values["output"][0]
        if value == "text":
            return None
        try:
            shape = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise self.fault("output", "output is not JSON", "Write an object on one line, or `text`.") from error
        if not isinstance(shape, dict) or not shape:
            raise self.fault("output", "output is not an object with fields", "Write an object, or `text`.")
        return shape  # type: ignore[return-value]


def _check_places(template: Template, lines: list[str], mark: int, declared_at: int, file: str) -> None:
    """Every place is declared, every input has a place, and the system part has none."""
    used: dict[str, int] = {}
    for number, line in enumerate(lines[mark + 1 :], mark + 2):
        for place in _PLACE.finditer(line):
            if place["bad"] is not None:
                raise PromptError(file, number, "a $ names no place", "Write $name for a place, $$ for a dollar sign.")
            if not place["dollar"]:
                used.setdefault(place["braced"] or place["name"], number)
    unknown = [name for name in used if name not in template.inputs]
    idle = [name for name in template.inputs if name not in used]
    if unknown or idle:
        said = [f"places without an input: {', '.join(unknown)}"] if unknown else []
        said += [f"inputs without a place: {', '.join(idle)}"] if idle else []
        line = used[unknown[0]] if unknown else declared_at
        raise PromptError(file, line, "; ".join(said), "Declared inputs must be the places used.")
    for name in template.inputs:
        if re.search(rf"\$(?:{name}\b|\{{{name}\}})", template.system):
            raise PromptError(file, mark + 1, f"${name} stands in the system part", f"Move it below {USER_MARK}.")
