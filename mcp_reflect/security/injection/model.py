"""A linear model over the features of a text."""

import json
import math
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

from mcp_reflect.security.injection.features import Known
from mcp_reflect.security.injection.readings import Sentence, read

# The words of a text as places in a table of weights: words, neighbours, and runs of letters within a word.
#
# The table is small and has no names: a word's place is its checksum, and a few words share each place. `model` sums
# what stands there, `benchmarks.door_train` learns it.


BITS: Final = 18
NEIGHBOURS: Final = 1.5  # what they count beside words and runs: best in cross-validation over writers, of .7 to 1.5
_PLACES: Final = (1 << BITS) - 1
_SHORTEST: Final = 2  # letters of a run
_LONGEST: Final = 5
_MOST_DIGITS: Final = 4
_MOST_LETTERS: Final = 40  # of a word of which runs are taken: longer ones are codes, or sentences without blanks
_TURN: Final = 2654435761  # multiplicative hashing (Knuth, TAOCP 6.4), so that `a b` and `b a` have two places


def place(word: str) -> int:
    """The place of a word; numbers count by their length alone."""
    if word.isdigit():
        word = "0" * min(len(word), _MOST_DIGITS)
    return crc32(word.encode("utf-8", "surrogatepass")) & _PLACES


def runs(word: str) -> list[int]:
    """The places of the runs of 2 to 5 letters of a word, its beginning and end marked; one for each."""
    marked = f"<{word[:_MOST_LETTERS]}>".encode("utf-32-le", "surrogatepass")
    size = len(marked) // 4
    return [
        crc32(marked[4 * at : 4 * (at + length)]) & _PLACES
        for length in range(_SHORTEST, _LONGEST + 1)
        for at in range(size - length + 1)
    ]


def neighbours(places: Iterable[int]) -> set[int]:
    """The places of each word together with the one behind it, given the words' places in their order."""
    found: set[int] = set()
    before = 0
    for one in places:
        found.add((before * _TURN + one) * _TURN >> 15 & _PLACES)
        before = one
    return found


# A weighing of a text: a linear model over what it is about and how it is worded; `benchmarks.door_train` learns it.
#
# The weight of each concept, and of each two that meet in a sentence, stands in `weights.json` for a person to read;
# those of words, neighbours and runs of letters in `grams.bin`, a signed byte a place. A sum over the limit is
# suspicious. A text counts half as a whole and half as its heaviest two sentences, for an order may be buried.


WEIGHTS: Final = "weights.json"
GRAMS: Final = "grams.bin"
_MOST_NAMED: Final = 3  # concepts that a reason names
_PART: Final = 650  # letters that are weighed at once: what the model learnt from was of such lengths
_FOR_PARTS: Final = 0.1  # of many parts one has to be heavier, as chance has more tries
NEAR: Final = 2  # sentences of which the heaviest are looked for

# What a concept is called where a reason is given.
_SAID: Final = {
    "READER": "models and agents", "RULES": "their instructions", "DROP": "dropping or overriding",
    "SKIP": "leaving steps out", "USER": "the user", "HIDE": "keeping something hidden", "DECEIVE": "deceiving",
    "SEND": "sending out", "SECRET": "secrets", "DATA": "private data", "MEMORY": "what is remembered",
    "SPREAD": "spreading itself", "APPROVE": "approving", "CHECK": "checks and consent",
    "GRANTED": "a consent given beforehand", "DELETE": "deleting", "DISABLE": "switching off or opening",
    "CONTROL": "safeguards", "GIVE": "granting", "ACCESS": "access", "RUN": "running or fetching", "CODE": "code",
    "PAY": "paying", "MONEY": "money", "PROMOTE": "promoting", "AUTHORITY": "a claim of authority",
    "URGENT": "pressure", "OBEY": "obeying", "THIS": "the text itself", "ROLE": "playing a role",
    "DECODE": "decoding", "REPLACE": "replacing", "URL": "an address", "EMAIL": "an address", "HOST": "an address",
    "IP": "an address", "ACCOUNT": "an account", "AMOUNT": "a sum", "PATH": "private files", "SHELL": "commands",
    "ALWAYS": "a rule without an end", "CONTRARY": "going against what was asked", "TELL": "what is told",
    "TRUST": "what to trust", "LATER": "a later occasion", "m-role": "posing as a message of another role",
    "m-tool": "posing as a tool call", "m-end": "an end of the data", "m-fence": "a fence",
    "m-carrier": "a link that carries data out",
}  # fmt: skip


class Weights(NamedTuple):
    """The limit over which a text is suspicious, the sum's start, and the weights.

    `most` is what words, neighbours and runs of letters added to a window of the texts learnt from at most; `pairs`
    holds two names by a key made of their numbers.
    """

    limit: float
    start: float
    most: float
    numbers: dict[str, int]
    singles: tuple[float, ...]
    pairs: dict[int, float]
    names: dict[int, str]
    table: "array[int]"
    step: float


class Weighed(NamedTuple):
    """A text's sum, and the weights of the concepts that it is made of."""

    sum: float
    found: dict[int, float]

    @property
    def why(self) -> str:
        """In words what added most to the sum."""
        said: dict[str, float] = {}
        names = weights().names
        for key, weight in self.found.items():
            for concept in names[key].split("+"):
                if word := _SAID.get(concept.lstrip("^").removeprefix("not-").removeprefix("q-")):
                    said[word] = said.get(word, 0) + weight
        heavy = sorted((word for word in said if said[word] > 0), key=lambda word: -said[word])
        return ", ".join(heavy[:_MOST_NAMED]) or "the way it is worded"


@cache
def weights() -> Weights:
    """The weights, read once."""
    room = Path(__file__).parent
    content: dict[str, Any] = json.loads((room / WEIGHTS).read_text(encoding="utf-8"))
    return made(content, (room / GRAMS).read_bytes())


def made(content: dict[str, Any], table: bytes) -> Weights:
    """The weights of what the two files hold."""
    given: dict[str, float] = content["signals"]
    known = sorted({name for both in given for name in both.split("+")})
    numbers = {name: number for number, name in enumerate(known)}
    pairs: dict[int, float] = {}
    names: dict[int, str] = {}
    for both, weight in given.items():
        one, _, other = both.partition("+")
        key = numbers[one] if not other else _key(numbers[one], numbers[other])
        names[key] = both
        if other:
            pairs[key] = weight
    singles = tuple(given.get(name, 0.0) for name in known)
    names = dict(enumerate(known)) | names
    limit, start, most, step = (content[name] for name in ("limit", "start", "most", "step"))
    return Weights(limit, start, most, numbers, singles, pairs, names, array("b", table), step)


def _key(one: int, other: int) -> int:  # in full where it is asked for a hundred times a text
    return (one + 1) << 12 | other


class _Word(NamedTuple):
    """A word's place, the weight there, and the sum and number of the weights of its runs of letters."""

    place: int
    own: int
    inside: int
    size: int


def _looked_up(word: str) -> _Word:
    table = weights().table
    inside, at = runs(word), place(word)
    return _Word(at, table[at], sum(table[one] for one in inside), len(inside))


_words: Final = Known(_looked_up)


class _Line(NamedTuple):
    """What of a sentence is weighed: the weights of its concepts, its words, and the places of its neighbours."""

    found: dict[int, float]
    words: set[str]
    both: set[int]
    size: int


def weigh(text: str) -> Weighed:
    """The sum of a plain text; of a long one that of its heaviest part."""
    lines = [_line(sentence) for sentence in read(text)]
    if sum(line.size for line in lines) <= _PART * 1.5:
        return _weigh(lines)
    weighed = [_weigh(part) for part in _parts(lines)]
    one = max(weighed, key=lambda one: one.sum)
    return one._replace(sum=one.sum - _FOR_PARTS * math.log2(len(weighed)))


def _parts(lines: list[_Line]) -> list[list[_Line]]:
    """The sentences in parts of some length, each beginning with the last one of the part before."""
    parts: list[list[_Line]] = [[]]
    size = 0
    for line in lines:
        if parts[-1] and size + line.size > _PART:
            parts.append(parts[-1][-1:])
            size = parts[-1][0].size
        parts[-1].append(line)
        size += line.size
    return parts


def _weigh(lines: Sequence[_Line]) -> Weighed:
    whole = _sum(lines, _found(lines))
    if len(lines) <= NEAR:
        return whole
    known = weights()
    least = 2 * known.limit - whole.sum - known.start - known.most
    heaviest = whole
    for at in range(len(lines) - NEAR + 1):
        window = lines[at : at + NEAR]
        found = _found(window)
        if sum(found.values()) > least and (near := _sum(window, found)).sum > heaviest.sum:
            heaviest = near
    return Weighed((whole.sum + heaviest.sum) / 2, heaviest.found)


def _line(sentence: Sentence) -> _Line:
    known = weights()
    numbers, singles, pairs = known.numbers, known.singles, known.pairs
    here = sorted([numbers[name] for name in sentence.names if name in numbers])
    found = {number: singles[number] for number in here}
    for one, other in combinations(here, 2):
        key = (one + 1) << 12 | other
        if key in pairs:
            found[key] = pairs[key]
    words = sentence.words
    return _Line(found, set(words), neighbours([_words[word].place for word in words]), sum(map(len, words)))


def _found(lines: Sequence[_Line]) -> dict[int, float]:
    found = lines[0].found if lines else {}
    for line in lines[1:]:
        found = found | line.found
    return found


def _sum(lines: Sequence[_Line], found: dict[int, float]) -> Weighed:
    known = weights()
    words = set[str]().union(*[line.words for line in lines])
    both = set[int]().union(*[line.both for line in lines])
    total = known.start + sum(found.values())
    if words:
        own = inside = count = 0
        for _, one, some, number in [_words[word] for word in words]:
            own += one
            inside += some
            count += number
        table = known.table
        total += known.step * (
            own / math.sqrt(len(words))
            + inside / math.sqrt(count)
            + NEIGHBOURS * sum([table[at] for at in both]) / math.sqrt(len(both))
        )
    return Weighed(total, found)


def columns(sentences: Iterable[Sentence]) -> tuple[set[str], set[str], set[int]]:
    """What `benchmarks.door_train` learns from: names with their pairs, distinct words, and places of neighbours."""
    names: set[str] = set()
    words: set[str] = set()
    both: set[int] = set()
    for sentence in sentences:
        names |= sentence.names
        names.update(f"{one}+{other}" for one, other in combinations(sorted(sentence.names), 2))
        words.update(sentence.words)
        both |= neighbours(place(word) for word in sentence.words)
    return names, words, both
