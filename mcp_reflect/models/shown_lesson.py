"""A lesson as it is shown: whole, or to the end of a sentence with the id that gives the rest."""

from dataclasses import dataclass
from typing import Final, Protocol

from mcp_reflect.models.lesson_words import TOLD_SO, lesson_text, short_id, with_id
from mcp_reflect.patterns import lazy_compile

MOST_SHOWN: Final = 1_200
"""Characters of a lesson that are shown; hardly any is longer."""

_LEAST_MISTAKE: Final = 40  # characters of a shortened mistake that still say something
_SENTENCE_END: Final = lazy_compile(r"[.!?](?=\s)|[。！？]|\n")
_SPACES: Final = lazy_compile(r"\s+")


class HasWords(Protocol):
    """What has the words of a lesson: a stored record, or a hit."""

    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def mistake(self) -> str | None: ...
    @property
    def correction(self) -> str | None: ...
    @property
    def is_told(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class LessonWords:
    """The words of a lesson; `correction` is empty where it has one text alone."""

    mistake: str
    correction: str

    @property
    def whole(self) -> str:
        """The mistake and the correction as one text (`lesson_text`), or the one that is not empty."""
        if not self.mistake or not self.correction:
            return self.mistake or self.correction
        return lesson_text(self.mistake, self.correction)


def words_of(lesson: HasWords) -> LessonWords:
    """Return the words of a lesson, each once: what was imported may have one text as mistake and correction."""
    mistake = lesson.mistake or ""
    correction = lesson.correction or ""
    if not mistake or not correction:
        return LessonWords("", lesson.text)
    if _plain(mistake) in _plain(correction):
        return LessonWords("", correction)
    if _plain(correction) in _plain(mistake):
        return LessonWords("", mistake)
    return LessonWords(mistake, correction)


def named_lesson(lesson: HasWords) -> str:
    """Return a lesson as hooks show it: its id, its words, and whether an agent gave them as a person's."""
    text = with_id(lesson.id, shown_lesson(lesson))
    if not lesson.is_told:
        return text
    return f"{text} ({TOLD_SO})"


def shown_lesson(lesson: HasWords, most: int = MOST_SHOWN) -> str:
    """Return a lesson in at most so many characters, whole if it fits.

    The correction is what the reader has to do: the mistake is shortened first, then left out, and only then is the
    correction shortened. A note says where the rest is.
    """
    words = words_of(lesson)
    if len(words.whole) <= most:
        return words.whole
    note = f" (shortened; recall_lessons with task {short_id(lesson.id)} has the rest)"
    room = most - len(note)
    has_room_for_mistake = len(words.correction) <= room - _LEAST_MISTAKE
    if not words.mistake or not has_room_for_mistake:
        return f"{first_sentences(words.correction, room)}{note}"
    mistake = first_sentences(words.mistake, room - len(words.correction) - len(". "))
    return f"{lesson_text(mistake, words.correction)}{note}"


def first_sentences(text: str, most: int) -> str:
    """Return the whole sentences at the beginning of a text that fit; of one that does not, its first words."""
    if len(text) <= most:
        return text
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, most)]
    if ends:
        return text[: ends[-1]].strip()
    whole_words = text[: most - len(" …")].rsplit(maxsplit=1)[0]
    return f"{whole_words} …"


def _plain(text: str) -> str:
    """Return a text as it is compared: in lower case, with single blanks and without a full stop."""
    return _SPACES.sub(" ", text).strip(" .!?。！？").casefold()
