"""From candidates to the few hits that are shown: relevance, effectiveness, variety."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.common import GLOBAL
from mcp_reflect.models.lesson import Hit, Lesson, RecallQuery, RecordKind, Trust
from mcp_reflect.security.redact import context_hash
from mcp_reflect.storage.effectiveness import Rates
from mcp_reflect.storage.retrieval.candidates import Candidate, Looked
from mcp_reflect.storage.retrieval.lexical import SURE_CLOSE, Gate, gate_for
from mcp_reflect.storage.similarity import settled, shared, telling_words

SAME_HIT: Final = 0.9  # two hits with more of their words in common say the same
LOOK_ALIKES: Final = 5  # of so many hits that are wanted, one may say what another says already
BY_ERROR: Final = 1.0  # relevance, task type and context together reach 1.15, and such a lesson has relevance 1
HALF_LIFE_DAYS: Final = 180.0
DAY: Final = 86_400.0

_TRUST: Final = {Trust.QUARANTINED: 0.0, Trust.OBSERVED: 0.5, Trust.CONFIRMED: 0.9, Trust.TRUSTED: 1.0}


@dataclass(frozen=True, slots=True)
class Ranked:
    """The hits, best first, and how many were held back, by reason."""

    hits: tuple[Hit, ...]
    hidden: dict[str, int]


def rank(found: Looked, ask: RecallQuery, rates: Rates, now: float, tied: Mapping[str, tuple[str, ...]]) -> Ranked:
    """Rank candidates. `rates` are the scope's base rates, `now` seconds since 1970, `tied` who contradicts whom."""
    hidden: Counter[str] = Counter(not_relevant=found.not_relevant)
    fitting: list[tuple[float, Candidate]] = []
    known = found.candidates
    asked = [candidate for candidate in known if not candidate.by_error]
    # What is in quarantine is told of where it would be shown, and opens the gate for nothing else.
    held = gate_for(asked)
    gate = gate_for([candidate for candidate in asked if candidate.lesson.trust is not Trust.QUARANTINED])
    for candidate in known:
        if candidate.lesson.trust is Trust.QUARANTINED:
            hidden["quarantined"] += candidate.by_error or held.lets_in(candidate)
            continue
        reason = _held_back(candidate, gate, ask, rates)
        if reason:
            hidden[reason] += 1
        else:
            fitting.append((_score(candidate, ask, rates, now), candidate))
    scores, reasons = settled(((score, candidate.lesson) for score, candidate in fitting), tied, rates)
    fitting = [(scores[candidate.lesson.id], candidate) for _, candidate in fitting]
    fitting.sort(key=lambda pair: (-pair[0], pair[1].lesson.id))
    hits = tuple(_pick(_preferred(fitting, ask, hidden), ask, now, hidden, (tied, reasons)))
    return Ranked(hits, dict(sorted((+hidden).items())))


def _held_back(candidate: Candidate, gate: Gate, ask: RecallQuery, rates: Rates) -> str | None:
    lesson = candidate.lesson
    if not candidate.by_error and not gate.lets_in(candidate):
        return "not_relevant"
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
    """Relevance in 0..1, scaled by .6 to 1 for worth, plus .1 for the task type and .05 for the context.

    A lesson that the very error shows comes before all that only share words.
    """
    lesson = candidate.lesson
    recency = 0.5 ** (max(now - lesson.updated_at, 0) / DAY / HALF_LIFE_DAYS)
    worth = (
        0.4 * rates.mean(lesson)
        + 0.2 * lesson.importance
        + 0.1 * lesson.confidence
        + 0.15 * recency
        + 0.15 * _TRUST[lesson.trust]
    )
    same_type = ask.task_type is not None and lesson.task_type == ask.task_type
    same_context = _same_context(lesson, ask)
    fit = candidate.fit * (0.6 + 0.4 * worth)
    return fit + 0.1 * same_type + 0.05 * same_context + BY_ERROR * candidate.by_error


def _preferred(
    fitting: list[tuple[float, Candidate]], ask: RecallQuery, hidden: Counter[str]
) -> list[tuple[float, Candidate]]:
    """Without `kinds`, reflections stand in only where there is neither a lesson nor a strategy."""
    if ask.kinds or all(candidate.lesson.kind is RecordKind.REFLECTION for _, candidate in fitting):
        return fitting
    kept = [pair for pair in fitting if pair[1].lesson.kind is not RecordKind.REFLECTION]
    if len(kept) < len(fitting):
        hidden["reflection"] = len(fitting) - len(kept)
    return kept


def _pick(
    fitting: list[tuple[float, Candidate]],
    ask: RecallQuery,
    now: float,
    hidden: Counter[str],
    opposed: tuple[Mapping[str, tuple[str, ...]], Mapping[str, str]],
) -> Iterable[Hit]:
    tied, reasons = opposed
    chosen: dict[str, set[str]] = {}
    left = ask.max_chars
    for score, candidate in fitting:
        lesson = candidate.lesson
        if len(chosen) >= ask.limit:
            hidden["over_limit"] += 1
            continue
        words, opposite = telling_words(lesson.text), tied.get(lesson.id, ())  # opposites look alike
        same = sum(shared(words, other) >= SAME_HIT for name, other in chosen.items() if name not in opposite)
        if same > ask.limit // LOOK_ALIKES:
            hidden["similar"] += 1
        elif len(lesson.text) > left:
            hidden["over_max_chars"] += 1
        else:
            left -= len(lesson.text)
            chosen[lesson.id] = words
            yield _hit(candidate, score, ask, now, reasons.get(lesson.id))


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
        why="; ".join((*_why(lesson, candidate, ask), *((reason,) if reason else ()))),
        scope="global" if lesson.project == GLOBAL else None,
    )


def _same_context(lesson: Lesson, ask: RecallQuery) -> bool:
    return ask.context is not None and lesson.context_hash == context_hash(ask.context)


def _why(lesson: Lesson, candidate: Candidate, ask: RecallQuery) -> list[str]:
    reasons = [f"shares {', '.join(candidate.terms[:5])}"] if candidate.terms else []
    if candidate.by_error:
        reasons = ["this very error is a symptom of it"]
    if candidate.close is not None and candidate.close >= SURE_CLOSE:
        reasons.append(f"means something close ({candidate.close:.2f})")
    if ask.task_type is not None and lesson.task_type == ask.task_type:
        reasons.append(f"same task type ({lesson.task_type})")
    if _same_context(lesson, ask):
        reasons.append("same context")
    if lesson.effectiveness is not None:
        reasons.append(f"effectiveness {lesson.effectiveness:.2f} so far")
    if lesson.strength > 1:
        reasons.append(f"learnt {lesson.strength} times")
    if lesson.kind is RecordKind.REFLECTION and not ask.kinds:
        reasons.append("a reflection: there is no lesson on this yet")
    return reasons
