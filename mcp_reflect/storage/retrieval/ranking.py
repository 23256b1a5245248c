"""From candidates to the few hits that recall shows: fit, worth, variety."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.common import GLOBAL
from mcp_reflect.models.lesson import Fit, Hit, Lesson, RecallQuery, RecordKind, Trust
from mcp_reflect.security.redact import context_hash
from mcp_reflect.storage.effectiveness import Rates
from mcp_reflect.storage.retrieval.candidates import Candidate, Candidates
from mcp_reflect.storage.retrieval.scoring import CLOSE
from mcp_reflect.storage.similarity import says_the_same, settled

SIMILAR_HITS: Final = 5  # of so many hits that are wanted, one may say what another says already
HALF_LIFE_DAYS: Final = 180.0
DAY: Final = 86_400.0
_MOST_RELEVANCE: Final = 1.15  # of relevance, task type and context together
_LARGEST_WEAK: Final = 0.499  # a weak hit scores less than any strong one

_TRUST: Final = {Trust.QUARANTINED: 0.0, Trust.OBSERVED: 0.5, Trust.CONFIRMED: 0.9, Trust.TRUSTED: 1.0}


@dataclass(frozen=True, slots=True)
class Ranked:
    """The hits, best first, and how many lessons were held back, by reason."""

    hits: tuple[Hit, ...]
    hidden: dict[str, int]


def rank(found: Candidates, ask: RecallQuery, rates: Rates, now: float, tied: Mapping[str, tuple[str, ...]]) -> Ranked:
    """Rank candidates.

    Args:
        found: The candidates of the question.
        ask: The question, with its filters.
        rates: How often lessons of the scope worked.
        now: Seconds since 1970.
        tied: Which candidates contradict which, by id.
    """
    hidden: Counter[str] = Counter(not_relevant=found.not_relevant, quarantined=found.held)
    fitting: list[tuple[float, Candidate]] = []
    for candidate in found.best:
        reason = _held_back(candidate, ask, rates)
        if reason:
            hidden[reason] += 1
        else:
            fitting.append((_score(candidate, ask, rates, now), candidate))
    scores, reasons = settled(((score, candidate.lesson) for score, candidate in fitting), tied, rates)
    fitting = [(scores[candidate.lesson.id], candidate) for _, candidate in fitting]
    fitting.sort(key=lambda pair: (-pair[0], pair[1].lesson.id))
    hits = tuple(_pick(_preferred(fitting, ask, hidden), ask, now, hidden, (tied, reasons)))
    return Ranked(hits, dict(sorted((+hidden).items())))


def _held_back(candidate: Candidate, ask: RecallQuery, rates: Rates) -> str | None:
    lesson = candidate.lesson
    if lesson.trust is Trust.QUARANTINED:
        return "quarantined"
    if ask.strong_only and not candidate.strong:
        return "weak"
    if ask.kinds and lesson.kind not in ask.kinds:
        return "other_kinds"
    if ask.tags and not set(ask.tags) & set(lesson.tags):
        return "other_tags"
    if lesson.importance < ask.min_importance:
        return "below_min_importance"
    if ask.min_effectiveness and rates.mean(lesson) < ask.min_effectiveness:
        return "below_min_effectiveness"
    if rates.harmful(lesson):
        return "proved_harmful"
    return None


def _score(candidate: Candidate, ask: RecallQuery, rates: Rates, now: float) -> float:
    """The score of a hit, 0..1: above one half for a strong one, else below.

    Relevance is scaled by .6 to 1 for worth; the same task type adds .1, the same context .05. A lesson that the very
    error identifies has the score 1.
    """
    if candidate.by_error:
        return 1.0
    lesson = candidate.lesson
    recency = 0.5 ** (max(now - lesson.updated_at, 0) / DAY / HALF_LIFE_DAYS)
    worth = (
        0.4 * rates.mean(lesson)
        + 0.2 * lesson.importance
        + 0.1 * lesson.confidence
        + 0.15 * recency
        + 0.15 * _TRUST[lesson.trust]
    )
    relevance = candidate.match.score * (0.6 + 0.4 * worth)
    relevance += 0.1 * _same_type(lesson, ask) + 0.05 * _same_context(lesson, ask)
    half = relevance / _MOST_RELEVANCE / 2
    return 0.5 + half if candidate.strong else min(half, _LARGEST_WEAK)


def _preferred(
    fitting: list[tuple[float, Candidate]], ask: RecallQuery, hidden: Counter[str]
) -> list[tuple[float, Candidate]]:
    """Drop what says the same as a lesson: the strategy of its run, and reflections, unless `kinds` ask for them."""
    if ask.kinds:
        return fitting
    runs = {one.lesson.reflection_id for _, one in fitting if one.lesson.kind is RecordKind.LESSON} - {None}
    only_reflections = all(one.lesson.kind is RecordKind.REFLECTION for _, one in fitting)
    kept: list[tuple[float, Candidate]] = []
    for score, candidate in fitting:
        lesson = candidate.lesson
        if lesson.kind is RecordKind.REFLECTION and not only_reflections:
            hidden["reflection"] += 1
        elif lesson.kind is RecordKind.STRATEGY and lesson.reflection_id in runs:
            hidden["similar"] += 1
        else:
            kept.append((score, candidate))
    return kept


def _pick(
    fitting: list[tuple[float, Candidate]],
    ask: RecallQuery,
    now: float,
    hidden: Counter[str],
    opposed: tuple[Mapping[str, tuple[str, ...]], Mapping[str, str]],
) -> Iterable[Hit]:
    tied, reasons = opposed
    chosen: list[Candidate] = []
    left = ask.max_chars
    for score, candidate in fitting:
        lesson = candidate.lesson
        if len(chosen) >= ask.limit:
            hidden["over_limit"] += 1
            continue
        opposite = tied.get(lesson.id, ())  # contradicting lessons share most words
        same = sum(_one_finding(candidate, other) for other in chosen if other.lesson.id not in opposite)
        if same > ask.limit // SIMILAR_HITS:
            hidden["similar"] += 1
        elif len(lesson.text) > left:
            hidden["over_max_chars"] += 1
        else:
            left -= len(lesson.text)
            chosen.append(candidate)
            yield _hit(candidate, score, ask, now, reasons.get(lesson.id))


def _one_finding(one: Candidate, other: Candidate) -> bool:
    return says_the_same(one.lesson.text, other.lesson.text, one.vector, other.vector)


def _hit(candidate: Candidate, score: float, ask: RecallQuery, now: float, reason: str | None) -> Hit:
    lesson = candidate.lesson
    return Hit(
        id=lesson.id,
        external_id=lesson.external_id,
        kind=lesson.kind,
        text=lesson.text,
        mistake=lesson.mistake,
        correction=lesson.correction,
        task_type=lesson.task_type,
        tags=lesson.tags,
        importance=lesson.importance,
        confidence=lesson.confidence,
        effectiveness=None if lesson.effectiveness is None else round(lesson.effectiveness, 3),
        times_applied=lesson.times_applied,
        trust=lesson.trust,
        source=lesson.source,
        age_days=int(max(now - lesson.created_at, 0) // DAY),
        score=round(score, 4),
        fit=Fit.STRONG if candidate.strong else Fit.WEAK,
        why="; ".join((*_why(lesson, candidate, ask), *((reason,) if reason else ()))),
        scope="global" if lesson.project == GLOBAL else None,
    )


def _same_type(lesson: Lesson, ask: RecallQuery) -> bool:
    return ask.task_type is not None and lesson.task_type == ask.task_type


def _same_context(lesson: Lesson, ask: RecallQuery) -> bool:
    return ask.context is not None and lesson.context_hash == context_hash(ask.context)


def _why(lesson: Lesson, candidate: Candidate, ask: RecallQuery) -> list[str]:
    """The reasons for a hit, as clauses."""
    reasons = _in_common(candidate)
    if candidate.tools_differ:
        reasons.append("it is about another tool than your task names")
    if _same_type(lesson, ask):
        reasons.append(f"same task type ({lesson.task_type})")
    if _same_context(lesson, ask):
        reasons.append("same context")
    if lesson.effectiveness is not None:
        reasons.append(f"effectiveness {lesson.effectiveness:.2f} so far")
    if lesson.strength > 1:
        reasons.append(f"learned {lesson.strength} times")
    if lesson.kind is RecordKind.REFLECTION and not ask.kinds:
        reasons.append("a reflection: there is no lesson on this yet")
    return reasons


def _in_common(candidate: Candidate) -> list[str]:
    """The reasons that lie in the lesson's text."""
    match = candidate.match
    if candidate.by_error:
        return ["this very error is one of its symptoms"]
    reasons = [f"both name {_listed(match.names)}"] if match.names else []
    words = [word for word in match.words if word not in match.names]
    if words:
        reasons.append(f"shares the words {_listed(words)}" if len(words) > 1 else f"shares the word {words[0]}")
    if (match.close or 0.0) >= CLOSE:
        reasons.append("means much the same as your task")
    return reasons or ["shares no word with your task, but means something similar"]


def _listed(words: Iterable[str]) -> str:
    *some, last = list(words)[:5]
    return f"{', '.join(some)} and {last}" if some else last
