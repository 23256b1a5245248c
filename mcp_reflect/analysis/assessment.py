"""The assessment in a reflection: of the decision, of its execution, and its certainty."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from mcp_reflect.analysis.markdown import Section, field_name, split_sections
from mcp_reflect.models.reflection import Assessment

# The words by which a text judges: what it judges, how, how surely, and where it only asks, wishes or plans.
#
# They are ordinary English of reviews and retrospectives, each with its forms; none is taken from a data set.


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


DECISION_NOUNS: Final = _set("decision decisions choice choices judgement judgment selection")
DECISION_ACTS: Final = _set(
    "decided decide chose chosen choosing choose picked picking selected selecting keeping killing marrying keep "
    "kill marry assumed assuming opted"
)
EXECUTION_NOUNS: Final = _set(
    "execution executions implementation outcome result results run runs component tool tools job call calls retry "
    "merge deployment rollout command request query step steps attempt performance tests test it"
)
EXECUTION_ACTS: Final = _set("executed executing ran running called calling implemented edited carried deployed")

GOOD: Final = _set(
    "good right correct fine solid excellent great perfect better best strong ideal proper well flawless flawlessly "
    "smoothly perfectly correctly properly nicely adequate acceptable satisfactory"
)
BAD: Final = _set(
    "bad wrong incorrect poor poorly badly worse worst weak flawed inadequate unacceptable sloppy sloppily wrongly "
    "incorrectly improper problematic disappointing careless unsatisfactory"
)
GOOD_DECISION: Final = _set(
    "appropriate appropriately wise wisely sound justified reasonable sensible defensible suitable suited warranted "
    "prudent rational well-reasoned well-founded fitting"
)
BAD_DECISION: Final = _set(
    "inappropriate unwise unsound unjustified unreasonable unsuitable unwarranted mistake mistaken mistakenly "
    "premature misguided backfired hasty irrational ill-advised questionable misjudged misjudgement regrettable"
)
GOOD_EXECUTION: Final = _set(
    "effective effectively successful successfully succeeded succeeds succeed worked works work completed met meets "
    "delivered delivers deliver passed passes pass efficient efficiently achieved achieves achieve fulfilled smooth"
)
BAD_EXECUTION: Final = _set(
    "ineffective ineffectively unsuccessful unsuccessfully failed fails fail failing failure failures crashed crashes "
    "crash error errors broke broken breaks stuck missed misses miss inefficient regressed regression stalled hung "
    "exception exceptions"
)
# Words of every trade: a verdict only where something that runs stands before them, not a person.
AMBIGUOUS: Final = _set(
    "worked works work completed met meets delivered delivers deliver passed passes pass missed misses miss hung broke"
)
PEOPLE: Final = _set("i he she they we you who his her their our my")
NEGATIONS: Final = _set(
    "not no never neither nor nothing none nobody without hardly scarcely barely lacks lacked lack cannot rarely"
)
HEDGES: Final = _set(
    "might may could perhaps possibly maybe seems seem seemed seemingly appears appear appeared apparently probably "
    "likely presumably arguably suspect guess somewhat tentatively unclear uncertain unsure"
)
EMPHASIS: Final = _set(
    "clearly definitely certainly obviously undoubtedly unquestionably evidently surely absolutely decidedly plainly "
    "unmistakably indisputably"
)
PARTLY: Final = _set("partly partially mixed half-way")

_SURE: Final = "surely_so"
_NOT: Final = "not"
# Turns of phrase, in order, and the plain words that say the same.
IDIOMS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), plain)
    for pattern, plain in (
        (
            r"\b(?:without|beyond|(?:there (?:is|was) )?no)(?: an?y?| the| shadow of| reasonable)* doubts?\b",
            " clearly ",
        ),
        (r"\b(?:can(?:not| not|'t)|could not|couldn't|hard to|difficult to) (?:tell|say|know|judge)\b", " unclear "),
        (r"\b(?:am|is|are|was|were) (?:not|n't|far from) (?:sure|certain|clear|known)\b", " is unclear "),
        (r"\b(?:do|does|did)(?: not|n't) know\b", " unclear "),
        (r"\b(?:could|can) (?:hardly|scarcely|not|n't) (?:have (?:been|gone) |be |go )better\b", " was good "),
        (r"\b(?:anything but|far from|by no means|in no way|nowhere near|not at all)\b", f" {_NOT} "),
        (r"n't\b", f" {_NOT}"),
        (r"\bno reason (?:not |)to\b", " decision wrong to "),
        (r"\b(?:every|good|ample|sound) reasons? to\b", " decision right to "),
        (r"\b(?:pa(?:id|ys?) off|bore fruit|as good as could be expected)\b", " succeeded "),
        (r"\b(?:rolled back|reverted|undone|timed[ -]out|time-?out|ran out of|fell short|falls? short)\b", " failed "),
        (r"\bin a loop\b|\bin circles\b", " stuck "),
        (r"\bwould (?:make|take) the same (?:choice|decision)\b", " decision right "),
        (r"\bwould do (?:it|the same|this) again\b", " decision right "),
    )
)
# What is done to a decision in words: "the metrics support the decision".
SUPPORTS: Final = _set(
    "support supports supported justify justifies confirm confirms confirmed vindicate vindicated bear"
)
CONTRADICTS: Final = _set("contradict contradicts contradicted undermine undermines undermined refute refuted refutes")

REGRET: Final = re.compile(
    r"\b(?:should|ought to|needed to|could)(?: not| never)? have (?!been\b)|\bwish (?:i|we) had\b|"
    r"\binstead of (?!the\b)"
)
ASSUMED: Final = re.compile(r"\b(?:assum\w+|thought|believed|mistook|misread|misunderstood|misinterpreted)\b")
PLANNED: Final = re.compile(
    r"\b(?:next|will|shall|going to|must|need to|needs to|make sure|ensure|recommend\w*|suggest that|"
    r"should (?!(?:not |never )?have\b)|ought to (?!have\b)|let us|consider|mitigate|avoid|prevent)\b|'ll\b|^\W*to \w"
)
CONDITIONAL: Final = re.compile(
    r"^\W*(?:if|unless|had|suppose|whether|were)\b|\bwould(?: not)? have\b|\bwould\b|\bif\b"
)
REPORTED: Final = re.compile(r"\bwhether\b|\b(?:asked|wondered|asks|wonders) (?:if|me|us|him|her|them)\b")


# Reading judgements off sentences: clause by clause, with negation, hedging, contrast and what is only wished.
#
# In a sentence with a contrast the last word counts ("correct in principle but wrong here"); where sentences
# contradict each other, more of them decide, and none where they are even.


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
    for pattern, plain in IDIOMS:
        text = pattern.sub(plain, text)
    if REPORTED.search(text) and not REGRET.search(text):
        tokens = frozenset(_WORD.findall(text))
        return Judged(sure="low") if tokens & HEDGES and tokens & _JUDGED else Judged()
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
        if present & PARTLY:
            self._said |= dict.fromkeys(self._about, None)
        if "unclear" in present or "unsure" in present or "uncertain" in present:
            self._unclear = self._unclear or bool(self._about or present & _JUDGED)
            return
        if REGRET.search(clause):
            self._note(("decision",), good=False, present=present - {"could"})
            return
        if PLANNED.search(clause) or CONDITIONAL.search(clause):
            return
        if ASSUMED.search(clause):
            self._note(("decision",), good=False, present=present)
            return
        for subject, good in judgements(tokens, subjects, self._about):
            self._note(subject, good=good, present=present)

    def _note(self, subjects: tuple[Subject, ...], *, good: bool | None, present: frozenset[str]) -> None:
        self._hedged = self._hedged or bool(present & HEDGES)
        self._emphatic = self._emphatic or bool(present & EMPHASIS)
        for subject in subjects:
            self._said[subject] = None if present & PARTLY or self._said.get(subject, good) is None else good

    def judged(self) -> Judged:
        """What the clauses together say."""
        if not self._said:
            return Judged(sure="low") if self._unclear else Judged()
        sure = "low" if self._hedged or self._unclear else "high" if self._emphatic else "medium"
        return Judged(self._said.get("decision"), self._said.get("execution"), sure)


_JUDGED: Final = DECISION_NOUNS | EXECUTION_NOUNS | GOOD_DECISION | BAD_DECISION | GOOD_EXECUTION


def subjects_of(tokens: list[str]) -> tuple[Subject, ...]:
    """What a clause is about: the first that it names, or both where it joins them; nothing where it names none."""
    places: dict[Subject, int] = {}
    for place, token in enumerate(tokens):
        if token in DECISION_NOUNS or token in DECISION_ACTS:
            places.setdefault("decision", place)
        elif token in EXECUTION_NOUNS or token in EXECUTION_ACTS:
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
    named = bool(DECISION_NOUNS & set(tokens)) and subjects == ("decision",)
    for place, token in enumerate(tokens):
        if token in NEGATIONS:
            negations += not (token == "nor" and "neither" in tokens)  # noqa: S105 - a word, not a secret
            continue
        good = _worth(token, named=named)
        if good is None or (token in AMBIGUOUS and not _of_something_that_runs(tokens[:place], about)):
            continue
        whom = _judged_by(token, named, subjects, about)
        if whom:
            found.append((whom, good ^ bool(negations % 2)))
        negations = 0
    return found


def _of_something_that_runs(before: list[str], about: tuple[Subject, ...]) -> bool:
    """Whether what stands before an ambiguous word, or was spoken of last, is something that runs."""
    if before and before[-1] in PEOPLE:
        return False
    runs = EXECUTION_NOUNS | EXECUTION_ACTS | DECISION_NOUNS
    return bool(runs & set(before)) or (not before and "execution" in about)


def _worth(token: str, *, named: bool) -> bool | None:
    """Whether a word judges well or badly; null where it judges not."""
    if token in GOOD or token in GOOD_DECISION or token in GOOD_EXECUTION:
        return True
    if token in BAD or token in BAD_DECISION or token in BAD_EXECUTION:
        return False
    if named and (token in SUPPORTS or token in CONTRADICTS):
        return token in SUPPORTS
    return None


def _judged_by(
    token: str, named: bool, subjects: tuple[Subject, ...], about: tuple[Subject, ...]
) -> tuple[Subject, ...]:
    """What a judging word is about: what it can only be about, else the clause's own subject, else the last one."""
    if token in GOOD_EXECUTION or token in BAD_EXECUTION:
        return ("decision",) if named else ("execution",)
    if token in GOOD_DECISION or token in BAD_DECISION:
        return subjects if subjects == BOTH else ("decision",)
    return subjects or about


# The assessment that a reflection in markdown gives: of the decision, of its execution, and how surely.


_LABEL = re.compile(
    r"\b(?P<what>decision[ _](?:was[ _])?appropriate|execution[ _](?:was[ _])?effective|confidence)"
    r"(?:[ _](?:in|level|score|that)\b[^.\n:=]{0,60}?)?[\W_]{0,4}?(?::|=|\bis\b|\bwas\b|\bof\b)[\s*_`\"']*"
    r"(?P<value>yes|no|true|false|high|medium|moderate|low|null|unknown|unclear|[01]?\.\d+|[01]\b|\d{1,3}\s*%)",
    re.IGNORECASE,
)
_TRUTH: Final[Mapping[str, bool]] = {"yes": True, "true": True, "no": False, "false": False}
# A confidence in 0..1 as a word: the upper quarter is high, below two fifths is low.
HIGH: Final = 0.75
MEDIUM: Final = 0.4
_ABOUT: Final[dict[str, Subject]] = {"decision": "decision", "execution": "execution"}
_SKIPPED = re.compile(r"recommend|next|suggest|action_item|advice|strateg|todo|plan|improvement|strength|question")


def read_assessment(markdown: str) -> Assessment:
    """What a text says of the decision and its execution; null where it does not say.

    What it states as a label (`Execution effective: no`) goes before what its sentences say.
    """
    stated: dict[str, str] = {}
    for match in _LABEL.finditer(markdown):
        stated.setdefault(field_name(match["what"]).split("_")[0], match["value"].lower())
    judged = [one for section in split_sections(markdown, _ABOUT) for one in _read(section)]
    decision = _TRUTH.get(stated.get("decision", ""), _most([one.decision for one in judged]))
    execution = _TRUTH.get(stated.get("execution", ""), _most([one.execution for one in judged]))
    said = decision is not None or execution is not None
    return Assessment(
        decision_appropriate=decision,
        execution_effective=execution,
        confidence=_level(stated["confidence"]) if said and "confidence" in stated else _sure(judged),
    )


def _read(section: Section) -> list[Judged]:
    if _SKIPPED.search(section.name):
        return []
    about: Subject | None = next((subject for word, subject in _ABOUT.items() if word in section.name), None)
    return read_sentences(_LABEL.sub(" ", section.body), about)


def _most(said: list[bool | None]) -> bool | None:
    """What more sentences say; null where none says anything, or they are even."""
    balance = said.count(True) - said.count(False)
    return None if balance == 0 else balance > 0


def _sure(judged: list[Judged]) -> str | None:
    """Low where any judgement is hedged, high where one is emphatic and none hedged, else medium."""
    levels = {one.sure for one in judged}
    return next((level for level in ("low", "high", "medium") if level in levels), None)


def _level(value: str) -> str | None:
    if value in ("high", "medium", "low"):
        return value
    if value == "moderate":
        return "medium"
    number = value.rstrip("% ")
    if not re.fullmatch(r"[\d.]+", number):
        return None
    return level_of(float(number) / (100 if "%" in value else 1))


def level_of(share: float) -> str:
    """A confidence in 0..1 as a word."""
    return "high" if share >= HIGH else "medium" if share >= MEDIUM else "low"
