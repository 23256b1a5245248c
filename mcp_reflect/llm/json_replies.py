"""Reading JSON from the replies of language models. Nothing here raises, whatever the text.

The reader first finds the JSON containers (objects and lists) in the text. It reads each one strictly, or through the
`json_repair` library where it is broken, and then picks the one that the text presents as its answer.
"""

import itertools
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from mcp_reflect.models.common import Json

MAX_DEPTH = 60
"""Containers inside each other; a deeper value is not read."""
REPAIR_LIMIT = 200_000
"""Characters. The library takes seconds to repair a longer text."""
TRIES_LIMIT = 40
"""Openers that are tried in vain before the rest of a text is given up."""
_READ_LIMIT = 1_000_000
"""Characters that are read in vain before the rest of a text is given up, over all tries."""

DATA_TAGS = {"json", "json5", "jsonc", "jsonl", "jsonlines", "ndjson"}
_NOTHING: Json = {"": None}
_DECODER = json.JSONDecoder(strict=False)

_BRACKET = re.compile(r"[{}\[\]]")
_TAG = re.compile(r"<(/?)(think|thinking|thought|reasoning|scratchpad)>", re.IGNORECASE)
_FENCE = r"(?P<fence>`{2,}|~{3,})[ \t]*(?P<tag>[\w+-]*)"
_OBJECT = r"""\{(?=\s*(?:["'“”„‘’`}{\\]|/[/*]|\#|[\w$][\w$.\-]*(?:[ ][\w$.\-]+){0,3}\s*["']?\s*(?:[:：]|=>?)))"""
_ARRAY = r"""\[(?=\s*(?:["'“”„‘’{\[\]]|/[/*]|[-+.]?\d|(?:true|false|null|True|False|None)\b))"""
_MARK = re.compile(f"{_FENCE}|(?P<object>{_OBJECT})|(?P<array>{_ARRAY})")
_FENCE_END = re.compile(r"\n[ \t]*(?:```|~~~)[ \t]*(?:\n|$)")
_GLUE = re.compile(r"[\s,;`~>]*(?:json)?[\s,;`~>]*", re.IGNORECASE)
_TAIL = re.compile(r"""[\s}\])]*[,"':]""")


@dataclass(frozen=True, slots=True)
class Container:
    """A JSON object or list in a text, and its place.

    `fence` is the tag of the code fence around it, None outside a fence. `exact` is true where nothing was repaired,
    `leads` where only such containers precede it in its fence.
    """

    value: Json
    start: int
    end: int
    fence: str | None = None
    leads: bool = False
    exact: bool = True


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
    parts = list(find_containers(text))
    if not parts or _is_one_broken_value(text, parts):
        repaired = repair(text)
        if repaired is not None or not parts:
            return repaired
    ranks = [_rank(part) for part in parts]
    values = [part.value for part, rank in zip(parts, ranks, strict=True) if rank == max(ranks)]
    return values[0] if len(values) == 1 else values


def containers(text: str) -> list[Json]:
    """Return every outermost object and list in a text, in order."""
    return [container.value for container in find_containers(without_thinking(text))]


def read_object(text: str, keys: Collection[str]) -> dict[str, Json] | None:
    """Return the object in a text that has most of `keys` (the last of equals), or None where no object has any.

    It also looks inside wrappers such as `{"analysis": {...}}` or a list of one.
    """
    whole = _read_strictly(text)
    in_text = text if whole is _NOTHING else whole
    values = containers(in_text) if isinstance(in_text, str) else [whole]
    candidates = [candidate for value in values for candidate in _objects_in(value)]
    scores = [len(candidate.keys() & set(keys)) for candidate in candidates]
    best = max(scores, default=0)
    return candidates[len(scores) - 1 - scores[::-1].index(best)] if best else None


def repair(text: str) -> Json:
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


def find_containers(text: str) -> Iterator[Container]:
    """Yield the outermost containers of a text, from left to right.

    A container that begins outside a fence owns every fence inside its strings; a fence owns the containers that
    begin in it.
    """
    fence: str | None = None
    fence_end = at = tries = 0
    budget = _READ_LIMIT
    while tries < TRIES_LIMIT and budget > 0 and (mark := _MARK.search(text, at)):
        start, at = mark.span()
        if mark["fence"]:
            tag = mark["tag"].lower()
            line_end = text.find("\n", at) % (len(text) + 1)
            if fence is not None and not tag:
                fence = None
            else:
                fence = tag
                if tag and not _BRACKET.search(text, at, line_end):  # ```json title="x"
                    at = line_end
            fence_end = at
            continue
        container = _read_at(text, start, fence)
        if container is None:
            tries += 1
            budget -= len(text) - start
            continue
        value, end, exact = container
        leads = fence is not None and not text[fence_end:start].strip(", \t\r\n")
        fence_end = end if leads else fence_end
        yield Container(value, start, end, fence, leads, exact)
        at = max(end, at)


def _read_at(text: str, start: int, fence: str | None) -> tuple[Json, int, bool] | None:
    """Return the container at `start`, its end, and whether it was read without repair; None for no container."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        pass
    else:
        return (value, end, True) if _is_shallow(value) else None
    # A broken one ends where its brackets balance, else at its last closer, else with its fence or the text.
    closed = _FENCE_END.search(text, start) if fence is not None else None
    stop = closed.start() if closed else len(text)
    depth, last = 0, -1
    for bracket in _BRACKET.finditer(text, start, stop):
        depth += 1 if bracket[0] in "{[" else -1
        last = bracket.end() if bracket[0] in "}]" else last
        if depth == 0:
            break
    if depth and (last < 0 or text[last:stop].lstrip().startswith((",", ":", '"'))):
        last = stop
    value = repair(text[start:last])
    wanted = dict if text[start] == "{" else list
    return (value, last, False) if isinstance(value, wanted) and value else None


def _read_strictly(text: str) -> Json:
    try:
        value: Json = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _NOTHING
    return value if _is_shallow(value) else _NOTHING


def _is_one_broken_value(text: str, found: list[Container]) -> bool:
    """Return whether the text is JSON throughout, only broken between its parts: it is then repaired as a whole."""
    first, last = found[0], found[-1]
    if not _GLUE.fullmatch(text, 0, first.start):
        return False
    gaps = [text[left.end : right.start] for left, right in itertools.pairwise(found)]
    if not all(_GLUE.fullmatch(gap) for gap in gaps):
        return bool(_TAIL.match(text, first.end))
    if not first.exact or _TAIL.match(text, last.end):
        return True
    return len(found) > 1 and not all("\n" in gap for gap in gaps)


def _rank(container: Container) -> int:
    """Return 0 (a note) to 4 (fenced JSON): how likely a container is the answer, by its place and kind."""
    items = container.value if isinstance(container.value, list) else []
    is_citation = bool(items) and all(isinstance(item, int | float) or item is None for item in items)  # [1], [0, 1]
    in_code = container.fence not in {None, "", *DATA_TAGS} and not container.leads
    if not container.value or is_citation or in_code:
        return 0
    if container.fence in DATA_TAGS:
        return 4
    if container.leads:
        return 3
    return 2 if isinstance(container.value, dict) or any(isinstance(item, dict | list) for item in items) else 1


def _is_too_deep(text: str) -> bool:
    """True if brackets stand inside each other deeper than the limit, brackets in strings included."""
    depth = 0
    for char in re.findall(r"[{}\[\]()]", text):
        depth = depth + 1 if char in "{[(" else max(0, depth - 1)
        if depth > MAX_DEPTH:
            return True
    return False


def _is_shallow(value: Json) -> bool:
    """True if at most `MAX_DEPTH` containers stand inside each other."""
    level: list[Json] = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inner(outer) if isinstance(inner, dict | list)]
        if not level:
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
