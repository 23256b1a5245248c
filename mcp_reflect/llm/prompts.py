"""Prompt templates: shipped files, each of which a person's own file of the same name may override.

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

`output: text` asks for no JSON. A dollar sign is written `$$`. `name` and `inputs` may be there too, for the reader.

An override is read again when its file changes, so that a running server uses an edit in its next call. Where an
override is broken, its error names file and line, and the shipped template serves.
"""

import json
import re
import stat
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import NoReturn

from mcp_reflect.errors import PromptError
from mcp_reflect.models.common import Json, json_of
from mcp_reflect.security.clean import Clean
from mcp_reflect.security.injection import DATA_RULE, fence, seal

NONE = "(none given)"
"""The text in the place of an input that is None or empty."""

Input = Clean | int | float | None
"""A value for a place: text is fenced as data; numbers and enum members stand as they are."""

_USER_MARK = "---user---"
_PARTS = re.compile(
    rf"---[ \t]*\n(?P<front>.*?\n)---[ \t]*\n(?P<system>(?:.*?\n)?){_USER_MARK}[ \t]*(?:\n|\Z)(?P<user>.*)",
    re.DOTALL,
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


class _Places(string.Template):
    """A text with `$name` places."""

    idpattern = "[a-z][a-z0-9_]*"
    flags = re.NOFLAG


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A template that has been checked."""

    name: str
    version: int
    role: str
    inputs: tuple[str, ...]  # the names of the places in the user part, in their order
    output: Mapping[str, Json] | None  # the shape of the reply, None for plain text
    token_limit: int
    system: str
    user: str
    text: str  # the whole file, to be shown or copied
    file: str
    overridden: bool = False
    problem: PromptError | None = None  # why an override of it was passed over


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
    package = Path(__file__).parents[1]
    inside_package = package / "_prompts"
    if inside_package.is_dir():
        return inside_package
    return package.parent / "prompts"


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
        if name not in self.names():
            fix = f"The prompts are {', '.join(self.names())}."
            raise PromptError(str(self.shipped / name), 1, "there is no such prompt", fix)
        shipped = _template(self.shipped / f"{name}.md")
        if self.overrides is None:
            return shipped
        try:
            override = _template(self.overrides / f"{name}.md")
            _refuse_misfit(override, shipped)
        except FileNotFoundError:
            return shipped
        except PromptError as error:
            return replace(shipped, problem=error)
        return replace(override, overridden=True)

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
        """Return the prompt with its places filled. `inputs` has all that the shipped template names.

        An override may use fewer of them.
        """
        template = self.load(name)
        parts = [template.system, DATA_RULE]
        if template.output is not None:
            shape = json.dumps(template.output, ensure_ascii=False)
            parts.append(f"Reply with one JSON object of this shape and nothing else:\n{shape}")
        texts = _fenced({place: inputs[place] for place in template.inputs})
        system = "\n\n".join(filter(None, parts))
        return Rendered(template, system, _Places(template.user).substitute(texts))


def _template(path: Path) -> Template:
    """Return the template of a file, checked. FileNotFoundError where there is none, PromptError where it is broken."""
    file = str(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # reading a pipe would wait for a writer
            raise PromptError(file, 1, "is not a regular file", "Replace it by one.")
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        fault = f"cannot be read ({type(error).__name__})"
        raise PromptError(file, 1, fault, "Make it a readable file of UTF-8 text.") from None
    parts = _PARTS.fullmatch(text)
    if parts is None:
        fault = f"is not front matter between two lines of ---, a system part, a line {_USER_MARK}, and a user part"
        raise PromptError(
            file, 1, fault, f"Begin with what `mcp-reflect prompts show {path.stem}` prints."
        )
    values = _front_matter(parts["front"].splitlines(), file)
    first_line = text.count("\n", 0, parts.start("user")) + 1
    for number, line in enumerate(parts["user"].splitlines(), first_line):
        if not _Places(line).is_valid():
            raise PromptError(
                file, number, "a $ names no place", "Write $name for a place, $$ for a dollar sign."
            )
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
    """Return the values by key of the lines between the first two lines of `---`, so that they begin at line 2.

    PromptError for a key that is missing or not known, and for a value that cannot be used.
    """
    values: dict[str, str] = {}
    for number, line in enumerate(lines, 2):
        key, _, value = (part.strip() for part in line.partition(":"))
        if key not in {"name", "inputs", *_RULES}:
            raise PromptError(file, number, f"unknown key {key!r}", _KEYS)
        is_usable, fix = _RULES.get(key, (lambda _: True, ""))
        if not is_usable(value):
            raise PromptError(file, number, f"{key} cannot be {value!r}", fix)
        values[key] = value
    missing = [key for key in _RULES if key not in values]
    if missing:
        raise PromptError(file, 1, f"front matter lacks {', '.join(missing)}", _KEYS)
    return values


def _refuse_misfit(override: Template, shipped: Template) -> None:
    """Raise PromptError for an override that cannot serve in place of the shipped template.

    | the override                           | is refused since                         |
    |----------------------------------------|------------------------------------------|
    | has an input that is not shipped       | nobody gives it                          |
    | has an input in its system part        | that part is the same for all calls      |
    | asks for a reply with other fields     | code reads the fields of the shipped one |
    """
    unknown = set(override.inputs) - set(shipped.inputs)
    if unknown:
        name = min(unknown)
        fix = f"The inputs are {', '.join(shipped.inputs)}."
        _refuse_line(override, f"${name}", f"there is no input {name}", fix)
    misplaced = set(_Places(override.system).get_identifiers()) & set(shipped.inputs)
    if misplaced:
        name = min(misplaced)
        fix = f"Move it below {_USER_MARK}."
        _refuse_line(override, f"${name}", f"${name} is in the system part", fix)
    if (override.output or {}).keys() != (shipped.output or {}).keys():
        fields = ", ".join(shipped.output or {}) or "none: `output: text`"
        _refuse_line(override, "output:", "asks for another output", f"The fields are {fields}.")


def _refuse_line(override: Template, words: str, fault: str, fix: str) -> NoReturn:
    """Raise PromptError for the first line of an override with some words, else for its first line."""
    lines = override.text.splitlines()
    # A place may be written `${name}` as well as `$name`.
    numbers = [number for number, line in enumerate(lines, 1) if words in line.replace("{", "")]
    raise PromptError(override.file, numbers[0] if numbers else 1, fault, fix)


def _fenced(inputs: Mapping[str, Input]) -> dict[str, str]:
    """Return the text for each place.

    | the input             | its text                                              |
    |-----------------------|-------------------------------------------------------|
    | None, or empty        | "(none given)"                                        |
    | a text                | the text between fences, as data that gives no orders |
    | a member of an enum   | its value                                             |
    | a number              | the number                                            |

    All fences of a prompt share one seal, a word that occurs in no text, so that no text can close its own fence.
    """
    texts = {
        name: value
        for name, value in inputs.items()
        if isinstance(value, str) and not isinstance(value, Enum)
    }
    common_seal = seal(list(texts.values()))
    filled: dict[str, str] = {}
    for name, value in inputs.items():
        if value is None or value == "":
            filled[name] = NONE
        elif name in texts:
            filled[name] = fence(name, texts[name], common_seal)
        elif isinstance(value, Enum):
            filled[name] = str(value.value)
        else:
            filled[name] = str(value)
    return filled
