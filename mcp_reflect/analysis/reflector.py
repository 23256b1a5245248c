"""From the diagnosis and the analysis to one reflection, its scores and the lessons worth keeping."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final, Protocol, TypeAlias

from mcp_reflect.analysis.text import clip
from mcp_reflect.models.lesson import UNKNOWN_SCORE, LessonDraft, RecordKind, Source, lesson_text, told_lesson
from mcp_reflect.models.reflection import Analysis, Assessment, Insights, Link, Score
from mcp_reflect.models.run import Correction, Diagnosis, FindingKind, Trace

# What rules can score of a run, from what its events show. What they cannot know they do not score.


CRITERIA: Final = ("correctness", "helpfulness", "safety", "completeness", "efficiency")


def score(seen: Diagnosis, tests: tuple[int, int] | None) -> dict[str, Score]:
    """Scores in 0..1 by criterion, each with the counts behind it.

    `tests` are how many passed and failed in the last test report of the run. Efficiency is the share of calls that
    neither failed nor went round in a loop; completeness is 0 where the run ended without an answer and otherwise not
    known; whether an answer helped or did harm no rule can see.
    """
    found: dict[str, Score] = {}
    if tests is not None and sum(tests):
        passed, failed = tests
        reason = f"{passed} of {passed + failed} tests passed in the last report"
        found["correctness"] = Score(score=round(passed / (passed + failed), 4), reason=reason)
    if any(finding.kind is FindingKind.NO_ANSWER for finding in seen.findings):
        found["completeness"] = Score(score=0.0, reason="the run ended without an answer")
    if seen.calls:
        reason = f"{seen.wasted} of {seen.calls} calls failed or went in circles"
        found["efficiency"] = Score(score=round(1 - seen.wasted / seen.calls, 4), reason=reason)
    return found


# What scores a run by a criterion of its own: made elsewhere, given to the engine or found by its entry point.


GROUP: Final = "mcp_reflect.scorer"

Scores: TypeAlias = Mapping[str, Score | float | None]
"""By criterion: 0..1, null where it cannot be known; with a reason where there is one."""


class Scorer(Protocol):
    """Scores a run, redacted, by criteria that it names."""

    def score(self, trace: Trace) -> Scores | Awaitable[Scores]:
        """The scores of a run; it may be a coroutine."""
        ...


@cache
def installed() -> tuple[tuple[str, Scorer | Exception], ...]:
    """The scorers of other packages by the name of their entry point, or why one cannot be loaded."""
    return tuple(
        (entry.name, _made(entry.load)) for entry in sorted(entry_points(group=GROUP), key=lambda one: one.name)
    )


def forget() -> None:
    """Look for scorers anew: packages may have come or gone."""
    installed.cache_clear()


def _made(load: Callable[[], Any]) -> Scorer | Exception:
    try:
        return load()()
    except Exception as error:  # noqa: BLE001 - the edge to code that is not ours
        return error


# From what rules saw and what the agent or a model judged to one reflection, and what is worth keeping of it.


STRATEGY_BONUS: Final = 1.1  # a strategy is worth 10 % more than the reflection it comes from, at most 1
# What rules say is an answer to an agent that has the run before it: it stays within 2.5 kB as a whole.
MOST_SUMMARY: Final = 600
MOST_CHARS: Final = 140
MOST_POINTS: Final = 2
MOST_EVENTS: Final = 12
MOST_LESSONS: Final = 3  # of one run; the surest and most important ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A run as it was judged: by the analysis where there is one, by rules where not. Scores are in 0..1 or null."""

    reflection: str
    strategy: str | None
    importance: float | None
    confidence: float | None
    tags: tuple[str, ...]
    error_category: str | None
    first_failing_event: str | None
    source_event_ids: tuple[str, ...]
    insights: Insights | None
    lessons: tuple[LessonDraft, ...]
    assessment: Assessment | None = None


def judge(trace: Trace, seen: Diagnosis, analysis: Analysis | None, source: Source) -> Judged:
    """Put together what was seen and what was judged; `source` says who judged."""
    importance = seen.importance if analysis is None or analysis.importance is None else analysis.importance
    confidence = seen.confidence if analysis is None or analysis.confidence is None else analysis.confidence
    tags = _tags(trace, seen, analysis)
    return Judged(
        reflection=analysis.reflection if analysis else clip(seen.summary, MOST_SUMMARY),
        strategy=(analysis.strategy if analysis else None) or (seen.strategy and clip(seen.strategy, MOST_CHARS * 2)),
        importance=importance,
        confidence=confidence,
        tags=tags,
        error_category=_category(trace, seen),
        first_failing_event=seen.first_failing_event,
        source_event_ids=(analysis.source_event_ids if analysis else ()) or seen.source_event_ids[:MOST_EVENTS],
        insights=_insights(seen, analysis),
        assessment=analysis.assessment if analysis else None,
        lessons=_lessons(trace, seen, analysis, tags, source),
    )


def face(trace: Trace, judged: Judged, source: Source) -> LessonDraft:
    """What recall sees of the reflection itself."""
    return LessonDraft(
        kind=RecordKind.REFLECTION,
        text=judged.reflection,
        task_type=trace.task_type,
        context=trace.task,
        tags=judged.tags,
        importance=_score(judged.importance),
        confidence=_score(judged.confidence),
        source=source,
    )


def strategy(trace: Trace, judged: Judged, source: Source) -> LessonDraft | None:
    """The strategy as a record of its own: tagged, and 10 % more important than its reflection."""
    if not judged.strategy:
        return None
    return LessonDraft(
        kind=RecordKind.STRATEGY,
        text=judged.strategy,
        task_type=trace.task_type,
        context=trace.task,
        tags=tuple(dict.fromkeys(("strategy", *judged.tags))),
        importance=min(1.0, round(_score(judged.importance) * STRATEGY_BONUS, 4)),
        confidence=_score(judged.confidence),
        source=source,
    )


def links(seen: Diagnosis, judged: Judged) -> tuple[Link, ...]:
    """What the reflection is tied to: the events it rests on, the tools and errors in them."""
    events = [Link(relation="rests_on", to_kind="event", to_id=name) for name in judged.source_event_ids]
    tools = [Link(relation="about", to_kind="tool", to_id=item.tool) for item in seen.failures]
    errors = [Link(relation="shows", to_kind="failure", to_id=item.signature) for item in seen.failures]
    return tuple(dict.fromkeys((*events, *tools, *errors)))


def _category(trace: Trace, seen: Diagnosis) -> str | None:
    """The caller's word for the run's error first, then what was seen."""
    if trace.error is not None and trace.error.category is not None:
        return trace.error.category.value
    return seen.category.value if seen.category else None


def _tags(trace: Trace, seen: Diagnosis, analysis: Analysis | None) -> tuple[str, ...]:
    """The caller's and the analysis's tags; the category, the failing tool and the task type are always there."""
    given = (*trace.tags, *(analysis.tags if analysis else ()))
    category = _category(trace, seen)
    always = (category and category.removesuffix("_error"), _tool(seen), trace.task_type)
    return tuple(dict.fromkeys(tag for tag in (*given, *always) if tag))


def _tool(seen: Diagnosis) -> str | None:
    for failure in seen.failures:
        if failure.event_id == seen.first_failing_event:
            return failure.tool
    return seen.failures[0].tool if seen.failures else None


def _insights(seen: Diagnosis, analysis: Analysis | None) -> Insights | None:
    """What rules say by heading; an analysis speaks for itself, and only its own headings are kept."""
    if analysis is not None:
        read = analysis.insights
        if read is not None and read.summary == analysis.reflection:
            read = replace(read, summary=None)
        raw = {**(read.raw_sections if read else {}), **analysis.raw_sections}
        return replace(read or Insights(), raw_sections=raw) if raw else None
    improvements = tuple(text for text in seen.improvements if text not in seen.summary)
    recommendation = None if seen.recommendation == seen.strategy else seen.recommendation
    if not (seen.strengths or improvements or recommendation):
        return None
    return Insights(
        strengths=tuple(clip(text, MOST_CHARS) for text in seen.strengths[:MOST_POINTS]),
        improvements=tuple(clip(text, MOST_CHARS) for text in improvements[:MOST_POINTS]),
        recommendation=recommendation and clip(recommendation, MOST_CHARS),
    )


def _lessons(
    trace: Trace, seen: Diagnosis, analysis: Analysis | None, tags: tuple[str, ...], source: Source
) -> tuple[LessonDraft, ...]:
    text = told_lesson(analysis.mistake, analysis.correction) if analysis is not None else None
    if analysis is not None and text is not None:
        return (_told(trace, analysis, text, tags, source),)
    best = sorted(seen.corrections, key=lambda one: (-one.importance, -one.confidence, one.failed_event_id))
    return tuple(_seen(trace, one) for one in best[:MOST_LESSONS])


def _told(trace: Trace, analysis: Analysis, text: str, tags: tuple[str, ...], source: Source) -> LessonDraft:
    return LessonDraft(
        text=text,
        mistake=analysis.mistake or "",
        correction=analysis.correction or "",
        why=analysis.reflection,
        task_type=trace.task_type,
        context=trace.task,
        symptoms=analysis.symptoms,
        keywords=analysis.keywords,
        tags=tags,
        importance=_score(analysis.importance),
        confidence=_score(analysis.confidence),
        source=source,
    )


def _seen(trace: Trace, one: Correction) -> LessonDraft:
    tags = (*trace.tags, one.category.short, one.tool, trace.task_type)
    return LessonDraft(
        text=lesson_text(one.mistake, one.correction),
        mistake=one.mistake,
        correction=one.correction,
        task_type=trace.task_type,
        context=trace.task,
        symptoms=one.symptoms,
        keywords=one.keywords,
        tags=tuple(dict.fromkeys(tag for tag in tags if tag)),
        importance=one.importance,
        confidence=one.confidence,
        source=Source.RULES,
    )


def _score(value: float | None) -> float:
    return UNKNOWN_SCORE if value is None else value
