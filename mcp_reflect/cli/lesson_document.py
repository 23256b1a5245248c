"""A lesson as Markdown: short fields as YAML on top, and a section for each text. `sync` and `$EDITOR` use it."""

import re
from collections.abc import Mapping
from io import StringIO
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Lesson

TEXTS: Final = ("mistake", "correction", "why", "context")
LISTS: Final = ("symptoms", "keywords", "tags")
FIELDS: Final = (*TEXTS, "task_type", "importance", *LISTS)
_HEADING: Final = re.compile(r"^## (.+?)[ \t]*$", re.MULTILINE)
_NEEDS_ESCAPE: Final = re.compile(r"^(\\*)## ", re.MULTILINE)
_ESCAPED: Final = re.compile(r"^\\(\\*## )", re.MULTILINE)

Fields = dict[str, Any]
"""The value of each name in FIELDS: a text or None, a list of texts, or the importance (0 to 1)."""


def fields_of(lesson: Lesson) -> Fields:
    """Return the fields of a lesson; its text stands for a mistake that it does not have."""
    fields: Fields = {name: getattr(lesson, name) for name in FIELDS}
    fields |= {name: list(fields[name]) for name in LISTS} | {"mistake": lesson.mistake or lesson.text}
    return fields | {name: (fields[name] or "").strip() or None for name in TEXTS}


def as_arguments(fields: Fields) -> Fields:
    """Return fields as an edit takes them: a tuple for a list."""
    return {name: tuple(value) if name in LISTS else value for name, value in fields.items()}


def format_document(fields: Fields, lesson_id: str | None = None, *, complete: bool = False) -> str:
    """Return the document of a lesson; a `complete` one also has the fields that are empty."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import

    head: Fields = {} if lesson_id is None else {"id": lesson_id}
    head |= {name: fields[name] for name in FIELDS[4:] if complete or fields[name] not in (None, [])}
    yaml: Any = YAML()
    yaml.width = 1_000_000
    stream = StringIO()
    yaml.dump(head, stream)
    texts = {name: _NEEDS_ESCAPE.sub(r"\\\1## ", fields[name] or "") for name in TEXTS if complete or fields[name]}
    sections = [f"\n## {name.capitalize()}\n\n{text}\n" for name, text in texts.items()]
    return f"---\n{stream.getvalue()}---\n{''.join(sections)}"


def parse_document(text: str) -> tuple[str | None, Fields]:
    """Return the id, if there is one, and the fields of a document. Raises InputError for a text that is none."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - same

    head: Any = {}
    if text.startswith("---\n"):
        top, mark, text = text[4:].partition("\n---\n")
        safe: Any = YAML(typ="safe")
        try:
            head = safe.load(top) or {}
        except YAMLError as error:
            raise _fault(f"its first part is not YAML: {' '.join(str(error).split())[:120]}") from None
        if not mark or not isinstance(head, dict):
            raise _fault("its first part is not names and values that end with a line ---")
    fields: Fields = {**dict.fromkeys(FIELDS), **{name: [] for name in LISTS}, "importance": 0.5}
    lesson_id: str | None = None
    for name, value in cast("Mapping[str, Any]", head).items():
        if name == "id":
            lesson_id = str(value)
        elif name in FIELDS and name not in TEXTS:
            fields[name] = [str(item) for item in cast("list[object]", value)] if isinstance(value, list) else value
        else:
            raise _fault(f"a lesson has no field '{str(name)[:40]}' there")
    _, *parts = _HEADING.split(text)
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        if title.lower() not in TEXTS:
            raise _fault(f"a lesson has no section '{title[:40]}'")
        fields[title.lower()] = _ESCAPED.sub(r"\1", body.strip()) or None
    return lesson_id, fields


def _fault(fault: str) -> InputError:
    return InputError("the file", fault, "Correct that place.")
