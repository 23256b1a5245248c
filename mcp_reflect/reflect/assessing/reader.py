"""Reading judgements off sentences: clause by clause, with negation, hedging, contrast and what is only wished.

In a sentence with a contrast the last word counts ("correct in principle but wrong here"); where sentences
contradict each other, more of them decide, and none where they are even.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from mcp_reflect.reflect.assessing import lexicon as words

Subject = Literal["decision", "execution"]

BOTH: Final[tuple[Subject, ...]] = ("decision", "execution")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\d\"'(*-])|\n+")
_CONTRAST = re.compile(
    r"[;:]|,?\s\b(?:but|yet|although|though|however|nevertheless|nonetheless|whereas|while|even if|which shows|"
    r"so that|so|except that)\b,?|,\s(?:and\s)?(?=[a-z]+\s|the\s)|\band had\b"
)
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_MARKS = re.compile(r"[*_`#>]+")


@dataclass(frozen=True, slots=True)
class Judged:
    """What one sentence says: each null where it does not; `sure` is high, medium or low, null where it judges not."""

    decision: bool | None = None
    execution: bool | None = None
    sure: str | None = None


def read_sentences(text: str, about: Subject | None = None) -> list[Judged]:
    """What each sentence judges. `about` is what a sentence is taken to be about that does not say it itself."""
    found = [read_sentence(part, about) for part in _SENTENCE.split(_MARKS.sub(" ", text)) if part.strip()]
    return [one for one in found if one != Judged()]


def read_sentence(sentence: str, about: Subject | None = None) -> Judged:
    """What one sentence judges."""
    text = sentence.strip().lower().replace("’", "'")
    if text.endswith("?"):
        return Judged()
    for pattern, plain in words.IDIOMS:
        text = pattern.sub(plain, text)
    if words.REPORTED.search(text) and not words.REGRET.search(text):
        tokens = frozenset(_WORD.findall(text))
        return Judged(sure="low") if tokens & words.HEDGES and tokens & _JUDGED else Judged()
    reading = _Reading(about)
    for clause in _CONTRAST.split(text):
        reading.take(clause)
    return reading.judged()


class _Reading:
    """Takes the clauses of a sentence in order; a later judgement of the same thing replaces the earlier one."""

    def __init__(self, about: Subject | None) -> None:
        self._about: tuple[Subject, ...] = (about,) if about else ()
        self._said: dict[Subject, bool | None] = {}
        self._hedged = self._emphatic = self._unclear = False

    def take(self, clause: str) -> None:
        """Judge one clause."""
        tokens = _WORD.findall(clause)
        subjects = subjects_of(tokens)
        present = frozenset(tokens)
        if subjects:
            self._about = subjects
        if present & words.PARTLY:
            self._said |= dict.fromkeys(self._about, None)
        if "unclear" in present or "unsure" in present or "uncertain" in present:
            self._unclear = self._unclear or bool(self._about or present & _JUDGED)
            return
        if words.REGRET.search(clause):
            self._note(("decision",), good=False, present=present - {"could"})
            return
        if words.PLANNED.search(clause) or words.CONDITIONAL.search(clause):
            return
        if words.ASSUMED.search(clause):
            self._note(("decision",), good=False, present=present)
            return
        for subject, good in judgements(tokens, subjects, self._about):
            self._note(subject, good=good, present=present)

    def _note(self, subjects: tuple[Subject, ...], *, good: bool | None, present: frozenset[str]) -> None:
        self._hedged = self._hedged or bool(present & words.HEDGES)
        self._emphatic = self._emphatic or bool(present & words.EMPHASIS)
        for subject in subjects:
            self._said[subject] = None if present & words.PARTLY or self._said.get(subject, good) is None else good

    def judged(self) -> Judged:
        """What the clauses together say."""
        if not self._said:
            return Judged(sure="low") if self._unclear else Judged()
        sure = "low" if self._hedged or self._unclear else "high" if self._emphatic else "medium"
        return Judged(self._said.get("decision"), self._said.get("execution"), sure)


_JUDGED: Final = (
    words.DECISION_NOUNS | words.EXECUTION_NOUNS | words.GOOD_DECISION | words.BAD_DECISION | words.GOOD_EXECUTION
)


def subjects_of(tokens: list[str]) -> tuple[Subject, ...]:
    """What a clause is about: the first that it names, or both where it joins them; nothing where it names none."""
    places: dict[Subject, int] = {}
    for place, token in enumerate(tokens):
        if token in words.DECISION_NOUNS or token in words.DECISION_ACTS:
            places.setdefault("decision", place)
        elif token in words.EXECUTION_NOUNS or token in words.EXECUTION_ACTS:
            places.setdefault("execution", place)
    if len(places) == 2 and {"both", "neither"} & set(tokens):
        return BOTH
    return (min(places, key=lambda name: places[name]),) if places else ()


def judgements(
    tokens: list[str], subjects: tuple[Subject, ...], about: tuple[Subject, ...]
) -> list[tuple[tuple[Subject, ...], bool]]:
    """Each judging word of a clause with what it judges, negations counted; `about` is what was spoken of before."""
    found: list[tuple[tuple[Subject, ...], bool]] = []
    negations = 0
    named = bool(words.DECISION_NOUNS & set(tokens)) and subjects == ("decision",)
    for place, token in enumerate(tokens):
        if token in words.NEGATIONS:
            negations += not (token == "nor" and "neither" in tokens)  # noqa: S105 - a word, not a secret
            continue
        good = _worth(token, named=named)
        if good is None or (token in words.AMBIGUOUS and not _of_something_that_runs(tokens[:place], about)):
            continue
        whom = _judged_by(token, named, subjects, about)
        if whom:
            found.append((whom, good ^ bool(negations % 2)))
        negations = 0
    return found


def _of_something_that_runs(before: list[str], about: tuple[Subject, ...]) -> bool:
    """Whether what stands before an ambiguous word, or was spoken of last, is something that runs."""
    if before and before[-1] in words.PEOPLE:
        return False
    runs = words.EXECUTION_NOUNS | words.EXECUTION_ACTS | words.DECISION_NOUNS
    return bool(runs & set(before)) or (not before and "execution" in about)


def _worth(token: str, *, named: bool) -> bool | None:
    """Whether a word judges well or badly; null where it judges not."""
    if token in words.GOOD or token in words.GOOD_DECISION or token in words.GOOD_EXECUTION:
        return True
    if token in words.BAD or token in words.BAD_DECISION or token in words.BAD_EXECUTION:
        return False
    if named and (token in words.SUPPORTS or token in words.CONTRADICTS):
        return token in words.SUPPORTS
    return None


def _judged_by(
    token: str, named: bool, subjects: tuple[Subject, ...], about: tuple[Subject, ...]
) -> tuple[Subject, ...]:
    """What a judging word is about: what it can only be about, else the clause's own subject, else the last one."""
    if token in words.GOOD_EXECUTION or token in words.BAD_EXECUTION:
        return ("decision",) if named else ("execution",)
    if token in words.GOOD_DECISION or token in words.BAD_DECISION:
        return subjects if subjects == BOTH else ("decision",)
    return subjects or about
