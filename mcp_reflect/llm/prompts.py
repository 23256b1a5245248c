"""Prompt templates: shipped files, a person's overrides of them by name, and their rendering.

A template has front matter, a fixed system part and a user part with `$name` places:

    ---
    version: 1
    role: critic
    output: {"quality_score": "number"}
    token_limit: 1000
    ---
    What stays the same from call to call.
    ---user---
    Judge the work: $steps

A value may go on in indented lines. `output: text` asks for no JSON. A dollar sign is written `$$`. `name` and `inputs`
may be there too, for the reader.

An override is read again when its file changes, so that a running server uses an edit in its next call. Where an
override is broken, its error names file and line, and the shipped template serves.
"""

import json
import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from mcp_reflect.errors import PromptError
from mcp_reflect.models.common import Json, json_of
from mcp_reflect.security.injection import DATA_RULE, fence, seal

NONE = "(none given)"
"""The text in the place of an input that is None or empty."""

Input = str | int | float | None
"""A value for a place: text is fenced as data; numbers and enum members stand as they are."""

_USER_MARK = "---user---"
_PARTS = re.compile(
    rf"---[ \t]*\n(?P<front>.*?\n)---[ \t]*\n(?P<system>(?:.*?\n)?){_USER_MARK}[ \t]*(?:\n|\Z)(?P<user>.*)", re.DOTALL
)


_ROLES = ("reflector", "critic", "corrector", "planner", "evaluator", "dreamer", "host")
_IS_NUMBER = re.compile(r"0*[1-9][0-9]{0,6}").fullmatch
_RULES: Mapping[str, tuple[Callable[[str], object], str]] = {
    "version": (_IS_NUMBER, "Write a whole number above 0."),
    "role": (_ROLES.__contains__, f"The roles are {', '.join(_ROLES)}."),
    "output": (
        lambda text: text == "text" or isinstance(json_of(text), dict),
        "Write a JSON object with fields, or `text`.",
    ),
    "token_limit": (_IS_NUMBER, "Write a whole number above 0."),
}
"""Each key that the front matter must have, with a check of its value and the advice for a wrong one."""

_KEYS = f"The keys are name, inputs, {', '.join(_RULES)}."
_PAIR = re.compile(r"([A-Za-z_]+)\s*:(?:\s+(.*))?$")


class _Places(string.Template):
    """A text with `$name` places."""

    idpattern = "[a-z][a-z0-9_]*"
    flags = re.NOFLAG


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A template that has been checked. `output` is the shape of the reply, None for plain text.

    `inputs` are the places of the user part, in their order. `text` is the whole file, to be shown or copied. `problem`
    says why an override of it was passed over.
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
    file: str
    overridden: bool = False
    problem: PromptError | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt as it is sent, and its template. `system` is the same for every call of a version."""

    template: Template
    system: str
    user: str


def described(template: Template) -> dict[str, Json]:
    """Return a template as JSON: its front matter, its file, and its text."""
    as_they_are = ("name", "version", "role", "token_limit", "text", "overridden", "file")
    return {
        **{name: getattr(template, name) for name in as_they_are},
        "inputs": list(template.inputs),
        "output": "text" if template.output is None else dict(template.output),
        "problem": None if template.problem is None else str(template.problem),
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

    def names(self) -> list[str]:
        """Return the names of all shipped templates, sorted."""
        return sorted(path.stem for path in self.shipped.glob("*.md"))

    def load(self, name: str) -> Template:
        """Return the template that serves now; raises PromptError where a shipped one is missing or broken."""
        shipped = self._shipped(name)
        override = self._read(self.overrides / f"{name}.md") if self.overrides else None
        if isinstance(override, Template):
            problem = _misfit(override, shipped)
            return replace(shipped, problem=problem) if problem else replace(override, overridden=True)
        return replace(shipped, problem=override)

    def check(self) -> list[PromptError]:
        """Return the errors of the overrides; a file of another name and a missing folder are errors too."""
        names = self.names()
        problems = [template.problem for template in map(self.load, names) if template.problem]
        if self.overrides is None:
            return problems
        if not self.overrides.is_dir():
            fix = "Create it, or unset MCP_REFLECT_PROMPTS_DIR."
            problems.append(PromptError(str(self.overrides), 1, "there is no such folder", fix))
        others = [path for path in sorted(self.overrides.glob("*.md")) if path.stem not in names]
        fix = f"The prompts are {', '.join(names)}."
        return problems + [PromptError(str(path), 1, "overrides nothing", fix) for path in others]

    def render(self, name: str, **inputs: Input) -> Rendered:
        """Return the prompt with its places filled. `inputs` are the shipped template's; an override may use fewer."""
        template = self.load(name)
        parts = [template.system, DATA_RULE]
        if template.output is not None:
            shape = json.dumps(template.output, ensure_ascii=False)
            parts.append(f"Reply with one JSON object of this shape and nothing else:\n{shape}")
        texts = _fenced({input_: inputs[input_] for input_ in template.inputs})
        return Rendered(template, "\n\n".join(filter(None, parts)), _Places(template.user).substitute(texts))

    def _shipped(self, name: str) -> Template:
        path = self.shipped / f"{name}.md"
        template = self._read(path) if name in self.names() else None
        if template is None:
            raise PromptError(str(path), 1, "there is no such prompt", f"The prompts are {', '.join(self.names())}.")
        if isinstance(template, PromptError):
            raise template
        return template

    def _read(self, path: Path) -> Template | PromptError | None:
        """Return the template in a file, or its error; None where there is no file."""
        try:
            return _template(path) if path.exists() else None
        except PromptError as error:
            return error
        except OSError as error:
            return PromptError(str(path), 1, f"cannot be read ({error.strerror})", "Make it a readable file.")


def _template(path: Path) -> Template:
    file = str(path)
    if not path.is_file():  # reading a pipe would wait for a writer
        raise PromptError(file, 1, "is not a regular file", "Replace it by one.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise PromptError(file, line, "is not UTF-8 text", "Save it as UTF-8.") from None
    parts = _PARTS.fullmatch(text)
    if parts is None:
        fault = f"is not front matter between two lines of ---, a system part, a line {_USER_MARK}, and a user part"
        raise PromptError(file, 1, fault, f"Begin with what `mcp-reflect prompts show {path.stem}` prints.")
    values = _front_matter(parts["front"].splitlines(), file)
    for number, line in enumerate(parts["user"].splitlines(), text.count("\n", 0, parts.start("user")) + 1):
        if not _Places(line).is_valid():
            raise PromptError(file, number, "a $ names no place", "Write $name for a place, $$ for a dollar sign.")
    return Template(
        name=path.stem,
        version=int(values["version"]),
        role=values["role"],
        inputs=tuple(_Places(parts["user"]).get_identifiers()),
        output=None if values["output"] == "text" else json.loads(values["output"]),
        token_limit=int(values["token_limit"]),
        system=parts["system"].strip(),
        user=parts["user"].strip(),
        text=text,
        file=file,
    )


def _front_matter(lines: list[str], file: str) -> dict[str, str]:
    """Return the values of the keys; each key is known, there once, and has a usable value."""
    values: dict[str, str] = {}
    numbers: dict[str, int] = {}
    last = ""
    for number, line in enumerate(lines, 2):
        if line[:1].isspace() and last:
            values[last] = f"{values[last]} {line.strip()}".strip()
        elif line.strip():
            match = _PAIR.match(line)
            last = match[1] if match else ""
            if match is None or last not in {"name", "inputs", *_RULES}:
                raise PromptError(file, number, f"unknown key {last!r}" if match else "is not `key: value`", _KEYS)
            if last in values:
                raise PromptError(file, number, f"{last!r} is there twice", "Keep one.")
            values[last], numbers[last] = (match[2] or "").strip(), number
    if missing := [key for key in _RULES if key not in values]:
        raise PromptError(file, 1, f"front matter lacks {', '.join(missing)}", _KEYS)
    for key, (is_usable, fix) in _RULES.items():
        if not is_usable(values[key]):
            raise PromptError(file, numbers[key], f"{key} cannot be {values[key]!r}", fix)
    return values


def _misfit(override: Template, shipped: Template) -> PromptError | None:
    """Return the error of an override that needs an unknown input or has another output; else None."""
    lines = override.text.splitlines()
    fix = f"The inputs are {', '.join(shipped.inputs)}."
    if extra := set(override.inputs) - set(shipped.inputs):
        sought, fault = f"${min(extra)}", f"there is no input {min(extra)}"
    elif misplaced := set(_Places(override.system).get_identifiers()) & set(shipped.inputs):
        sought, fault = f"${min(misplaced)}", f"${min(misplaced)} is in the system part"
        fix = f"Move it below {_USER_MARK}."
    elif (override.output or {}).keys() != (shipped.output or {}).keys():
        sought, fault = "output:", "asks for another output"
        fix = f"The fields are {', '.join(shipped.output or {}) or 'none: `output: text`'}."
    else:
        return None
    number = next((number for number, line in enumerate(lines, 1) if sought in line.replace("{", "")), 1)
    return PromptError(override.file, number, fault, fix)


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
