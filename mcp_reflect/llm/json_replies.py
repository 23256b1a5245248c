"""Reading JSON from the replies of language models. Nothing here raises, whatever the text."""

import itertools
import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from mcp_reflect.llm.lenient_json import MAX_DEPTH, read_lenient
from mcp_reflect.models.common import Json

# The last resort for broken JSON: the `json_repair` library, kept from hanging and from raising.


REPAIR_LIMIT = 200_000
"""Characters. Beyond, a repair takes seconds."""
_NESTING_LIMIT = 60
_BRACKET = re.compile(r"[{}\[\]()]")


def repair(text: str) -> Json:
    """What `json_repair` reads in `text`; null where it is too long, too deep or more than the library can take."""
    if len(text) > REPAIR_LIMIT or _too_deep(text):
        return None
    import json_repair  # noqa: PLC0415 - half the replies never need it

    try:
        return json_repair.loads(text, skip_json_loads=True)  # type: ignore[return-value]
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, RuntimeError):
        return None


def _too_deep(text: str) -> bool:
    """Whether brackets stand inside each other deeper than the limit, strings left aside."""
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth = depth + 1 if bracket[0] in "{[(" else max(0, depth - 1)
        if depth > _NESTING_LIMIT:
            return True
    return False


# Finding the JSON containers in a text, with what the text around each says of it.
#
# The walk goes from left to right. A container that begins outside a fence owns every fence inside its strings;
# a fence owns the containers that begin in it.


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


# Which of several containers in a text is meant, by where it stands and what the words around it say.


_FOR = re.compile(
    r"\b(final|finally|corrected|correct|answer|output|outputs|result|fixed|revised|updated|instead|after|now|mine|"
    r"returns?|here is|here's)\b",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(example|e\.g\.?|for instance|such as|schema|format|template|shape|input|inputs|request|payload|wrong|"
    r"incorrect|invalid|draft|attempt|tried|before|earlier|previous|previously|old|not|don't|never|bad|original|considered|"
    r"discard(?:ed)?|would not|rather than|expected format|called)\b",
    re.IGNORECASE,
)
_FENCE_MARK = re.compile(r"(?:`{2,}|~{3,})[\w+-]*")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n\s*\n")


def choose(text: str, found: Sequence[Found]) -> Json:
    """The value that a text with these containers stands for; a list of them where all are meant alike."""
    ranks = [_rank(one) for one in found]
    top = max(ranks)
    places = [place for place, rank in enumerate(ranks) if rank == top]
    if len(places) > 1:
        weights = [_weight(text, found, place) for place in places]
        best = max(weights)
        places = [place for place, weight in zip(places, weights, strict=True) if weight == best]
    values = [found[place].value for place in places]
    return values[0] if len(values) == 1 else values


def _rank(one: Found) -> int:
    """How likely a container is data that is meant to be read, by its place and its kind alone."""
    if _is_note(one) or one.call or (one.fence not in {None, "", *DATA_TAGS} and not one.leads):
        return 0
    if one.fence in DATA_TAGS:
        return 4
    if one.leads:
        return 3
    return 2 if isinstance(one.value, dict) or any(isinstance(item, dict | list) for item in _list(one.value)) else 1


def _is_note(one: Found) -> bool:
    """An empty container, a citation like [1], a range like [0, 1]: hardly ever the answer."""
    if not one.value:
        return True
    items = _list(one.value)
    return bool(items) and all(isinstance(item, int | float) or item is None for item in items)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _weight(text: str, found: Sequence[Found], place: int) -> int:
    """Words for a container less words against it, in the sentence that leads to it and the one that follows."""
    one = found[place]
    before = found[place - 1].end if place else 0
    after = found[place + 1].start if place + 1 < len(found) else len(text)
    leading = _SENTENCE.split(_FENCE_MARK.sub("", text[max(before, one.start - 160) : one.start]).rstrip("`~ \t\n"))
    lead = " ".join(leading[-2:]) if len(leading[-1]) < 3 else leading[-1]
    trail = text[one.end : min(after, one.end + 80)]
    trail = trail if trail.lstrip().startswith((",", "(", "-", "—", "is ", "was ")) else ""
    said = 2 * _net(lead) + (_net(_SENTENCE.split(trail)[0]) if trail else 0)
    return (said > 0) - (said < 0)


def _net(words: str) -> int:
    return len(_FOR.findall(words)) - len(_AGAINST.findall(words))


# Reading JSON from what language models emit. Nothing here ever raises, whatever the text.
#
# Extract first, then read: containers are found in the text around them, read strictly where they are JSON, with
# their plain slips where they are nearly, and by `json_repair` where they are broken.


_ESCAPED = re.compile(r'^\s*[{\[]\s*\\"')
_MEMBER = re.compile(r"""\s*(?:"[^"\n]{1,100}"|'[^'\n]{1,100}')\s*:""")
_GLUE = re.compile(r"[\s,;`~>]*(?:json)?[\s,;`~>]*", re.IGNORECASE)
_TAIL = re.compile(r"""[\s}\])]*[,"':]""")


def read_json(text: str) -> Json:
    """The value that a text holds: the one that is meant, or the list of them where several are meant alike.

    Null where the text is too long or too deep to repair. Text without any container gives what `json_repair`
    makes of it, mostly `""`.
    """
    text = text.removeprefix("\ufeff")
    whole = _strict(text)
    if isinstance(whole, str) and (inner := containers(whole)):
        return inner[0]
    if whole is not _NOTHING:
        return whole
    text = _plain(text)
    if (members := _headless(text)) is not None:
        return members
    found = list(find(text))
    if not found or _runs_on(text, found):
        repaired = repair(text)
        if repaired is not None or not found:
            return repaired
    return choose(text, found)


def containers(text: str) -> list[Json]:
    """Every object and list in a text, in order; one inside another is not named again."""
    text = _plain(text)
    if (members := _headless(text)) is not None:
        return [members]
    return [one.value for one in find(text)]


def read_object(text: str, keys: Collection[str]) -> dict[str, Json] | None:
    """The object in a text that has most of `keys` (the last of equals); null where none has any.

    One inside a wrapper (`{"analysis": {...}}`, a list of one) is found too.
    """
    best: dict[str, Json] | None = None
    most = 0
    for value in _readings(text):
        for candidate in _unwrapped(value):
            score = len(candidate.keys() & set(keys))
            if score and score >= most:
                best, most = candidate, score
    return best


_NOTHING: Json = {"": None}


def _strict(text: str) -> Json:
    try:
        value: Json = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _NOTHING
    return value if shallow(value) else _NOTHING


def _plain(text: str) -> str:
    """The text without thinking, quote marks of mail, and one layer of escapes around it all."""
    text = without_thinking(text)
    if _ESCAPED.match(text):
        text = text.replace('\\"', '"').replace("\\\\", "\\")
    lines = text.strip().splitlines()
    if lines and all(line.startswith(">") for line in lines):
        text = "\n".join(line[1:] for line in lines)
    return text


def _headless(text: str) -> Json:
    """The object whose opening brace was lost: the text is members from its first character to its last."""
    if not _MEMBER.match(text) or len(text) > LENIENT_LIMIT:
        return None
    text = "{" + text.strip()
    read = read_lenient(text)
    return read[0] if read and not text[read[1] :].strip() else None


def _runs_on(text: str, found: list[Found]) -> bool:
    """Whether the text is JSON throughout, only broken between its parts: then it is repaired as a whole."""
    first, last = found[0], found[-1]
    if not _GLUE.fullmatch(text, 0, first.start):
        return False
    gaps = [text[one.end : other.start] for one, other in itertools.pairwise(found)]
    if not all(_GLUE.fullmatch(gap) for gap in gaps):
        return bool(_TAIL.match(text, first.end))
    if not first.exact or _TAIL.match(text, last.end):
        return True
    return len(found) > 1 and not all("\n" in gap for gap in gaps)


def _readings(text: str) -> list[Json]:
    whole = _strict(text)
    if isinstance(whole, str):
        return containers(whole)
    return [whole] if whole is not _NOTHING else containers(text)


def _unwrapped(value: Json, depth: int = 3) -> list[dict[str, Json]]:
    """The objects that a value offers: itself, its items, and what its members wrap."""
    if depth == 0:
        return []
    if isinstance(value, list):
        return [inner for item in value for inner in _unwrapped(item, depth - 1)]
    if not isinstance(value, dict):
        return []
    return [inner for item in value.values() for inner in _unwrapped(item, depth - 1)] + [value]
