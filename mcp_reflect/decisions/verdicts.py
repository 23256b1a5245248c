"""Read a verdict on a decision out of plain words, by those of verdict_words.txt.

A clause counts where its subject is named in it, or by the heading that it stands under. A question, a condition and
what is given as a reason count for nothing, and clauses that say both leave the verdict open.
"""

import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

from mcp_reflect.models.reflection import Assessment
from mcp_reflect.text.word_lists import read_words_by_heading

MOST_CHARS: Final = 20_000  # of a text that is read

_Value = TypeVar("_Value", bool, str)

_DECISION: Final = "decision"
_EXECUTION: Final = "execution"
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_CLAUSE: Final = re.compile(
    r";\s|,?\s\b(?:but|although|though|however|while|whereas|yet|and"
    r"|aber|obwohl|jedoch|und|pero|aunque|mais|bien que)\b\s",
    re.IGNORECASE,
)
_REASON: Final = re.compile(
    r"\b(?:because|since|given that|due to|despite|in spite of|trotz|a pesar de|malgré"
    r"|weil|denn|porque|parce que|car)\b.*",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(
    r"\?\s*$|\bcan['’]t\b"
    r"|\b(?:whether|if|would|could|might|unless|were (?:it|there)|more appropriate|cannot|unable"
    r"|unclear|not clear|no evidence|doubtful|ob|wenn|falls|wäre|si|serait|sería)\b",
    re.IGNORECASE,
)
_HEDGED: Final = re.compile(
    r"\b(?:partial(?:ly)?|partly|somewhat|mixed|in part|teilweise|en parte|en partie)\b",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"\b(?:not|never|neither|nor|no|without|hardly|nicht|kein\w*|ni|sans)\b|n['’]t\b", re.IGNORECASE
)
_LABEL: Final = re.compile(
    r"(?im)^\W*(?P<about>decision|execution)(?: was| is)?"
    r"[ _]?(?:appropriate(?:ness)?|effective(?:ness)?|quality)\b"
    r"[\s*_`:?–=-]{1,8}(?P<value>\w+)[^\n]*$"
)
_LABEL_VALUES: Final = {
    **dict.fromkeys(("yes", "true", "high", "good", "ja", "sí", "oui"), True),
    **dict.fromkeys(("no", "false", "low", "poor", "bad", "nein", "non"), False),
}
_NOT_ONLY: Final = re.compile(r"\b(?:not only|nicht nur|no solo|non seulement)\b", re.IGNORECASE)


def read_verdict(text: str, sections: Mapping[str, str]) -> Assessment | None:
    """Return the verdict that a text says in plain words, None where it says none. `sections` are its parts by heading.

    "The decision was sound, but its execution was poor." -> appropriate, not effective
    """
    verdicts: dict[str, set[bool]] = {_DECISION: set(), _EXECUTION: set()}
    parts = [("", text), *sections.items()]
    for heading, body in parts:
        subject = _subject_of_heading(heading)
        for clause in _clauses(_without_labels(body[:MOST_CHARS], verdicts)):
            _judge(clause, subject, verdicts)
    sections_with_headings = [f"{heading}: {body}" for heading, body in sections.items()]
    confidence = _confidence("\n".join([text, *sections_with_headings])[:MOST_CHARS])
    appropriate = _only_one(verdicts[_DECISION])
    effective = _only_one(verdicts[_EXECUTION])
    if appropriate is None and effective is None and confidence is None:
        return None
    return Assessment(
        decision_appropriate=appropriate, execution_effective=effective, confidence=confidence
    )


def _judge(clause: str, subject: str | None, verdicts: dict[str, set[bool]]) -> None:
    """Note in `verdicts` what a clause says of each subject that it is about; `subject` is that of its heading."""
    words = _words()
    subjects = [name for name in verdicts if words[f"{name} about"].search(clause)]
    if not subjects and subject:
        subjects = [subject]
    for name in subjects:
        verdict = _verdict_on(name, clause)
        if verdict is not None:
            verdicts[name].add(verdict)


def _verdict_on(name: str, clause: str) -> bool | None:
    """Return what a clause says of a subject; the first row that fits decides.

    | the clause has                | verdict                                         |
    |-------------------------------|-------------------------------------------------|
    | "not appropriate" or the like | False                                           |
    | "bad", and a denial           | None: "not bad" may mean much                   |
    | "bad" or the like             | False                                           |
    | "good" or the like            | True                                            |
    | none of these                 | None                                            |
    """
    words = _words()
    if words[f"{name} no"].search(clause):
        return False
    is_bad = words[f"{name} bad"].search(clause)
    if is_bad and _DENIED.search(clause):
        return None
    if is_bad:
        return False
    if words[f"{name} yes"].search(clause):
        return True
    return None


def _without_labels(text: str, verdicts: dict[str, set[bool]]) -> str:
    """Note lines such as `Decision appropriate: no`, and return the text without them."""
    for label in _LABEL.finditer(text):
        value = _LABEL_VALUES.get(label["value"].lower())
        if value is not None:
            verdicts[label["about"].lower()].add(value)
    return _LABEL.sub("", text)


def _clauses(text: str) -> list[str]:
    """Return the clauses that state something: no questions, no conditions, no reasons, nothing "in part".

    "It worked because the cache was bad, but why?" -> none; "It worked, but it was slow." -> "It worked", "it was slow."
    """
    clauses: list[str] = []
    for sentence in _SENTENCE.split(text):
        if not _OPEN.search(sentence):
            stated = _NOT_ONLY.sub("", _REASON.sub("", sentence))
            clauses += [part for part in _CLAUSE.split(stated) if not _HEDGED.search(part)]
    return clauses


def _subject_of_heading(heading: str) -> str | None:
    """Return what a section is about by its heading, None for both: the title of the whole names the decision, too."""
    if heading.lower().startswith(("reflection on", "reflexion", "# reflection")):
        return None
    words = _words()
    about = [name for name in (_DECISION, _EXECUTION) if words[f"{name} about"].search(heading)]
    return _only_one(about)


def _only_one(values: Collection[_Value]) -> _Value | None:
    """Return the value of a collection that has one alone; of several, nobody knows which is meant."""
    if len(values) != 1:
        return None
    return next(iter(values))


def _confidence(text: str) -> str | None:
    """Return the level of confidence that a text names, if it names one alone: "low", "medium" or "high"."""
    words = _words()
    levels = ("low", "medium", "high")
    return _only_one([level for level in levels if words[f"confidence {level}"].search(text)])


@cache
def _words() -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of the data file by the name of their section: "decision about", "decision bad" and so on."""
    lists = read_words_by_heading(Path(__file__).with_name("verdict_words.txt"))
    return {name: re.compile("|".join(lines), re.IGNORECASE) for name, lines in lists.items()}
