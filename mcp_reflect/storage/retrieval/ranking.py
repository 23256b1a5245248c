"""From candidates to the few hits that recall shows: fit, worth, variety."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from mcp_reflect.models.common import GLOBAL
from mcp_reflect.models.lesson import Fit, Hit, Lesson, RecallQuery, RecordKind, Source, Trust
from mcp_reflect.security.redact import context_hash
from mcp_reflect.storage.effectiveness import Rates
from mcp_reflect.storage.retrieval.candidates import Candidate
from mcp_reflect.storage.retrieval.scoring import CLOSE
from mcp_reflect.storage.similarity import says_the_same, settled

SIMILAR_HITS: Final = 5  # of so many hits that are wanted, one may say what another says already
HALF_LIFE_DAYS: Final = 180.0
DAY: Final = 86_400.0
_MOST_RELEVANCE: Final = 1.15  # of relevance, task type and context together
_LARGEST_WEAK: Final = 0.499  # a weak hit scores less than any strong one
_TRUST: Final = {Trust.QUARANTINED: 0.0, Trust.OBSERVED: 0.5, Trust.CONFIRMED: 0.9, Trust.TRUSTED: 1.0}
_SHOWN: Final = (
    "id external_id kind text mistake correction task_type tags importance confidence times_applied trust source"
).split()

Scored = tuple[float, Candidate]


def rank(
    candidates: Iterable[Candidate], query: RecallQuery, rates: Rates, now: float, tied: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[Hit, ...], Counter[str]]:
    """Return the hits, best first, and how many lessons were held back, by reason.

    `rates` tell how often lessons of the scope worked, `now` is in seconds since 1970, `tied` names the candidates that
    contradict each, by id.
    """
    hidden = Counter[str]()
    fitting: list[Scored] = []
    for candidate in candidates:
        if reason := _reason_to_hide(candidate, query, rates):
            hidden[reason] += 1
        else:
            fitting.append((_score(candidate, query, rates, now), candidate))
    scores, reasons = settled(((score, candidate.lesson) for score, candidate in fitting), tied, rates)
    fitting = [(scores[candidate.lesson.id], candidate) for _, candidate in fitting]
    fitting.sort(key=lambda pair: (-pair[0], pair[1].lesson.id))
    chosen = _pick(fitting, query, hidden, tied)
    return tuple(_hit(one, score, query, now, reasons.get(one.lesson.id)) for score, one in chosen), hidden


def _reason_to_hide(candidate: Candidate, query: RecallQuery, rates: Rates) -> str | None:
    lesson = candidate.lesson
    if query.strong_only and not candidate.strong:
        return "weak"
    if query.kinds and lesson.kind not in query.kinds:
        return "other_kinds"
    if query.tags and not set(query.tags) & set(lesson.tags):
        return "other_tags"
    if lesson.importance < query.min_importance:
        return "below_min_importance"
    if query.min_effectiveness and rates.mean(lesson) < query.min_effectiveness:
        return "below_min_effectiveness"
    return "proved_harmful" if rates.harmful(lesson) else None


def _score(candidate: Candidate, query: RecallQuery, rates: Rates, now: float) -> float:
    """Return the score of a hit, 0..1: above one half for a strong one, else below.

    Relevance is scaled by .6 to 1 for worth; the same task type adds .1, the same context .05. A lesson that the very
    error identifies has the score 1.
    """
    if candidate.by_error and candidate.strong:
        return 1.0
    lesson = candidate.lesson
    worth = (
        0.4 * rates.mean(lesson)
        + 0.2 * lesson.importance
        + 0.1 * lesson.confidence
        + 0.15 * 0.5 ** (max(now - lesson.updated_at, 0) / DAY / HALF_LIFE_DAYS)
        + 0.15 * _TRUST[lesson.trust]
    )
    same_type, same_context = _same(lesson, query)
    relevance = candidate.match.score * (0.6 + 0.4 * worth) + 0.1 * same_type + 0.05 * same_context
    half = relevance / _MOST_RELEVANCE / 2
    return 0.5 + half if candidate.strong else min(half, _LARGEST_WEAK)


def _pick(
    fitting: list[Scored], query: RecallQuery, hidden: Counter[str], tied: Mapping[str, tuple[str, ...]]
) -> list[Scored]:
    """Choose as many as are wanted, in as many characters, without those that say the same.

    Unless `kinds` ask for them, a strategy gives way to the lesson of its run, and reflections to any lesson.
    """
    kinds = {candidate.lesson.kind for _, candidate in fitting}
    runs = {one.lesson.reflection_id for _, one in fitting if one.lesson.kind is RecordKind.LESSON} - {None}
    chosen: list[Scored] = []
    left = query.max_chars
    for score, candidate in fitting:
        lesson = candidate.lesson
        opposite = tied.get(lesson.id, ())  # contradicting lessons share most words
        others = [other.lesson for _, other in chosen if other.lesson.id not in opposite]
        if not query.kinds and lesson.kind is RecordKind.REFLECTION and kinds != {RecordKind.REFLECTION}:
            hidden["reflection"] += 1
        elif not query.kinds and lesson.kind is RecordKind.STRATEGY and lesson.reflection_id in runs:
            hidden["similar"] += 1
        elif len(chosen) >= query.limit:
            hidden["over_limit"] += 1
        elif sum(says_the_same(lesson.text, other.text) for other in others) > query.limit // SIMILAR_HITS:
            hidden["similar"] += 1
        elif len(lesson.text) > left:
            hidden["over_max_chars"] += 1
        else:
            left -= len(lesson.text)
            chosen.append((score, candidate))
    return chosen


def _hit(candidate: Candidate, score: float, query: RecallQuery, now: float, reason: str | None) -> Hit:
    lesson = candidate.lesson
    return Hit(
        **{name: getattr(lesson, name) for name in _SHOWN},
        effectiveness=None if lesson.effectiveness is None else round(lesson.effectiveness, 3),
        age_days=int(max(now - lesson.created_at, 0) // DAY),
        score=round(score, 4),
        fit=Fit.STRONG if candidate.strong else Fit.WEAK,
        why="; ".join((*_why(candidate, query), *((reason,) if reason else ()))),
        scope="global" if lesson.project == GLOBAL else None,
    )


def _same(lesson: Lesson, query: RecallQuery) -> tuple[bool, bool]:
    """Return (True if the task type is the same, True if the context is)."""
    same_type = query.task_type is not None and lesson.task_type == query.task_type
    return same_type, query.context is not None and lesson.context_hash == context_hash(query.context)


def _why(candidate: Candidate, query: RecallQuery) -> list[str]:
    """Return the reasons for a hit, as clauses."""
    lesson, match = candidate.lesson, candidate.match
    words = [word for word in match.words if word not in match.names]
    only_reflection = lesson.kind is RecordKind.REFLECTION and not query.kinds
    several = "s" if len(words) > 1 else ""
    close = (match.close or 0.0) >= CLOSE
    unlike = not (words or match.names or candidate.by_error or close)
    same_type, same_context = _same(lesson, query)
    clauses = (
        (candidate.by_error, "this very error is one of its symptoms"),
        (match.names, f"both name {_listed(match.names)}"),
        (words, f"shares the word{several} {_listed(words)}"),
        (close, "means much the same as your task"),
        (unlike, "shares no word with your task, but means something similar"),
        (candidate.other_tools, "it is about another tool than your task names"),
        (same_type, f"same task type ({lesson.task_type})"),
        (same_context, "same context"),
        (lesson.effectiveness is not None, f"effectiveness {lesson.effectiveness or 0:.2f} so far"),
        (lesson.strength > 1, f"learned {lesson.strength} times"),
        (lesson.source is Source.IMPORT, "imported: its words are from outside"),
        (only_reflection, "a reflection: there is no lesson on this yet"),
    )
    return [clause for holds, clause in clauses if holds]


def _listed(words: Iterable[str]) -> str:
    """Return up to five words as a list in a sentence."""
    *some, last = [*words][:5] or [""]
    return f"{', '.join(some)} and {last}" if some else last
