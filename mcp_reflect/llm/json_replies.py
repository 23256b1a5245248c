"""Reading JSON from the replies of language models. Nothing here raises, whatever the text.

The reader first finds the JSON containers (objects and lists) in the text. It reads each one strictly, or through the
`json_repair` library where it is broken, and then picks the one that the text presents as its answer.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from mcp_reflect.models.common import Json

MAX_DEPTH = 60
"""Containers inside each other; a deeper value is not read."""
REPAIR_LIMIT = 200_000
"""Characters. The library takes seconds to repair a longer text."""
_VAIN_LIMIT = 300_000
"""Characters that are read as containers in vain before the rest of a text is given up."""

_DATA_TAGS = {"json", "json5", "jsonc", "jsonl", "jsonlines", "ndjson"}
_NOTHING: Json = {"": None}
_DECODER = json.JSONDecoder(strict=False)

_BRACKET = re.compile(r"[{}\[\]]")
_TAG = re.compile(r"<(/?)(think|thinking|thought|reasoning|scratchpad)>", re.IGNORECASE)
_MARK = re.compile(r"(?:`{2,}|~{3,})[ \t]*(?P<tag>[\w+-]*)|(?P<bracket>[{\[])")
_GLUE = re.compile(r"[\s,;`~>]*(?:json)?[\s,;`~>]*", re.IGNORECASE)
_TAIL = re.compile(r"""[\s}\])]*[,"':]""")


@dataclass(frozen=True, slots=True)
class _Container:
    """A JSON object or list in a text, and its place.

    `fence` is the tag of the code fence around it, None outside a fence.
    """

    value: Json
    start: int
    end: int
    fence: str | None


def read_json(text: str) -> Json:
    """Return the value that a text presents as its answer; a list of values where several are equally likely.

    Returns None where the text is too long or too deep to repair. A text without any container gives the result of
    `json_repair`, mostly `""`.
    """
    text = text.removeprefix("\ufeff")
    whole = _read_strictly(text)
    if isinstance(whole, str) and (inner := containers(whole)):
        return inner[0]
    if whole is not _NOTHING:
        return whole
    text = without_thinking(text)
    parts = list(_find_containers(text))
    # A text that begins with a container and goes on like JSON is one broken value.
    is_broken = parts and _GLUE.fullmatch(text, 0, parts[0].start) and any(_TAIL.match(text, one.end) for one in parts)
    if not parts or is_broken:
        repaired = _repair(text)
        if repaired is not None or not parts:
            return repaired
    ranks = [_rank(part) for part in parts]
    values = [part.value for part, rank in zip(parts, ranks, strict=True) if rank == max(ranks)]
    return values[0] if len(values) == 1 else values


def containers(text: str) -> list[Json]:
    """Return every outermost object and list in a text, in order."""
    return [container.value for container in _find_containers(without_thinking(text))]


def read_object(text: str, keys: Collection[str]) -> dict[str, Json] | None:
    """Return the object in a text that has most of `keys` (the last of equals), or None where no object has any.

    It also looks inside wrappers such as `{"analysis": {...}}` or a list of one.
    """
    whole = _read_strictly(text)
    in_text = text if whole is _NOTHING else whole
    values = containers(in_text) if isinstance(in_text, str) else [whole]
    candidates = [candidate for value in values for candidate in _objects_in(value)]
    with_keys = [candidate for candidate in reversed(candidates) if candidate.keys() & set(keys)]
    return max(with_keys, key=lambda candidate: len(candidate.keys() & set(keys)), default=None)


def _repair(text: str) -> Json:
    """Return what `json_repair` reads in `text`, or None where the text is too long, too deep or beyond the library."""
    if len(text) > REPAIR_LIMIT or _is_too_deep(text):
        return None
    import json_repair  # noqa: PLC0415 - half the replies never need it

    try:
        return json_repair.loads(text, skip_json_loads=True)  # type: ignore[return-value]
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, RuntimeError):
        return None


def without_thinking(text: str) -> str:
    """Remove text in thinking tags, unless no container stands outside of them.

    A text that begins with a container stays as it is: tags inside a JSON string belong to it.
    """
    if text.lstrip()[:1] in {"{", "["}:
        return text
    kept: list[str] = []
    open_tag = ""
    at = 0
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if not tag[1] and not open_tag:
            kept.append(text[at : tag.start()])
            at, open_tag = tag.start(), name
        elif tag[1] and not open_tag:
            kept, at = [], tag.end()  # the reply began in the middle of thinking
        elif tag[1] and name == open_tag:
            at, open_tag = tag.end(), ""
    rest = "\n".join([*kept, text[at:]])
    return rest if _MARK.search(rest) else text


def _find_containers(text: str) -> Iterator[_Container]:
    """Yield the outermost containers of a text, from left to right.

    A container owns every fence inside its strings; a fence owns the containers that begin in it.
    """
    fence: str | None = None
    at, budget = 0, _VAIN_LIMIT
    while budget > 0 and (mark := _MARK.search(text, at)):
        start, at = mark.span()
        if mark["bracket"]:
            value, end = _read_at(text, start)
            if value is None:
                budget -= end - start
            else:
                yield _Container(value, start, end, fence)
                at = end
        else:
            fence = None if fence is not None and not mark["tag"] else mark["tag"].lower()


def _read_at(text: str, start: int) -> tuple[Json, int]:
    """Return the container at `start` or None, and its end."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        pass
    else:
        return None if _is_too_deep(text[start:end]) else value, end
    depth, end = 0, len(text)  # a broken one ends where its brackets balance, else with the text
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] in "{[" else -1
        if depth == 0:
            end = bracket.end()
            break
    value = _repair(text[start:end])
    wanted = dict if text[start] == "{" else list
    return value if isinstance(value, wanted) and value else None, end


def _read_strictly(text: str) -> Json:
    try:
        value: Json = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _NOTHING
    return _NOTHING if _is_too_deep(text) else value


def _rank(container: _Container) -> int:
    """Return 0 (code, or empty) to 3 (fenced JSON): how likely a container is the answer, by its place and kind."""
    if not container.value or container.fence not in {None, "", *_DATA_TAGS}:
        return 0
    if container.fence in _DATA_TAGS:
        return 3
    return (
        2
        if isinstance(container.value, dict) or any(isinstance(item, dict | list) for item in _inner(container.value))
        else 1
    )


def _is_too_deep(text: str) -> bool:
    """True if brackets stand inside each other deeper than the limit, brackets in strings included."""
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth = depth + 1 if bracket[0] in "{[" else max(0, depth - 1)
        if depth > MAX_DEPTH:
            return True
    return False


def _inner(value: Json) -> list[Json]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _objects_in(value: Json, depth: int = 3) -> list[dict[str, Json]]:
    """Return the objects that a value offers: those of its items and members first, then itself."""
    if depth == 0:
        return []
    inner = [candidate for item in _inner(value) for candidate in _objects_in(item, depth - 1)]
    return [*inner, value] if isinstance(value, dict) else inner
