"""Reading JSON from the replies of language models. Nothing here raises, whatever the text.

The reader first finds the JSON containers (objects and lists) in the text. It reads each one strictly, or through the
`json_repair` library where it is broken, and then picks the one that the text presents as its answer.
"""

import itertools
import json
import re
from collections.abc import Collection, Iterator, Sequence
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

_BRACKET = re.compile(r"[{}\[\]()]")
_TAG = re.compile(r"<(/?)(think|thinking|thought|reasoning|scratchpad)>", re.IGNORECASE)
_FENCE = r"(?P<fence>`{2,}|~{3,})[ \t]*(?P<tag>[\w+-]*)"
_OBJECT = r"""\{(?=\s*(?:["'“”„‘’`}{\\]|/[/*]|\#|[\w$][\w$.\-]*(?:[ ][\w$.\-]+){0,3}\s*["']?\s*(?:[:：]|=>?)))"""
_ARRAY = r"""\[(?=\s*(?:["'“”„‘’{\[\]]|/[/*]|[-+.]?\d|(?:true|false|null|True|False|None)\b))"""
_MARK = re.compile(f"{_FENCE}|(?P<object>{_OBJECT})|(?P<array>{_ARRAY})")
_WORTH_REPAIR = re.compile(r"""\{|\[\s*["'“‘{\[]""")
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*[{`]")
_CALL = re.compile(r"[\w.]\($")
_ESCAPED = re.compile(r'^\s*[{\[]\s*\\"')
_MEMBER = re.compile(r"""\s*(?:"[^"\n]{1,100}"|'[^'\n]{1,100}')\s*:""")
_GLUE = re.compile(r"[\s,;`~>]*(?:json)?[\s,;`~>]*", re.IGNORECASE)
_TAIL = re.compile(r"""[\s}\])]*[,"':]""")
_FENCE_MARK = re.compile(r"(?:`{2,}|~{3,})[\w+-]*")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n\s*\n")
_ANSWER_WORDS = re.compile(
    r"\b(final|finally|corrected|correct|answer|output|outputs|result|fixed|revised|updated|instead|after|now|mine|"
    r"returns?|here is|here's)\b",
    re.IGNORECASE,
)
_EXAMPLE_WORDS = re.compile(
    r"\b(example|e\.g\.?|for instance|such as|schema|format|template|shape|input|inputs|request|payload|wrong|"
    r"incorrect|invalid|draft|attempt|tried|before|earlier|previous|previously|old|not|don't|never|bad|original|considered|"
    r"discard(?:ed)?|would not|rather than|expected format|called)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Container:
    """A JSON object or list in a text, and its place.

    `fence` is the tag of the code fence around it, None outside a fence. `exact` is true where nothing was repaired.
    `leads` is true where only such containers precede it in its fence, and `call` where it is the argument of a call,
    as in `search({...})`.
    """

    value: Json
    start: int
    end: int
    fence: str | None = None
    leads: bool = False
    exact: bool = True
    call: bool = False


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
    text = _unwrapped_text(text)
    if (members := _read_without_brace(text)) is not None:
        return members
    found = list(find_containers(text))
    if not found or _is_one_broken_value(text, found):
        repaired = repair(text)
        if repaired is not None or not found:
            return repaired
    return _choose(text, found)


def containers(text: str) -> list[Json]:
    """Return every outermost object and list in a text, in order."""
    text = _unwrapped_text(text)
    if (members := _read_without_brace(text)) is not None:
        return [members]
    return [container.value for container in find_containers(text)]


def read_object(text: str, keys: Collection[str]) -> dict[str, Json] | None:
    """Return the object in a text that has most of `keys` (the last of equals), or None where no object has any.

    It also looks inside wrappers such as `{"analysis": {...}}` or a list of one.
    """
    whole = _read_strictly(text)
    in_text = text if whole is _NOTHING else whole
    values = containers(in_text) if isinstance(in_text, str) else [whole]
    best: dict[str, Json] | None = None
    most = 0
    for candidate in itertools.chain.from_iterable(map(_objects_in, values)):
        score = len(candidate.keys() & set(keys))
        if score and score >= most:
            best, most = candidate, score
    return best


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

    A text that begins with a container is left alone: tags inside a JSON string stay.
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
        at = mark.end()
        if mark["fence"]:
            fence, at = _through_fence(text, mark, fence)
            fence_end = at
            continue
        reading = _read_at(text, mark.start(), fence)
        if reading is None:
            tries += 1
            budget -= len(text) - mark.start()
            continue
        value, end, exact = reading
        call = bool(_CALL.search(text, max(0, mark.start() - 2), mark.start()))
        leads = fence is not None and not text[fence_end : mark.start()].strip(", \t\r\n")
        fence_end = end if leads else fence_end
        yield Container(value, mark.start(), end, fence, leads, exact, call)
        at = max(end, mark.end())


def _through_fence(text: str, mark: re.Match[str], fence: str | None) -> tuple[str | None, int]:
    """Return the tag of the fence that is open after a fence mark (None for none), and the start of its body."""
    tag = mark["tag"].lower()
    line = text[mark.end() : text.find("\n", mark.end()) % (len(text) + 1)]
    if fence is not None and not tag:
        return None, mark.end()
    if tag and "{" not in line and "[" not in line:  # ```json title="x"
        return tag, mark.end() + len(line)
    return tag, mark.end()


def _read_at(text: str, start: int, fence: str | None) -> tuple[Json, int, bool] | None:
    """Return the container at `start`, its end, and whether it was read without repair; None for no container."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        pass
    else:
        return (value, end, True) if _is_shallow(value) else None
    if not _WORTH_REPAIR.match(text, start):
        return None
    end = _probable_end(text, start, fence)
    value = repair(text[start:end])
    wanted = dict if text[start] == "{" else list
    return (value, end, False) if isinstance(value, wanted) and value else None


def _probable_end(text: str, start: int, fence: str | None) -> int:
    """Return where a broken container ends: where its brackets balance, else its last closer, else the text's end."""
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


def _read_strictly(text: str) -> Json:
    try:
        value: Json = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _NOTHING
    return value if _is_shallow(value) else _NOTHING


def _read_without_brace(text: str) -> Json:
    """Return the object of a text that holds nothing but members, its opening brace lost; None for another text."""
    value = repair("{" + text.strip()) if _MEMBER.match(text) else None
    return value if isinstance(value, dict) else None


def _unwrapped_text(text: str) -> str:
    """Remove thinking, the quote marks of mail, and one layer of escapes around the whole text."""
    text = without_thinking(text)
    if _ESCAPED.match(text):
        text = text.replace('\\"', '"').replace("\\\\", "\\")
    lines = text.strip().splitlines()
    if lines and all(line.startswith(">") for line in lines):
        text = "\n".join(line[1:] for line in lines)
    return text


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


def _choose(text: str, found: Sequence[Container]) -> Json:
    """Return the value of the likeliest container, or the list of values where several are equally likely."""
    ranks = [_rank(container) for container in found]
    places = [place for place, rank in enumerate(ranks) if rank == max(ranks)]
    if len(places) > 1:
        weights = [_weight(text, found, place) for place in places]
        places = [place for place, weight in zip(places, weights, strict=True) if weight == max(weights)]
    values = [found[place].value for place in places]
    return values[0] if len(values) == 1 else values


def _rank(container: Container) -> int:
    """Return 0 (a note) to 4 (fenced JSON): how likely a container is the answer, by its place and kind alone."""
    items = container.value if isinstance(container.value, list) else []
    is_note = not container.value or (
        bool(items) and all(isinstance(item, int | float) or item is None for item in items)
    )  # empty, a citation like [1], a range like [0, 1]
    if is_note or container.call or (container.fence not in {None, "", *DATA_TAGS} and not container.leads):
        return 0
    if container.fence in DATA_TAGS:
        return 4
    if container.leads:
        return 3
    return 2 if isinstance(container.value, dict) or any(isinstance(item, dict | list) for item in items) else 1


def _weight(text: str, found: Sequence[Container], place: int) -> int:
    """Return -1, 0 or 1: whether the sentences around a container present it as an example or as the answer."""
    container = found[place]
    before = found[place - 1].end if place else 0
    after = found[place + 1].start if place + 1 < len(found) else len(text)
    lead_text = text[max(before, container.start - 160) : container.start]
    leading = _SENTENCE.split(_FENCE_MARK.sub("", lead_text).rstrip("`~ \t\n"))
    lead = " ".join(leading[-2:]) if len(leading[-1]) < 3 else leading[-1]
    trail = text[container.end : min(after, container.end + 80)]
    trail = trail if trail.lstrip().startswith((",", "(", "-", "—", "is ", "was ")) else ""
    total = 2 * _net(lead) + (_net(_SENTENCE.split(trail)[0]) if trail else 0)
    return (total > 0) - (total < 0)


def _net(words: str) -> int:
    return len(_ANSWER_WORDS.findall(words)) - len(_EXAMPLE_WORDS.findall(words))


def _is_too_deep(text: str) -> bool:
    """Return whether brackets stand inside each other deeper than the limit, brackets in strings included."""
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth = depth + 1 if bracket[0] in "{[(" else max(0, depth - 1)
        if depth > MAX_DEPTH:
            return True
    return False


def _is_shallow(value: Json) -> bool:
    """Return whether at most `MAX_DEPTH` containers stand inside each other."""
    level: list[Json] = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inner_containers(outer)]
        if not level:
            return True
    return False


def _inner_containers(value: Json) -> list[Json]:
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict | list)]


def _objects_in(value: Json, depth: int = 3) -> list[dict[str, Json]]:
    """Return the objects that a value offers: those of its items and members first, then itself."""
    if depth == 0:
        return []
    if isinstance(value, list):
        return [inner for item in value for inner in _objects_in(item, depth - 1)]
    if not isinstance(value, dict):
        return []
    return [inner for item in value.values() for inner in _objects_in(item, depth - 1)] + [value]
