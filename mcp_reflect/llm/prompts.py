"""Prompt templates: shipped files, a person's overrides of them by name, and their rendering.

A template has front matter, a fixed system part and a user part with `$name` places:

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

An override is read again when its file changes, so that a running server uses an edit in its next call. Where an
override is broken, its error names file and line, and the shipped template serves.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from stat import S_ISREG
from typing import Any

from mcp_reflect.errors import MissingInputError, PromptError
from mcp_reflect.models.common import Json
from mcp_reflect.security.fencing import DATA_RULE, fence, seal

NONE = "(none given)"
"""The text in the place of an input that is None or empty."""

SIZE_LIMIT = 200_000
"""Bytes of a template file."""

Input = str | int | float | None
"""A value for a place: text is fenced as data; numbers and enum members stand as they are."""

USER_MARK = "---user---"
_ROLES = "reflector, critic, corrector, planner, evaluator, dreamer, host"
_KEYS = "name, version, role, inputs, output, token_limit"
_RULES = {
    "name": (r"[a-z][a-z0-9_]*", "Use lower-case letters, digits and underscores."),
    "version": (r"0*[1-9][0-9]{0,6}", "Write a whole number above 0."),
    "role": ("|".join(_ROLES.split(", ")), f"The roles are {_ROLES}."),
    "inputs": (r"(?:[a-z][a-z0-9_]*(?:\s*,\s*|$))*", "Separate plain names with commas."),
    "token_limit": (r"0*[1-9][0-9]{0,6}", "Write a whole number above 0."),
}
_PAIR = re.compile(r"(?P<key>[A-Za-z_]+)\s*:(?:\s+(?P<value>.*))?$")
_PLACE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<braced>[a-z][a-z0-9_]*)\}|(?P<name>[a-z][a-z0-9_]*)|(?P<bad>))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A template that has been checked. `output` is the shape of the reply, None for plain text.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A prompt as it is sent. `system` is the same for every call of a version; `output` is None for plain text.

    `problem` says why an override was passed over; the caller logs it.
    """

    name: str
    version: int
    role: str
    system: str
    user: str
    output: Mapping[str, Json] | None
    token_limit: int
    overridden: bool
    problem: PromptError | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """The template that serves under a name, its file, and the error of an override."""

    template: Template
    path: Path
    overridden: bool
    problem: PromptError | None = None


def described(loaded: Loaded) -> dict[str, Json]:
    """Return a template as JSON: its front matter, its file, and its text."""
    template = loaded.template
    values: dict[str, Any] = {
        name: getattr(template, name) for name in ("name", "version", "role", "token_limit", "text")
    }
    return {
        **values,
        "inputs": list(template.inputs),
        "output": "text" if template.output is None else dict(template.output),
        "overridden": loaded.overridden,
        "file": str(loaded.path),
        "problem": None if loaded.problem is None else str(loaded.problem),
    }


def shipped_folder() -> Path:
    """Return the folder of the shipped templates: inside the package in a wheel, beside it in a checkout."""
    here = Path(__file__).parents[1]
    inside = here / "_prompts"
    return inside if inside.is_dir() else here.parent / "prompts"


@dataclass
class Prompts:
    """Templates by name. `overrides` is a person's folder, which may be missing or come later."""

    overrides: Path | None = None
    shipped: Path = field(default_factory=shipped_folder)
    _cache: dict[Path, tuple[tuple[int, int], Template | PromptError]] = field(
        default_factory=dict[Any, Any], repr=False
    )

    def names(self) -> list[str]:
        """Return the names of all shipped templates, sorted."""
        return sorted(path.stem for path in self.shipped.glob("*.md"))

    def load(self, name: str) -> Loaded:
        """Return the template that serves now; raises PromptError where a shipped one is missing or broken."""
        path = self.shipped / f"{name}.md"
        shipped = self._read(path, name) if name in self.names() else None
        if shipped is None:
            raise PromptError(str(path), 1, "there is no such prompt", f"The prompts are {', '.join(self.names())}.")
        if isinstance(shipped, PromptError):
            raise shipped
        own = self.overrides / f"{name}.md" if self.overrides else None
        override = self._read(own, name) if own else None
        if own is None or override is None:
            return Loaded(shipped, path, overridden=False)
        problem = override if isinstance(override, PromptError) else _misfit(override, shipped, own)
        if problem is None and isinstance(override, Template):
            return Loaded(override, own, overridden=True)
        return Loaded(shipped, path, overridden=False, problem=problem)

    def check(self) -> list[PromptError]:
        """Return the errors of the overrides; a file of another name and a missing folder are errors too."""
        names = self.names()
        problems = [loaded.problem for loaded in map(self.load, names) if loaded.problem]
        if self.overrides and not self.overrides.is_dir():
            fix = "Create it, or unset MCP_REFLECT_PROMPTS_DIR."
            problems.append(PromptError(str(self.overrides), 1, "there is no such folder", fix))
        others = (
            [path for path in sorted(self.overrides.glob("*.md")) if path.stem not in names] if self.overrides else []
        )
        fix = f"The prompts are {', '.join(names)}."
        return problems + [PromptError(str(path), 1, "overrides nothing", fix) for path in others]

    def render(self, name: str, **inputs: Input) -> Rendered:
        """Return the prompt with its places filled. Raises MissingInputError with every missing or unknown input.

        `inputs` are the shipped template's; an override may use fewer.
        """
        loaded = self.load(name)
        shipped = self._read(self.shipped / f"{name}.md", name)
        names = shipped.inputs if isinstance(shipped, Template) else ()
        missing = [input_ for input_ in names if input_ not in inputs]
        unknown = [input_ for input_ in inputs if input_ not in names]
        if missing or unknown:
            fault = f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}"
            raise MissingInputError(f"prompt {name}: inputs {fault}")
        template = loaded.template
        texts = _fenced({input_: inputs[input_] for input_ in template.inputs})
        return Rendered(
            name=name,
            version=template.version,
            role=template.role,
            system=_system_text(template),
            user=_PLACE.sub(lambda place: "$" if place["dollar"] else texts[_name(place)], template.user),
            output=template.output,
            token_limit=template.token_limit,
            overridden=loaded.overridden,
            problem=loaded.problem,
        )

    def _read(self, path: Path, name: str) -> Template | PromptError | None:
        """Return the template in a file, or its error; None where there is no file."""
        try:
            status = path.stat()
            if not S_ISREG(status.st_mode):  # reading a pipe would wait for a writer
                return PromptError(str(path), 1, "is not a regular file", "Replace it by one.")
            stamp = (status.st_mtime_ns, status.st_size)
            if self._cache.get(path, ((0, 0), None))[0] != stamp:
                self._cache[path] = (stamp, _parsed(path, name, status.st_size))
        except FileNotFoundError:
            return None
        except OSError as error:
            return PromptError(str(path), 1, f"cannot be read ({error.strerror})", "Make it a readable file.")
        return self._cache[path][1]


def _parsed(path: Path, name: str, size: int) -> Template | PromptError:
    if size > SIZE_LIMIT:
        return PromptError(str(path), 1, f"has {size:,} bytes, more than {SIZE_LIMIT:,}", "Shorten it.")
    try:
        template = _template(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return PromptError(str(path), line, "is not UTF-8 text", "Save it as UTF-8.")
    except PromptError as error:
        return error
    if template.name != name:
        return PromptError(str(path), 2, f"is named {template.name!r} inside", f"Write `name: {name}`.")
    return template


def _template(text: str, file: str) -> Template:
    """Return the template in a text; raises PromptError naming `file` and the line."""
    lines = text.removeprefix("\ufeff").splitlines()
    plain = [line.strip() for line in lines]
    if plain[:1] != ["---"]:
        raise PromptError(file, 1, "does not begin with front matter", "Put --- on the first line.")
    if "---" not in plain[1:]:
        raise PromptError(file, len(lines), "front matter has no end", "Put --- on a line of its own after it.")
    end = plain.index("---", 1)
    if USER_MARK not in plain[end:]:
        raise PromptError(file, len(lines), "has no user part", f"Put {USER_MARK} on a line before it.")
    mark = plain.index(USER_MARK, end)
    values, numbers = _front_matter(lines[:end], file)
    for key, (pattern, fix) in _RULES.items():
        if not re.fullmatch(pattern, values[key]):
            raise PromptError(file, numbers[key], f"{key} cannot be {values[key]!r}", fix)
    inputs = tuple(name.strip() for name in values["inputs"].split(",") if name.strip())
    output: dict[str, Json] | None = None
    if values["output"] != "text":
        with suppress(ValueError, RecursionError):
            output = json.loads(values["output"])
        if not isinstance(output, dict) or not output:
            fault = "output is not a JSON object with fields"
            raise PromptError(file, numbers["output"], fault, "Write an object, or `text`.")
    template = Template(
        name=values["name"],
        version=int(values["version"]),
        role=values["role"],
        inputs=inputs,
        output=output,
        token_limit=int(values["token_limit"]),
        system="\n".join(lines[end + 1 : mark]).strip(),
        user="\n".join(lines[mark + 1 :]).strip(),
        text=text,
    )
    _check_places(template, lines, mark, numbers["inputs"], file)
    return template


def _front_matter(lines: list[str], file: str) -> tuple[dict[str, str], dict[str, int]]:
    """Return the values and the line numbers of the keys; each key is known and there once."""
    values: dict[str, str] = {}
    numbers: dict[str, int] = {}
    last = ""
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        if line[0].isspace() and last:
            values[last] = f"{values[last]} {line.strip()}".strip()
            continue
        match = _PAIR.match(line)
        last = match["key"] if match else ""
        if match is None or last not in _KEYS.split(", "):
            fault = f"unknown key {last!r}" if match else "is not `key: value`"
            raise PromptError(file, number, fault, f"The keys are {_KEYS}.")
        if last in values:
            raise PromptError(file, number, f"{last!r} is there twice", "Keep one.")
        values[last], numbers[last] = (match["value"] or "").strip(), number
    if missing := [key for key in _KEYS.split(", ") if key not in values]:
        raise PromptError(file, 1, f"front matter lacks {', '.join(missing)}", f"The keys are {_KEYS}.")
    return values, numbers


def _name(place: re.Match[str]) -> str:
    return place["braced"] or place["name"]


def _check_places(template: Template, lines: list[str], mark: int, inputs_line: int, file: str) -> None:
    """Check that the places in the user part are the inputs, and that the system part has none."""
    if not template.user:
        raise PromptError(file, mark + 1, "the user part is empty", "Write the request, with its places.")
    places: set[str] = set()
    for number, line in enumerate(lines[mark + 1 :], mark + 2):
        for place in _PLACE.finditer(line):
            if place["bad"] is not None:
                raise PromptError(file, number, "a $ names no place", "Write $name for a place, $$ for a dollar sign.")
            places |= set() if place["dollar"] else {_name(place)}
    if differing := places ^ set(template.inputs):
        fault = f"only in the inputs or only as a place: {', '.join(sorted(differing))}"
        raise PromptError(file, inputs_line, fault, "Declared inputs must be the places used.")
    for place in _PLACE.finditer(template.system):
        if _name(place) in template.inputs:
            raise PromptError(file, mark + 1, f"${_name(place)} is in the system part", f"Move it below {USER_MARK}.")


def _misfit(override: Template, shipped: Template, path: Path) -> PromptError | None:
    """Return the error of an override that needs an unknown input or has another output; else None."""
    extra = [name for name in override.inputs if name not in shipped.inputs]
    if extra:
        key, fault = "inputs", f"wants inputs that are not there: {', '.join(extra)}"
        fix = f"The inputs are {', '.join(shipped.inputs)}."
    elif (override.output or {}).keys() != (shipped.output or {}).keys():
        key, fault = "output", "asks for another output"
        fix = f"The fields are {', '.join(shipped.output or {}) or 'none: `output: text`'}."
    else:
        return None
    lines = override.text.splitlines()
    line_number = next((number for number, line in enumerate(lines, 1) if line.startswith(f"{key}:")), 1)
    return PromptError(str(path), line_number, fault, fix)


def _system_text(template: Template) -> str:
    """Return the fixed part: the template's own, the rule about data, and the shape of the reply."""
    parts = [template.system, DATA_RULE]
    if template.output is not None:
        shape = json.dumps(template.output, ensure_ascii=False)
        parts.append(f"Reply with one JSON object of this shape and nothing else:\n{shape}")
    return "\n\n".join(part for part in parts if part)


def _fenced(inputs: Mapping[str, Input]) -> dict[str, str]:
    """Return the text for each place. All fences share one seal, which occurs in no content."""
    texts = {name: value for name, value in inputs.items() if isinstance(value, str) and not isinstance(value, Enum)}
    mark = seal(list(texts.values()))
    filled: dict[str, str] = {}
    for name, value in inputs.items():
        if value is None or value == "":
            filled[name] = NONE
        elif name in texts:
            filled[name] = fence(name, texts[name], mark)
        else:
            filled[name] = str(value.value if isinstance(value, Enum) else value)
    return filled
