"""Reading JSON from what language models emit. Nothing here ever raises, whatever the text.

Extract first, then read: containers are found in the text around them, read strictly where they are JSON, with
their plain slips where they are nearly, and by `json_repair` where they are broken.
"""

import itertools
import json
import re
from collections.abc import Collection

from mcp_reflect.llm.choose import choose
from mcp_reflect.llm.extract import LENIENT_LIMIT, Found, find, shallow, without_thinking
from mcp_reflect.llm.lenient import read_lenient
from mcp_reflect.llm.repair import repair
from mcp_reflect.models.common import Json

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
