"""The assessment in a reflection: whether the decision was appropriate, the execution effective, and how sure it is."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from mcp_reflect.models.reflection import Assessment
from mcp_reflect.runs.markdown import field_name, split_sections
from mcp_reflect.runs.text import pattern, word_set

Subject = Literal["decision", "execution"]
Level = Literal["high", "medium", "low"]

HIGH: Final = 0.75  # a confidence in 0..1 from here on is high
MEDIUM: Final = 0.4  # below this it is low

_NAMES: Final[tuple[Subject, ...]] = ("decision", "execution")
# Each line: a subject (`either`: that of the clause), and the words that name, praise or blame it.
_SUBJECTS: Final[dict[str, Subject]] = {}
_JUDGING: Final[dict[str, tuple[Subject | None, bool]]] = {}
for _line in Path(__file__).with_name("judging_words.txt").read_text(encoding="utf-8").splitlines():
    _head, _, _words = _line.partition(": ")
    _subject: Subject | None = next((name for name in _NAMES if _head.startswith(name)), None)
    for _word in _words.split():
        if _subject and _head.endswith("names"):
            _SUBJECTS[_word] = _subject
        else:
            _JUDGING[_word] = (_subject, _head.endswith("praises"))

_NEGATIONS: Final = word_set("not no never neither nothing none nobody without hardly scarcely barely cannot rarely")
_HEDGES: Final = word_set(
    "might may perhaps possibly maybe seems seem seemed appears appeared apparently probably likely presumably"
)
_EMPHASIS: Final = word_set(
    "clearly definitely certainly obviously undoubtedly evidently surely absolutely unmistakably"
)
_UNDECIDED: Final = word_set("unclear uncertain unsure partly partially mixed")
_PHRASES: Final = tuple(
    (re.compile(phrase), words)
    for phrase, words in (
        (r"\b(?:without|beyond|(?:there (?:is|was) )?no)(?: an?y?| the| shadow of)* doubts?\b", " clearly "),
        (r"\b(?:can(?:not| not|'t)|hard to|difficult to) (?:tell|say|know|judge)\b", " unclear "),
        (
            r"(?:\b(?:am|is|are|was|were)|'(?:m|s|re)) (?:not|n't) (?:\w+ )?(?:sure|certain|clear|known|confident)\b",
            " unclear ",
        ),
        (r"\bonly (?:partially|partly)\b", " not "),
        (r"\b(?:highly|very|quite|fully|completely) (?:confident|sure|certain)\b", " clearly "),
        (r"\b(?:anything but|far from|by no means|not at all)\b", " not "),
        (r"n't\b", " not"),
        (r"\bpaid off\b", " succeeded "),
        (r"\b(?:every|good) reasons? to\b|\bwould make the same (?:choice|decision)\b", " the decision was right "),
        (r"\bno reason to\b", " the decision was wrong "),
        (r"\b(?:rolled back|reverted|timed[ -]out|time-?out|ran out of|fell short)\b", " failed run "),
    )
)
# Wishes, plans and questions judge nothing; a regret judges the decision.
_REGRET: Final = re.compile(r"\b(?:should|ought to|could)(?: not)? have (?!been\b)|\bassumed\b|\bwish (?:i|we) had\b")
_PLANNED: Final = pattern(r"""
    \b(?:next|will|shall|going to|must|needs? to|make sure|ensure|recommend\w*|should|ought to|consider|avoid|prevent
    |if|unless|whether|suppose|would)\b|^\W*to \w""")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z\d\"'(*-])|\n+")
_CONTRAST: Final = re.compile(
    r"[;:]|,?\s\b(?:but|yet|although|though|however|nevertheless|while|which shows|so)\b,?|,\s(?=[a-z]+\s)"
)
_WORD: Final = re.compile(r"[a-z]+(?:-[a-z]+)*")
_LABEL: Final = pattern(r"""
    (?i)\b(?P<what>decision[ _](?:was[ _])?appropriate|execution[ _](?:was[ _])?effective|confidence)
    (?:[ _](?:in|level|score|that)\b[^.\n:=]{0,60}?)?[\W_]{0,4}?(?::|=|\bis\b|\bwas\b|\bof\b)[\s*_`\"']*
    (?P<value>yes|no|true|false|high|medium|moderate|low|null|unknown|unclear|[01]?\.\d+|[01]\b|\d{1,3}\s*%)""")
_TRUTH: Final[Mapping[str, bool]] = {"yes": True, "true": True, "no": False, "false": False}
_LEVELS: Final[Mapping[str, Level]] = {"high": "high", "medium": "medium", "moderate": "medium", "low": "low"}
# Sections that judge nothing: they advise, or list what was good and bad.
_SKIPPED: Final = re.compile(
    r"recommend|next|suggest|action_item|advice|strateg|todo|plan|improvement|strength|question"
)


def read_assessment(markdown: str) -> Assessment:
    """Return what a text says of the decision and its execution; fields are None where it does not say.

    A label (`Execution effective: no`) takes precedence over sentences; of sentences the majority counts.
    """
    stated: dict[str, str] = {}
    for match in _LABEL.finditer(markdown):
        stated.setdefault(field_name(match["what"]).split("_")[0], match["value"].lower())
    judged: list[tuple[dict[Subject, bool], Level]] = []
    for section in split_sections(markdown, _NAMES):
        if _SKIPPED.search(section.name):
            continue
        # The heading is the subject of sentences that name none.
        about: Subject | None = next((subject for subject in _NAMES if subject in section.name), None)
        text = re.sub(r"[*_`#>]+", " ", _LABEL.sub(" ", section.body)).replace("’", "'")
        judged += filter(None, (_judgement(part.strip().lower(), about) for part in _SENTENCE.split(text)))
    decision = _TRUTH.get(stated.get("decision", ""), _majority(judged, "decision"))
    execution = _TRUTH.get(stated.get("execution", ""), _majority(judged, "execution"))
    levels = {level for _, level in judged}
    confidence = next((level for level in ("low", "high", "medium") if level in levels), None)
    if confidence == "high" and not any(values for values, _ in judged):  # confident, and of nothing that is said
        confidence = None
    if "confidence" in stated and (decision, execution) != (None, None):
        confidence = _level(stated["confidence"])
    return Assessment(decision_appropriate=decision, execution_effective=execution, confidence=confidence)


def level_of(share: float) -> Level:
    """A confidence in 0..1 as a word."""
    return "high" if share >= HIGH else "medium" if share >= MEDIUM else "low"


def _level(value: str) -> Level | None:
    number = value.rstrip("% ")
    if not re.fullmatch(r"[\d.]+", number):
        return _LEVELS.get(value)
    return level_of(float(number) / (100 if "%" in value else 1))


def _judgement(text: str, about: Subject | None) -> tuple[dict[Subject, bool], Level] | None:
    """The judgements of a sentence; a later clause corrects an earlier one ("right in principle but wrong here")."""
    if text.endswith("?"):
        return None
    said = text
    for phrase, words in _PHRASES:
        text = phrase.sub(words, text)
    judged: dict[Subject, bool] = {}
    subjects: tuple[Subject, ...] = (about,) if about else ()
    for clause in _CONTRAST.split(text):
        tokens = _WORD.findall(clause)
        if judged and _UNDECIDED & {*tokens}:  # a doubt after a judgement takes its certainty, not the judgement
            return judged, "low"
        named: list[Subject] = [_SUBJECTS[word] for word in tokens if word in _SUBJECTS and word != "it"]
        named = named or [_SUBJECTS["it"]] * ("it" in tokens)
        both = {"both", "neither"} & {*tokens} and len({*named}) == 2
        subjects = _NAMES if both else tuple(named[:1]) or subjects
        if _REGRET.search(clause):
            judged["decision"] = False
        elif subjects and not _PLANNED.search(clause):
            judged |= _clause(tokens, subjects)
    words = frozenset(_WORD.findall(text))
    if words & _UNDECIDED:
        return ({}, "low") if words & _SUBJECTS.keys() else None
    level: Level = "low" if words & _HEDGES and not _REGRET.search(text) else "high" if words & _EMPHASIS else "medium"
    return (judged, level) if judged or (level == "high" and "confident" in said) else None


def _clause(tokens: list[str], subjects: tuple[Subject, ...]) -> dict[Subject, bool]:
    """The judgements of a clause; each negation before a judging word turns it round."""
    judged: dict[Subject, bool] = {}
    negated = False
    for word in tokens:
        negated ^= word in _NEGATIONS
        if word in _JUDGING:
            subject, good = _JUDGING[word]
            judged |= dict.fromkeys((subject,) if subject else subjects, good ^ negated)
            negated = False
    return judged


def _majority(judged: list[tuple[dict[Subject, bool], Level]], subject: Subject) -> bool | None:
    """The judgement of most sentences; None where none judges, or where they are even."""
    balance = sum(1 if values[subject] else -1 for values, _ in judged if subject in values)
    return None if balance == 0 else balance > 0
