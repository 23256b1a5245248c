"""Lessons, how they are recalled, the outcomes of using them, and how they are consolidated."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from mcp_reflect.patterns import lazy_compile

EDITABLE: Final = tuple(
    "mistake correction why task_type importance tags wrong_call right_call guard".split()
)
"""The fields of a stored lesson that a person may change."""


class RecordKind(StrEnum):
    """The kind of a record: lessons are semantic memory, strategies procedural, reflections episodic."""

    LESSON = "lesson"
    STRATEGY = "strategy"
    REFLECTION = "reflection"


class State(StrEnum):
    """Whether a record is recalled: only an active one is. Only a person's `erase` deletes records."""

    ACTIVE = "active"
    RETIRED = "retired"
    ARCHIVED = "archived"


class Trust(StrEnum):
    """How far a record is trusted: `quarantined` waits for a person, a proven outcome confirms, a person trusts."""

    QUARANTINED = "quarantined"
    OBSERVED = "observed"
    CONFIRMED = "confirmed"
    TRUSTED = "trusted"


class Source(StrEnum):
    """The author of a record."""

    AGENT = "agent"
    MODEL = "model"
    PERSON = "person"
    IMPORT = "import"
    RULES = "rules"


class GuardMode(StrEnum):
    """What a guard does at a call that goes against its lesson; a lesson without a mode follows the setting."""

    ENFORCE = "enforce"  # refused every time
    HOLD = "hold"  # refused once, if a person stands behind the lesson
    TELL = "tell"
    OFF = "off"


class Fit(StrEnum):
    """How well a lesson fits a task. A weak hit never scores as much as a strong one."""

    STRONG = "strong"
    WEAK = "weak"


class Evidence(StrEnum):
    """The basis of an outcome; an agent's own word counts least."""

    SELF = "self"
    USER = "user"
    METRIC = "metric"
    TEST = "test"


_SHORT_ID_CHARS: Final = 6  # 30 random bits
_WORD: Final = lazy_compile(r"[^\W\d_]{2,}")
_PRIOR_OUTCOMES: Final = (
    4  # outcomes at an even chance that a lesson is taken to have had before its first one
)
FEW: Final = 3
"""Lessons that a recall returns where the caller says nothing else."""
UNKNOWN_SCORE: Final = 0.5
"""The score of a record without a score."""
HARMFUL_RATE: Final = 0.25
"""The smoothed rate of good outcomes at which a lesson is no longer recalled."""


def is_kept(
    trust: Trust, source: Source, guard_mode: GuardMode | None, pinned_at: float | None
) -> bool:
    """Return whether a person keeps a record of these values: they wrote, trust, enforce or pinned it."""
    is_trusted = trust is Trust.TRUSTED or source is Source.PERSON
    is_held = guard_mode in (GuardMode.ENFORCE, GuardMode.HOLD)
    return is_trusted or is_held or pinned_at is not None


def lesson_text(mistake: str, correction: str) -> str:
    """Return a lesson as one text: the mistake, then the correction."""
    end = "" if mistake.rstrip()[-1:] in ".!?。！？" else "."
    return f"{mistake.rstrip()}{end} {correction.strip()}"


def short_id(lesson_id: str) -> str:
    """Return the end of a lesson's id, which record_outcome, forget_lesson and the command line take."""
    return f"les_{lesson_id[-_SHORT_ID_CHARS:]}"


def with_id(lesson_id: str, text: str) -> str:
    """Return a lesson as hooks show it: the short form of its id, then the text."""
    return f"{short_id(lesson_id)}: {text}"


def told_lesson(mistake: str | None, correction: str | None) -> str | None:
    """Return the text of a lesson that may lack its mistake or its correction (None or empty); None if it lacks both."""
    if mistake and correction:
        return lesson_text(mistake, correction)
    if mistake:
        return f"Tried without success: {mistake}"
    return correction


def has_content(*texts: str | None, letters: int = 3) -> bool:
    """Return whether the different words of the texts have at least `letters` letters in total."""
    words = {word.lower() for text in texts for word in _WORD.findall(text or "")}
    return sum(map(len, words)) >= letters


_LABELED: Final = lazy_compile(
    r"(?is)^\W*(?:mistake|problem|what went wrong|wrong)\W*:\W*(?P<mistake>.+?)"
    r"\W*\b(?:correction|fix|solution|instead|what works|right)\W*:\W*(?P<correction>.+)$"
)
_INSTRUCTION: Final = (  # what is sure to begin an instruction: other words may go on about the mistake
    r"(?:(?:so|then|please|always|now|next time|in future|first|better|(?:I|we|you) (?:should|must|will))[ ,]+)*"
    r"(?:instead|use|run|rerun|do|don['’]t|never|avoid"
    r"|add|set|go|put|call|make|check|try|install|deploy|write|read|open|create|remove|delete|replace|switch|update|upgrade"
    r"|pin|pass|send|keep|move|wait|retry|ask|verify|ensure|prefer|fix|start|stop|restart|configure|enable|disable"
    r"|increase|raise|lower|reduce|commit|push|pull|merge|rebase|rename|catch|skip|ignore|wrap|clear|generate|declare|convert)"
    r"\b(?!\s+(?:is|was|are|were|has|had|of)\b)|(?:I|we|you) should(?:n['’]t| not)? have\b|把|请|使用|改用|应该|必须|不要|先|用"
)
_TWO_SENTENCES: Final = lazy_compile(  # a dot inside of a name, as in `.env`, ends no sentence; nor does a semicolon
    rf"(?is)(?P<mistake>\S.{{8,}}?(?:[.!?](?=\s)|[。！？]))\s*(?P<correction>(?:{_INSTRUCTION}).*\S)"
)
_ADVICE: Final = lazy_compile(f"(?i){_INSTRUCTION}")


def lesson_parts(text: str) -> tuple[str, str]:
    """Return the mistake and the correction in a text; an empty one for each that its form does not show.

    The forms are "Mistake: … Fix: …", a sentence with an instruction behind it, and an instruction alone.
    """
    parts = _LABELED.match(text) or _TWO_SENTENCES.match(text)
    if parts is not None:
        return parts["mistake"].strip(), parts["correction"].strip()
    stripped = text.strip()
    if _ADVICE.match(stripped):
        return "", stripped
    return "", ""


TOLD_SO: Final = "told: an agent says that a person said so"
"""What is shown with a lesson that an agent stored as a person's word, until a person keeps it."""

ORIGINS: Final = {
    "imported": "imported from outside",
    "repeated": "repeats text from outside",
    "told": TOLD_SO,
}
"""What `Hit.why` says of words that came from outside."""


def waits(reason: str) -> str:
    """Return the text that stands in place of one in quarantine."""
    return f"(in quarantine: {reason}. A person sees it with `mcp-reflect lessons review`.)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonDraft:
    """A record to be stored. Only lessons have `mistake` and `correction`. Scores are in 0..1.

    `wrong_call` and `right_call` are a shell command, or JSON of {tool, arguments}; `guard` is the readable form of
    guards.guard, and `unarmed` the reason why it does nothing yet. `told` says that an agent gave it as a person's word.
    """

    kind: RecordKind = RecordKind.LESSON
    text: str
    mistake: str | None = None
    correction: str | None = None
    why: str | None = None
    task_type: str | None = None
    context: str | None = None
    symptoms: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 0.5
    external_id: str | None = None
    wrong_call: str | None = None
    right_call: str | None = None
    guard: str | None = None
    unarmed: str | None = None
    guard_mode: GuardMode | None = None
    state: State = State.ACTIVE
    trust: Trust = Trust.OBSERVED
    source: Source = Source.AGENT
    told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson(LessonDraft):
    """A stored record.

    `guard_repeats` counts calls against its guard that were made all the same and worked, one after the other.
    Times are seconds since 1970 (UTC); `effectiveness` is None until the first outcome.

    `wins` and `losses` are sums of outcomes, weighted by evidence; `proof` is the weight of those that are more than
    an agent's own word. `strength` counts how often the lesson was learned. `held` is the reason of a quarantine.
    `outside` says that its words repeat words from outside, `agent` names the program whose agent stored it.
    `suspicion` is the reason why hooks and prompts do not show it, by the rules of `rules_version` (0: not judged yet).
    `pinned_at` is the time at which a person pinned it, None for one that is not.
    """

    id: str
    project: str
    context_hash: str | None = None
    held: str | None = None
    outside: bool = False
    agent: str | None = None
    suspicion: str | None = None
    rules_version: int = 0
    reflection_id: str | None = None
    strength: int = 1
    times_applied: int = 0
    effectiveness: float | None = None
    wins: float = 0.0
    losses: float = 0.0
    proof: float = 0.0
    guard_repeats: int = 0
    pinned_at: float | None = None
    created_at: float
    updated_at: float

    @property
    def rate(self) -> float:
        """The rate of its good outcomes, 0..1, smoothed by four outcomes at an even chance: lessons rank by it."""
        outcomes = self.wins + self.losses
        return (self.wins + _PRIOR_OUTCOMES / 2) / (outcomes + _PRIOR_OUTCOMES)

    @property
    def harmful(self) -> bool:
        """True if its outcomes prove that it does more harm than good: four failures in a row, or as clear a record.

        Outcomes never take a lesson out of use that a person keeps.
        """
        return self.rate <= HARMFUL_RATE and not self.is_kept_by_person

    @property
    def is_kept_by_person(self) -> bool:
        """True if a person wrote, trusts, enforces or pinned it: an agent may propose a change of it, and never makes one."""
        return is_kept(self.trust, self.source, self.guard_mode, self.pinned_at)

    @property
    def is_told(self) -> bool:
        """True if an agent says that a person said so, and no person keeps it: nobody knows whether that is right."""
        return self.told and not self.is_kept_by_person

    def estimate(self) -> dict[str, float | bool]:
        """Return what its outcomes say: the smoothed rate (`mean`) to three places, and whether it is harmful."""
        return {"mean": round(self.rate, 3), "harmful": self.harmful}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """A query of lessons. `strong_only` leaves out weak hits: hooks and prompts show none."""

    task: str
    task_type: str | None = None
    context: str | None = None
    symptoms: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    kinds: tuple[RecordKind, ...] = ()
    limit: int = FEW
    max_chars: int = 4000
    min_importance: float = 0.0
    min_effectiveness: float = 0.0
    strong_only: bool = False

    @property
    def wants_more(self) -> bool:
        """True if the caller asks for more lessons than an answer has by default."""
        return self.limit > FEW


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A recalled lesson. `score` (0..1, strong from .5) is comparable between answers; `why` explains it in words.

    `text` is the lesson as it is shown: whole, apart from the few that are very long.
    """

    id: str
    external_id: str | None = None
    kind: RecordKind
    text: str
    mistake: str | None = None
    correction: str | None = None
    task_type: str | None = None
    tags: tuple[str, ...] = ()
    importance: float
    confidence: float
    effectiveness: float | None = None
    times_applied: int
    trust: Trust
    source: Source
    is_told: bool = False
    age_days: int
    score: float
    fit: Fit
    why: str
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The result of `recall_lessons`. `hidden` counts the lessons that were left out, by reason.

    `mode` is "id" where a lesson was asked for by its id: its text is whole, however long.
    """

    recall_id: str
    lessons: tuple[Hit, ...]
    hidden: Mapping[str, int] = field(default_factory=dict[str, int])
    mode: str = "lexical"
    scope: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The result of storing a lesson: `status` is stored, merged, quarantined or proposed.

    For merged and proposed, `lesson_id` is the other one: a person keeps it, and decides about a proposal.
    `evidence` is `told` for a person's word that an agent gave. `text` is the lesson as it is kept, None in quarantine;
    `similar` is one of nearly the same meaning, with its id.
    """

    lesson_id: str
    status: str
    reason: str | None = None
    text: str | None = None
    similar: tuple[str, str] | None = None
    guard: str | None = None
    evidence: str | None = None
    scope: str
    ignored: tuple[str, ...] = ()


PARTIAL: Final = 0.5
"""The success of an outcome that says "partial"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeDraft:
    """An outcome to be recorded. `success` is 1, `PARTIAL` or 0; a recall, lessons, or both are named.

    `of_task` credits none of the recall's lessons: it is the task's outcome alone. `backed`: an agent's word, with
    results or a quotation that it typed.
    """

    success: float
    recall_id: str | None
    lesson_ids: tuple[str, ...]
    evidence: Evidence
    note: str | None
    of_task: bool = False
    backed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """A lesson after an outcome. Effectiveness is in 0..1, None where no outcome counts for its worth yet."""

    id: str
    effectiveness: float | None
    times_applied: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeResult:
    """The result of `record_outcome`. `reason` says why it counts for less than was sent, or for nothing.

    `counts` is false where it changes the worth of no lesson. `evidence` is `told` for results and quotations that an
    agent typed and no hook saw, else one of `Evidence`.
    """

    updated: tuple[Updated, ...]
    evidence: str
    reason: str | None = None
    counts: bool = True
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """The result of `forget_lesson`. `reason` says why the lesson stays: a person decides."""

    lesson_id: str
    state: State
    reason: str | None = None
    scope: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Records that say the same: `gone` are archived, `keep` is strengthened and may get the words of `wording`."""

    keep: str
    gone: tuple[str, ...]
    reason: str
    wording: LessonDraft | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generalization:
    """A new lesson, and the records that it is derived from."""

    lesson: LessonDraft
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Archiving:
    """A useless record to be archived."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamPlan:
    """The changes of a dream. `looked_at` counts records; `clusters` are ids of similar ones.

    `refused` explains the proposals of the host or a model that are not in the plan.
    """

    looked_at: int
    clusters: tuple[tuple[str, ...], ...] = ()
    merges: tuple[Merge, ...] = ()
    generalizations: tuple[Generalization, ...] = ()
    archivings: tuple[Archiving, ...] = ()
    refused: tuple[str, ...] = ()
    thinker: str
    note: str | None = None
    tokens: int = 0

    @property
    def empty(self) -> bool:
        """True if it changes nothing."""
        return not (self.merges or self.generalizations or self.archivings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dream:
    """The result of a dream. `dream_id` is None if nothing changed."""

    dream_id: str | None
    status: str
    plan: DreamPlan
    added: tuple[str, ...] = ()
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """The result of an undo: the records that are as before, and those that stay because they changed since."""

    dream_id: str
    restored: tuple[str, ...]
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Conditions on records; None and empty mean any. All `words` must occur, in any case (of ASCII letters).

    `held` asks for records in quarantine, False for others. Records without an outcome have no effectiveness (0..1).
    """

    words: tuple[str, ...] = ()
    kind: RecordKind | None = RecordKind.LESSON
    state: State | None = State.ACTIVE
    held: bool | None = None
    task_type: str | None = None
    tag: str | None = None
    min_effectiveness: float | None = None
    limit: int = 50
    offset: int = 0
