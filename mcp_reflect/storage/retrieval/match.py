"""How well a lesson fits a question: strong, weak, or not worth its line."""

from typing import Final, NamedTuple

from mcp_reflect.storage.retrieval.question import SEVERAL

# What a fit takes; docs/recall.md tells users of them. Unrelated tasks reach less, most tasks in near words more.

STRONG: Final = 0.28
"""The score of a strong fit."""

CLOSE: Final = 0.42
"""The closeness that is enough for a strong fit without several shared words."""

NEAR: Final = 0.22
"""The closeness of a weak fit."""

NEAR_FOR_MORE: Final = 0.15
"""The closeness of a weak fit where the caller asks for more than a few lessons."""

GUESSED: Final = 0.3
"""What a lesson needs of the likely causes of a trouble, for a weak fit where the caller asks for more than a few."""

LONG: Final = 20
"""The telling words from which on a question is a report, not a task in a sentence."""

_WORTH: Final = 0.18
"""The score of a weak fit that is worth its line where the caller asks for a few lessons."""

_WORTH_CLOSE: Final = 0.3
"""The closeness that such a fit needs, if it shares fewer than two words."""

_WEAK_BY_SEVERAL: Final = 0.12
"""The score of a weak fit by several words that is not near in meaning."""


class Relevance(NamedTuple):
    """The relevance of a row of the index to a question.

    - `score`: 0..1, can be compared between questions; rows are ordered by it.
    - `plain`: the score by words and meaning alone, before the best rows moved the question and guesses were added.
    - `close`: the closeness of the meanings, 0..1, None without vectors.
    - `words`: the shared words as the question has them, the rarest first.
    - `names`: those of the shared words that are identifiers, or so rare that they may be names.
    - `asked`: the number of telling words of the question.
    - `names_it`: one of the names has the form of an identifier, or is a program of the project. Any other name is only
      rare, and may be a rare word of the language.
    - `guessed`: how much the row has of what may be behind the trouble that the question describes.
    """

    row: int
    score: float
    plain: float
    close: float | None
    words: tuple[str, ...]
    names: tuple[str, ...]
    asked: int = 0
    names_it: bool = False
    guessed: float = 0.0

    @property
    def strong(self) -> bool:
        """True if the row surely has to do with the question: it shares an identifier, or much of words and meaning."""
        several = len(self.words) >= SEVERAL or (self.close or 0.0) >= CLOSE
        return bool(self.names) or (self.plain >= STRONG and several)

    def in_common(self, near: float = NEAR) -> bool:
        """True if the row may have to do with the question: it is `near` in meaning, or shares several words.

        One common word is not enough: it is shared by chance. Without vectors any several words are.
        """
        if self.strong or (self.close or 0.0) >= near:
            return True
        return self.plain >= self._least_by_words

    @property
    def _least_by_words(self) -> float:
        """The `plain` score that is enough by words alone, for a row that is not near in meaning."""
        if len(self.words) < SEVERAL:
            return STRONG
        if self.close is None:
            return 0.0
        return _WEAK_BY_SEVERAL

    @property
    def earns_its_line(self) -> bool:
        """True if the row is worth reading where the caller asks for a few: much is shared, in words or in meaning.

        Without vectors the words decide as `in_common` says.
        """
        if self.strong or self.close is None:
            return self.in_common()
        by_both = len(self.words) >= SEVERAL or self.close >= _WORTH_CLOSE
        return self.plain >= _WORTH and by_both
