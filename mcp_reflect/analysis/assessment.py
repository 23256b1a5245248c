"""The assessment in a reflection: whether the decision was appropriate, the execution effective, and how sure it is."""

import re
from collections.abc import Mapping
from typing import Final, Literal

from mcp_reflect.analysis.markdown import Section, field_name, split_sections
from mcp_reflect.analysis.text import pattern, word_set
from mcp_reflect.models.reflection import Assessment

Subject = Literal["decision", "execution"]
Level = Literal["high", "medium", "low"]

HIGH: Final = 0.75
"""A confidence in 0..1 from here on is high."""
MEDIUM: Final = 0.4
"""A confidence in 0..1 below this is low."""

# Words that name a subject, that judge one subject or either, and that say how sure the judgement is.
_DECISION: Final = word_set("""
    decision decisions choice choices judgement judgment selection decided decide chose chosen choosing choose picked
    picking selected selecting keeping killing marrying keep kill marry opted
""")
_EXECUTION: Final = word_set("""
    execution implementation outcome result results run runs component tool tools job call calls retry merge deployment
    rollout command query step steps attempt test tests executed executing ran running called implemented edited
    deployed it
""")
_GOOD: Final = word_set("""
    good right correct fine solid excellent great perfect better best ideal proper well flawless flawlessly smoothly
    perfectly correctly properly acceptable satisfactory
""")
_BAD: Final = word_set("""
    bad wrong incorrect poor poorly badly worse worst weak flawed inadequate unacceptable sloppy wrongly incorrectly
    problematic
""")
_GOOD_DECISION: Final = word_set("""
    appropriate wise sound justified reasonable sensible defensible suitable warranted prudent rational support
    supports
""")
_BAD_DECISION: Final = word_set("""
    inappropriate unwise unsound unjustified unreasonable unsuitable unwarranted mistake mistaken premature misguided
    backfired hasty ill-advised questionable regrettable contradicts
""")
_GOOD_EXECUTION: Final = word_set("""
    effective effectively successful successfully succeeded succeeds succeed worked works work completed met delivered
    deliver passed pass efficient achieved
""")
_BAD_EXECUTION: Final = word_set("""
    ineffective unsuccessful failed fails fail failing failure failures crashed crashes error errors broke broken stuck
    missed inefficient regressed stalled hung
""")
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
        (r"\b(?:am|is|are|was|were) (?:not|n't) (?:sure|certain|clear|known)\b", " unclear "),
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
    sections = split_sections(markdown, ("decision", "execution"))
    judged = [judgement for section in sections for judgement in _judgements(section)]
    decision = _TRUTH.get(stated.get("decision", ""), _majority(judged, "decision"))
    execution = _TRUTH.get(stated.get("execution", ""), _majority(judged, "execution"))
    if "confidence" in stated and (decision is not None or execution is not None):
        confidence = _level(stated["confidence"])
    else:
        levels = {level for _, level in judged}
        confidence = next((level for level in ("low", "high", "medium") if level in levels), None)
    return Assessment(decision_appropriate=decision, execution_effective=execution, confidence=confidence)


def level_of(share: float) -> Level:
    """A confidence in 0..1 as a word."""
    return "high" if share >= HIGH else "medium" if share >= MEDIUM else "low"


def _level(value: str) -> Level | None:
    words: dict[str, Level] = {"high": "high", "medium": "medium", "moderate": "medium", "low": "low"}
    number = value.rstrip("% ")
    if value in words or not re.fullmatch(r"[\d.]+", number):
        return words.get(value)
    return level_of(float(number) / (100 if "%" in value else 1))


def _judgements(section: Section) -> list[tuple[dict[Subject, bool], Level]]:
    """The judgements of a section's sentences; the heading is the subject of sentences that name none."""
    if _SKIPPED.search(section.name):
        return []
    subjects: tuple[Subject, ...] = ("decision", "execution")
    about: Subject | None = next((subject for subject in subjects if subject in section.name), None)
    text = re.sub(r"[*_`#>]+", " ", _LABEL.sub(" ", section.body)).replace("’", "'")
    found = [_sentence(part.strip().lower(), about) for part in _SENTENCE.split(text) if part.strip()]
    return [judgement for judgement in found if judgement is not None]


def _sentence(text: str, about: Subject | None) -> tuple[dict[Subject, bool], Level] | None:
    """The judgements of a sentence; a later clause corrects an earlier one ("right in principle but wrong here")."""
    if text.endswith("?"):
        return None
    for phrase, words in _PHRASES:
        text = phrase.sub(words, text)
    judged: dict[Subject, bool] = {}
    words = frozenset(_WORD.findall(text))
    subjects: tuple[Subject, ...] = (about,) if about else ()
    for clause in _CONTRAST.split(text):
        tokens = _WORD.findall(clause)
        subjects = _subjects(tokens) or subjects
        if _REGRET.search(clause):
            judged["decision"] = False
        elif not _PLANNED.search(clause):
            judged |= _clause(tokens, subjects)
    if words & _UNDECIDED:
        return ({}, "low") if words & (_DECISION | _EXECUTION) else None
    level: Level = "low" if words & _HEDGES and not _REGRET.search(text) else "high" if words & _EMPHASIS else "medium"
    return (judged, level) if judged else None


def _subjects(tokens: list[str]) -> tuple[Subject, ...]:
    """The subject that a clause names first, or both where it joins them."""
    named: list[Subject] = [
        "decision" if word in _DECISION else "execution" for word in tokens if word in _DECISION | _EXECUTION
    ]
    return ("decision", "execution") if {"both", "neither"} & {*tokens} and len({*named}) == 2 else tuple(named[:1])


def _clause(tokens: list[str], subjects: tuple[Subject, ...]) -> dict[Subject, bool]:
    """The judgements of a clause; each negation before a judging word turns it round."""
    judged: dict[Subject, bool] = {}
    negations = 0
    for word in tokens:
        negations += word in _NEGATIONS
        good = word in _GOOD | _GOOD_DECISION | _GOOD_EXECUTION
        if not subjects or not (good or word in _BAD | _BAD_DECISION | _BAD_EXECUTION):
            continue
        whom = subjects
        if word in _GOOD_DECISION | _BAD_DECISION:
            whom = ("decision",)
        elif word in _GOOD_EXECUTION | _BAD_EXECUTION:
            whom = ("execution",)
        judged |= dict.fromkeys(whom, good ^ bool(negations % 2))
        negations = 0
    return judged


def _majority(judged: list[tuple[dict[Subject, bool], Level]], subject: Subject) -> bool | None:
    """The judgement of most sentences; None where none judges, or where they are even."""
    balance = sum(1 if values[subject] else -1 for values, _ in judged if subject in values)
    return None if balance == 0 else balance > 0
