"""Finding the JSON containers in a text, with what the text around each says of it.

The walk goes from left to right. A container that begins outside a fence owns every fence inside its strings;
a fence owns the containers that begin in it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_reflect.llm.lenient import MAX_DEPTH, read_lenient
from mcp_reflect.llm.repair import repair
from mcp_reflect.models.common import Json

LENIENT_LIMIT = 500_000
"""Characters. A longer text is read strictly only: slips are looked for one character at a time."""
TRIES_LIMIT = 40
"""Openers tried before giving up on the rest of a text."""
_READ_LIMIT = 1_000_000
"""Characters looked at in vain before giving up, over all tries."""

_TAG = re.compile(r"<(/?)(think|thinking|thought|reasoning|scratchpad)>", re.IGNORECASE)
_FENCE = r"(?P<fence>`{2,}|~{3,})[ \t]*(?P<tag>[\w+-]*)"
_OBJECT = r"""\{(?=\s*(?:["'“”„‘’`}{\\]|/[/*]|\#|[\w$][\w$.\-]*(?:[ ][\w$.\-]+){0,3}\s*["']?\s*(?:[:：]|=>?)))"""
_ARRAY = r"""\[(?=\s*(?:["'“”„‘’{\[\]]|/[/*]|[-+.]?\d|(?:true|false|null|True|False|None)\b))"""
_MARK = re.compile(f"{_FENCE}|(?P<object>{_OBJECT})|(?P<array>{_ARRAY})")
DATA_TAGS = {"json", "json5", "jsonc", "jsonl", "jsonlines", "ndjson"}
_WORTH_REPAIR = re.compile(r"""\{|\[\s*["'“‘{\[]""")
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*[{`]")
_CALL = re.compile(r"[\w.]\($")
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Found:
    """A container and where it stood. `fence` is the tag of the fence around it, null outside a fence.

    `exact` says that it was read without guessing; `leads` that nothing but such containers stands before it in its
    fence; `call` that it is the argument of a call, as in `search({...})`.
    """

    value: Json
    start: int
    end: int
    fence: str | None = None
    leads: bool = False
    exact: bool = True
    call: bool = False


def without_thinking(text: str) -> str:
    """The text without what stands in thinking tags, unless nothing else holds a container.

    Tags inside a JSON string stay: a text that begins with a container is left alone.
    """
    if text.lstrip()[:1] in {"{", "["}:
        return text
    kept: list[str] = []
    inside = ""
    at = 0
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if not tag[1] and not inside:
            kept.append(text[at : tag.start()])
            at, inside = tag.start(), name
        elif tag[1] and not inside:
            kept, at = [], tag.end()  # the reply began in the middle of thinking
        elif tag[1] and name == inside:
            at, inside = tag.end(), ""
    rest = "\n".join([*kept, text[at:]])
    return rest if _MARK.search(rest) else text


def find(text: str) -> Iterator[Found]:
    """The containers of a text in order, none inside another."""
    fence: str | None = None
    fence_end = at = tries = 0
    budget = _READ_LIMIT
    while tries < TRIES_LIMIT and budget > 0 and (mark := _MARK.search(text, at)):
        at = mark.end()
        if mark["fence"]:
            fence, at = _through_fence(text, mark, fence)
            fence_end = at
            continue
        found = _read(text, mark.start(), fence)
        if found is None:
            tries += 1
            budget -= len(text) - mark.start()
            continue
        value, end, exact = found
        call = bool(_CALL.search(text, max(0, mark.start() - 2), mark.start()))
        leads = fence is not None and not text[fence_end : mark.start()].strip(", \t\r\n")
        fence_end = end if leads else fence_end
        yield Found(value, mark.start(), end, fence, leads, exact, call)
        at = max(end, mark.end())


def _through_fence(text: str, mark: re.Match[str], fence: str | None) -> tuple[str | None, int]:
    """The fence that is open after a fence mark (null for none), and where its body begins."""
    tag = mark["tag"].lower()
    line = text[mark.end() : text.find("\n", mark.end()) % (len(text) + 1)]
    if fence is not None and not tag:
        return None, mark.end()
    if tag and "{" not in line and "[" not in line:  # ```json title="x"
        return tag, mark.end() + len(line)
    return tag, mark.end()


def _read(text: str, start: int, fence: str | None) -> tuple[Json, int, bool] | None:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        pass
    else:
        return (value, end, True) if shallow(value) else None
    if len(text) > LENIENT_LIMIT:
        return None
    if lenient := read_lenient(text, start):
        return *lenient, True
    return _repaired(text, start, fence)


def _repaired(text: str, start: int, fence: str | None) -> tuple[Json, int, bool] | None:
    """What `json_repair` makes of the stretch that the container seems to fill, if it is of the same kind."""
    if not _WORTH_REPAIR.match(text, start):
        return None
    end = _balanced(text, start, fence)
    value = repair(text[start:end])
    wanted = dict if text[start] == "{" else list
    return (value, end, False) if isinstance(value, wanted) and value else None


def _balanced(text: str, start: int, fence: str | None) -> int:
    """Where a container seems to end: its brackets balance, strings left aside; else its last closer; else the end."""
    stop = len(text)
    if fence is not None and (close := re.compile(r"\n[ \t]*(?:```|~~~)[ \t]*(?:\n|$)").search(text, start)):
        stop = close.start()
    if text[start] == "[" and (other := _PARAGRAPH.search(text, start, stop)):
        stop = other.start()  # a list that was cut off in one paragraph does not go on in the next
    depth = 0
    last = -1
    for bracket in re.compile(r"[{}\[\]]").finditer(text, start, stop):
        depth += 1 if bracket[0] in "{[" else -1
        last = bracket.end() if bracket[0] in "}]" else last
        if depth == 0:
            return bracket.end()
    return last if last > 0 and not text[last:stop].lstrip().startswith((",", ":", '"')) else stop


def shallow(value: Json) -> bool:
    """Whether no more than `MAX_DEPTH` containers stand inside each other."""
    level: list[Json] = [value]
    for _ in range(MAX_DEPTH):
        level = [item for outer in level for item in _items(outer)]
        if not level:
            return True
    return False


def _items(value: Json) -> list[Json]:
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict | list)]
