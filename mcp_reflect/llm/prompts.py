"""Prompt templates: shipped files, a person's overrides by name, and their rendering.

A prompt template: front matter, a fixed system part and a user part with `$name` places.

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
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from stat import S_ISREG

from mcp_reflect.errors import MissingInputError, PromptError
from mcp_reflect.models.common import Json
from mcp_reflect.security.fencing import DATA_RULE, fence, seal

KEYS = ("name", "version", "role", "inputs", "output", "token_limit")
ROLES = ("reflector", "critic", "corrector", "planner", "evaluator", "dreamer", "host")
USER_MARK = "---user---"

_PAIR = re.compile(r"(?P<key>[A-Za-z_]+)\s*:(?:\s+(?P<value>.*))?$")
_PLACE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<braced>[a-z][a-z0-9_]*)\}|(?P<name>[a-z][a-z0-9_]*)|(?P<bad>))")
_INPUT = re.compile(r"[a-z][a-z0-9_]*")


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

    def fill(self, texts: Mapping[str, str]) -> str:
        """Return the user part with every place filled; `texts` has all of them."""

        def one(place: re.Match[str]) -> str:
            return "$" if place["dollar"] else texts[place["braced"] or place["name"]]

        return _PLACE.sub(one, self.user)


def parse_template(text: str, file: str) -> Template:
    """Return the template in a text; raises PromptError naming `file` and the line."""
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
    """Return each key's value and line; every key is known, there, and there once."""
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


# The prompt templates: shipped files, a person's overrides of them by name, and what is made of both.
#
# An override is read again when its file changes, so that a running server follows an edit on its next call. A broken
# one is refused by file and line, and the shipped one serves.


NONE = "(none given)"
"""The text in the place of an input that is None or empty."""

SIZE_LIMIT = 200_000
"""Bytes of a template file."""

Input = str | int | float | None
"""A value for a place: text is fenced as data; numbers and enum members stand as they are."""


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
    """The template that serves under a name, where it came from, and what was wrong with an override."""

    template: Template
    path: Path
    overridden: bool
    problem: PromptError | None = None


@dataclass(slots=True)
class _Cached:
    stamp: tuple[int, int]
    result: Template | PromptError


def described(loaded: Loaded) -> dict[str, Json]:
    """Return a template for whoever looks at it: its front matter, where it is, and its text."""
    template = loaded.template
    return {
        "name": template.name,
        "version": template.version,
        "role": template.role,
        "inputs": list(template.inputs),
        "output": "text" if template.output is None else dict(template.output),
        "token_limit": template.token_limit,
        "overridden": loaded.overridden,
        "file": str(loaded.path),
        "problem": None if loaded.problem is None else str(loaded.problem),
        "text": template.text,
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
    _cache: dict[Path, _Cached] = field(default_factory=dict[Path, _Cached], repr=False)

    def names(self) -> list[str]:
        """Return the names of all templates, sorted. An override of a name that is not shipped is none."""
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
        problem = override if isinstance(override, PromptError) else _unfit(override, shipped, own)
        if problem is None and isinstance(override, Template):
            return Loaded(override, own, overridden=True)
        return Loaded(shipped, path, overridden=False, problem=problem)

    def check(self) -> list[PromptError]:
        """Return the errors of the overrides; stray files and a missing folder are errors too."""
        problems = [loaded.problem for loaded in map(self.load, self.names()) if loaded.problem]
        known = self.names()
        if self.overrides and not self.overrides.is_dir():
            fix = "Make it, or take MCP_REFLECT_PROMPTS_DIR away."
            problems.append(PromptError(str(self.overrides), 1, "there is no such folder", fix))
        strays = sorted(self.overrides.glob("*.md")) if self.overrides else []
        fix = f"The prompts are {', '.join(known)}."
        return problems + [
            PromptError(str(path), 1, "overrides nothing", fix) for path in strays if path.stem not in known
        ]

    def render(self, name: str, **inputs: Input) -> Rendered:
        """Return the prompt with its places filled. Raises MissingInputError with every missing or unknown input.

        `inputs` are the shipped template's; an override may use fewer.
        """
        loaded = self.load(name)
        shipped = self._read(self.shipped / f"{name}.md", name)
        wanted = shipped.inputs if isinstance(shipped, Template) else ()
        lacking = [one for one in wanted if one not in inputs]
        extra = [one for one in inputs if one not in wanted]
        if lacking or extra:
            said = [f"missing: {', '.join(lacking)}"] if lacking else []
            said += [f"unknown: {', '.join(extra)}"] if extra else []
            raise MissingInputError(f"prompt {name}: inputs {'; '.join(said)}")
        template = loaded.template
        return Rendered(
            name=name,
            version=template.version,
            role=template.role,
            system=system_text(template),
            user=template.fill(_fenced({one: inputs[one] for one in template.inputs})),
            output=template.output,
            token_limit=template.token_limit,
            overridden=loaded.overridden,
            problem=loaded.problem,
        )

    def _read(self, path: Path, name: str) -> Template | PromptError | None:
        """Return the template in a file, or what is wrong with it; None where there is no file."""
        try:
            status = path.stat()
            if not S_ISREG(status.st_mode):  # reading a pipe would wait for a writer
                return PromptError(str(path), 1, "is not a regular file", "Replace it by one.")
            stamp = (status.st_mtime_ns, status.st_size)
            cached = self._cache.get(path)
            if cached is None or cached.stamp != stamp:
                cached = self._cache[path] = _Cached(stamp, _parsed(path, name, status.st_size))
        except FileNotFoundError:
            return None
        except OSError as error:
            return PromptError(str(path), 1, f"cannot be read ({error.strerror})", "Make it a readable file.")
        return cached.result


def _parsed(path: Path, name: str, size: int) -> Template | PromptError:
    if size > SIZE_LIMIT:
        return PromptError(str(path), 1, f"has {size:,} bytes, more than {SIZE_LIMIT:,}", "Shorten it.")
    try:
        template = parse_template(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return PromptError(str(path), line, "is not UTF-8 text", "Save it as UTF-8.")
    except PromptError as error:
        return error
    if template.name != name:
        return PromptError(str(path), 2, f"is named {template.name!r} inside", f"Write `name: {name}`.")
    return template


def _unfit(override: Template, shipped: Template, path: Path) -> PromptError | None:
    """Return why a readable override cannot be used: it needs an unknown input, or has another output; else None."""
    extra = [name for name in override.inputs if name not in shipped.inputs]
    if extra:
        fix = f"The inputs are {', '.join(shipped.inputs)}."
        return PromptError(
            str(path), _line(path, "inputs"), f"wants inputs that are not there: {', '.join(extra)}", fix
        )
    if (override.output or {}).keys() != (shipped.output or {}).keys():
        fields = ", ".join(shipped.output or {}) or "none: `output: text`"
        return PromptError(str(path), _line(path, "output"), "asks for another output", f"The fields are {fields}.")
    return None


def _line(path: Path, key: str) -> int:
    """Return the line number of a key in a file that was parsed before."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return 1
    return next((number for number, line in enumerate(lines, 1) if line.startswith(f"{key}:")), 1)


def system_text(template: Template) -> str:
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
