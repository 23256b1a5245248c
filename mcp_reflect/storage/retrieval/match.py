"""How well a lesson fits a question: strong, weak, or not worth its line."""

from typing import Final, NamedTuple

from mcp_reflect.storage.retrieval.question import SEVERAL

# What a fit takes; docs/recall.md tells users of them. Unrelated tasks reach less, most tasks in near words more.
STRONG: Final = 0.28  # the score of a strong fit
CLOSE: Final = 0.42  # closeness that is enough without several words
NEAR: Final = 0.22  # closeness of a weak fit
NEAR_FOR_MORE: Final = 0.15  # the same where the caller asks for more than a few
GUESSED: Final = 0.3  # what may be behind a trouble, for a weak fit to such a caller
LONG: Final = 20  # telling words from which on a question is a report, not a task in a sentence
_WORTH: Final = 0.18  # the score of a weak fit where the caller asks for a few
_WORTH_CLOSE: Final = 0.3  # closeness that it needs, if it shares no two words
_WEAK_BY_SEVERAL: Final = 0.12  # the score of a weak fit by several words, less close in meaning


class Relevance(NamedTuple):
    """The relevance of a row. `score` is in 0..1 and can be compared between questions.

    `plain` is the score before the best rows were taken into account, `close` the closeness of the meanings, 0..1 or
    None without vectors. `words` are the shared words as the question has them, the rarest first, and `names` those of
    them that are identifiers. `asked` counts the telling words of the question. `names_it` says that one of the names
    has the form of one, or is a program of the project: a rare word may be one of the language. `guessed` says how
    much the row has of what may be behind the trouble that the question describes.
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
        """True if the row surely has to do with the question: a shared identifier, or much of the rest."""
        several = len(self.words) >= SEVERAL or (self.close or 0.0) >= CLOSE
        return bool(self.names) or (self.plain >= STRONG and several)

    def in_common(self, near: float = NEAR) -> bool:
        """True if the row may have to do with the question: not by one common word, nor by a meaning less than `near`.

        Without vectors several words are enough.
        """
        if self.strong or (self.close or 0.0) >= near:
            return True
        return self.plain >= self._least_by_words

    @property
    def _least_by_words(self) -> float:
        """The score that is enough by the words alone."""
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
