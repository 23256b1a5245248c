"""Which of several containers in a text is meant, by where it stands and what the words around it say."""

import re
from collections.abc import Sequence

from mcp_reflect.llm.extract import DATA_TAGS, Found
from mcp_reflect.models.common import Json

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
