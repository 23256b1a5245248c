"""Words that look alike: inflected forms and typing errors."""

from collections.abc import Iterable, Sequence
from typing import Final

from mcp_reflect.storage.sqlite.statements import Reading

ALIKE: Final = 0.5  # of their trigrams at least so many are shared
_SIZE: Final = 3
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_SHORTEST: Final = 5  # a shorter word is near to too many others
_LONGEST: Final = 16
_MOST_WORDS: Final = 2  # unknown words of a question that are looked into
_LONG: Final = 6  # telling words: of a longer question each tells little, and one unknown word is looked into
_MOST_ALIKE: Final = 3  # words of the bank that one of them may stand for
_MOST_FORMS: Final = 40  # words of the bank that begin alike


def trigrams_within(word: str) -> list[str]:
    """The trigrams of a word, in their order, with a space for each of its ends."""
    ended = f" {word} "
    return [ended[place : place + _SIZE] for place in range(len(ended) - _SIZE + 1)]


def similarity(one: str, other: str) -> float:
    """The Dice coefficient of two words' trigrams, 0..1."""
    first, second = set(trigrams_within(one)), set(trigrams_within(other))
    return 2 * len(first & second) / (len(first) + len(second))


def words_like(
    reading: Reading, numbers: Sequence[int], unknown: Iterable[str], asked: int
) -> dict[str, tuple[str, float]]:
    """Words of the bank that unknown words, of `asked` telling ones, may stand for.

    Each with the unknown word and their similarity.
    """
    found: dict[str, tuple[str, float]] = {}
    most = _MOST_WORDS if asked <= _LONG else 1
    worth_it = [word for word in unknown if _SHORTEST <= len(word) <= _LONGEST and word.isalpha()]
    for word in sorted(worth_it, key=lambda word: (-len(word), word))[:most]:
        forms = _Forms(reading, numbers, word)
        near = {other: similarity(word, other) for other in forms.found}
        for other in _slips(reading, numbers, word, forms):
            near[other] = max(similarity(word, other), ALIKE)
        for other in sorted(near, key=lambda other: (-near[other], other))[:_MOST_ALIKE]:
            if near[other] >= ALIKE:
                found.setdefault(other, (word, near[other]))
    return found


class _Forms:
    """Words of the bank that begin as most of a word does; `all` says that these are all of them."""

    def __init__(self, reading: Reading, numbers: Sequence[int], word: str) -> None:
        self.begin = word[: max(_SHORTEST - 1, len(word) * 3 // 5)]
        end = self.begin[:-1] + chr(ord(self.begin[-1]) + 1)
        values = {"from": self.begin, "to": end, "limit": _MOST_FORMS}
        rows = [reading.rows("index_terms_from", {"scope": number, **values}) for number in numbers]
        self.found = {row["term"] for some in rows for row in some}
        self.all = all(len(some) < _MOST_FORMS for some in rows)


def _slips(reading: Reading, numbers: Sequence[int], word: str, forms: _Forms) -> set[str]:
    """Words that are one letter away: one more, one less, another one, or two that changed places."""
    if not word.isascii():
        return set()
    # What differs after the beginning is among the forms; for the rest, every word that it could be is asked for.
    last = len(forms.begin) - 1 if forms.all else len(word)
    cuts = [(word[:place], word[place:]) for place in range(last + 1)]
    near = [head + tail[1:] for head, tail in cuts if tail]
    near += [head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1]
    near += [head + letter + tail[1:] for head, tail in cuts if tail for letter in _LETTERS]
    near += [head + letter + tail for head, tail in cuts for letter in _LETTERS]
    rows = reading.rows("index_terms", {"scopes": numbers, "terms": list({*near})})
    return {row["term"] for row in rows}.union(other for other in forms.found if _one_apart(word, other))


def _one_apart(one: str, other: str) -> bool:
    both = zip(one, other, strict=False)
    same = next((place for place, pair in enumerate(both) if pair[0] != pair[1]), min(len(one), len(other)))
    rest, beside = one[same:], other[same:]
    return (
        rest[1:] == beside[1:]
        or rest[1:] == beside
        or rest == beside[1:]
        or (rest[2:] == beside[2:] and rest[:2] == beside[1::-1])
    )
