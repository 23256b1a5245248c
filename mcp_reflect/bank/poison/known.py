"""What was found out about words, kept: most texts are made of the same ones."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

_MOST_WORDS: Final = 20_000  # that are known again
_LONGEST_KEPT: Final = 40  # letters of such a word

_Found = TypeVar("_Found")


class Known(dict[str, _Found], Generic[_Found]):
    """What `find` says of each word that is asked for; emptied when they are too many, without the very long ones."""

    def __init__(self, find: Callable[[str], _Found]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, word: str) -> _Found:
        found = self._find(word)
        if len(self) >= _MOST_WORDS:
            self.clear()
        if len(word) <= _LONGEST_KEPT:
            self[word] = found
        return found
