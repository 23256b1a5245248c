"""Which words of the door a text can hold, told from the text's own words: most texts hold none, and are through.

A word of the door (`password`, `identified by`, `jdbc:`) can be in a text only where its stem, its longest run of
letters, is in a word of the text. The words of texts are learnt as they come: one without a stem is known from then
on, so that a text of known words costs a split and a look into a set. What a text may hold is never too little: the
gate says where looking is of use, and the patterns say what is there.
"""

import re
from collections.abc import Iterable
from typing import Final

_LETTERS: Final = bytes(at if chr(at).islower() and at < 128 else 32 for at in range(256))
_RUNS: Final = re.compile(r"[a-z]+")
_LEAST: Final = 2  # letters of a stem
_LONGEST: Final = 24  # letters of a word that is worth knowing: what is longer is seldom a word
_MOST_KNOWN: Final = 40_000  # words, some 3 MB


class Gate:
    """The words of a door, by their stems."""

    def __init__(self, words: Iterable[str]) -> None:
        """`words` are in lower case; those without two letters a to z in a row have no stem."""
        self._by_stem: dict[bytes, list[str]] = {}
        self._plain_signs: list[str] = []
        self._foreign: list[str] = []
        self._order = {word: place for place, word in enumerate(dict.fromkeys(words))}
        for word in self._order:
            stem = max(_RUNS.findall(word), key=len, default="")
            if len(stem) >= _LEAST:
                self._by_stem.setdefault(stem.encode(), []).append(word)
            else:
                (self._plain_signs if word.isascii() else self._foreign).append(word)
        self._plain: set[bytes] = set()
        self._telling: dict[bytes, tuple[bytes, ...]] = {}

    @property
    def known(self) -> int:
        """How many words of texts are kept in mind."""
        return len(self._plain) + len(self._telling)

    def opened(self, folded: str) -> list[str]:
        """The door's words that are in a text, in their order; `folded` is its lower case."""
        found: set[bytes] = set()
        unknown: list[bytes] = []
        for word in set(folded.encode(errors="replace").translate(_LETTERS).split()) - self._plain:
            stems = self._telling.get(word)
            if stems is None:
                unknown.append(word)
            else:
                found.update(stems)
        if unknown:
            found.update(self._learn(unknown))
        words = [word for word in self._plain_signs if word in folded]
        if not folded.isascii():
            words += [word for word in self._foreign if word in folded]
        if found:
            words += [word for stem in found for word in self._by_stem[stem] if word in folded]
            words.sort(key=self._order.__getitem__)
        return words

    def _learn(self, unknown: list[bytes]) -> list[bytes]:
        """The stems in words that were not met before; the words are kept in mind, but for those too long to be any."""
        joined = b" ".join(unknown)
        found = [stem for stem in self._by_stem if stem in joined]
        if self.known + len(unknown) > _MOST_KNOWN:
            self._plain.clear()
            self._telling.clear()
        for word in unknown:
            if len(word) <= _LONGEST:
                stems = tuple(stem for stem in found if stem in word)
                if stems:
                    self._telling[word] = stems
                else:
                    self._plain.add(word)
        return found
