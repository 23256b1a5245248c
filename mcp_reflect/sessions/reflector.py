"""From the facts of a run and the analysis of an agent or a model to one reflection and the lesson in it."""

from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, TypeAlias

from mcp_reflect.models.common import Link
from mcp_reflect.models.lesson import (
    UNKNOWN_SCORE,
    LessonDraft,
    RecordKind,
    Source,
    told_lesson,
)
from mcp_reflect.models.reflection import Analysis, Insights, Reflection, Score
from mcp_reflect.models.run import Diagnosis, ErrorCategory, Outcome, Trace

CRITERIA: Final = ("correctness", "helpfulness", "safety", "completeness", "efficiency")
STRATEGY_BONUS: Final = (
    1.1  # a strategy is worth 10 % more than the reflection it comes from, at most 1
)
MOST_FACTS: Final = 12_000  # characters of all facts in a prompt
MOST_EVENTS: Final = 12
OPEN_CATEGORIES: Final = ("tool_error", "external_api_error", "llm_error")
"""Words of other lists that do not name the cause: what the events show does."""


def score(seen: Diagnosis, tests: tuple[int, int] | None) -> dict[str, Score]:
    """Scores in 0..1 by criterion, each with its counts; criteria that the events do not show are left out.

    `tests` are how many passed and failed in the last test report of the run. Efficiency is the share of calls that
    neither failed nor went round in a loop.
    """
    scores: dict[str, Score] = {}
    if tests is not None and sum(tests):
        passed = tests[0]
        reason = f"{passed} of {sum(tests)} tests passed in the last report"
        scores["correctness"] = Score(score=round(passed / sum(tests), 4), reason=reason)
    if seen.calls:
        reason = f"{seen.wasted} of {seen.calls} calls failed or went in circles"
        scores["efficiency"] = Score(score=round(1 - seen.wasted / seen.calls, 4), reason=reason)
    return scores


Scores: TypeAlias = Mapping[str, Score | float | None]
"""By criterion: 0..1, None where it cannot be known; with a reason where there is one."""


class Scorer(Protocol):
    """Scores a run, redacted, by its own criteria. It is given to the engine."""

    def score(self, trace: Trace) -> Scores | Awaitable[Scores]:
        """The scores of a run; it may be a coroutine."""
        ...


def judge(
    trace: Trace, seen: Diagnosis, analysis: Analysis | None, source: Source, **about: Any
) -> tuple[Reflection, tuple[LessonDraft, ...]]:
    """Combine the facts of a run with the analysis of `source`: a reflection, and the lesson of the analysis.

    Without an analysis there are facts alone: no lesson, no strategy and no scores. `about` has the other fields of
    the reflection, its thinker, time and scope.
    """
    category = error_category(trace, seen)
    tags = _tags(trace, seen, analysis, category)
    drafts: list[LessonDraft] = []
    if analysis is not None:
        text = told_lesson(analysis.mistake, analysis.correction)
        if text:
            drafts.append(_told(trace, analysis, text, tags, source))
    by = analysis or facts_alone(trace, seen)
    reflection = Reflection(
        reflection=by.reflection,
        strategy=by.strategy,
        importance=by.importance,
        confidence=by.confidence,
        tags=tags,
        error_category=category,
        first_failing_event=seen.first_failing_event,
        source_event_ids=by.source_event_ids or seen.source_event_ids[:MOST_EVENTS],
        insights=_insights_of(by),
        assessment=by.assessment,
        **about,
    )
    return reflection, tuple(drafts)


def facts_alone(trace: Trace, seen: Diagnosis) -> Analysis:
    """The facts as the reflection of a run that nobody judged, with the values that they give it.

    A run that did not reach its goal is critical, what worked or half worked is a valuable insight.
    """
    missed = trace.outcome in (Outcome.FAILURE, Outcome.ERROR, Outcome.TIMEOUT)
    return Analysis(
        reflection=seen.summary,
        importance=0.85 if missed else 0.7,
        confidence=_confidence(trace, seen, missed=missed),
    )


def _confidence(trace: Trace, seen: Diagnosis, *, missed: bool) -> float:
    """How plainly the events show what happened; even where they show nothing."""
    if missed and seen.first_failing_event:
        return 0.9
    if missed or not trace.events:
        return UNKNOWN_SCORE
    return 0.85


def error_category(trace: Trace, seen: Diagnosis) -> str | None:
    """The kind of the error: the caller's own word, where it says more than that something failed, else what is seen."""
    word = trace.error.word if trace.error else None
    if not word:
        word = _word_of_event(trace, seen)
    says_nothing = word in (None, *OPEN_CATEGORIES)
    if says_nothing and seen.category:
        return seen.category.value
    return word


def _word_of_event(trace: Trace, seen: Diagnosis) -> str | None:
    """The category that the first failing event names in its error object, where it is of another list than ours."""
    event = next((event for event in trace.events if event.id == seen.first_failing_event), None)
    if event is None:
        return None
    word = event.metadata.get("error_category")
    if not isinstance(word, str) or not word.endswith("_error") or word in {*ErrorCategory}:
        return None
    return word


def facts_text(seen: Diagnosis) -> str:
    """The facts as material for a model: the summary, and what it has no room for."""
    untold = [fact.text for fact in seen.facts if fact.text not in seen.summary]
    return "\n".join((seen.summary, *(f"- {text}" for text in untold)))[:MOST_FACTS]


def reflection_draft(trace: Trace, judged: Reflection, source: Source) -> LessonDraft:
    """The record by which recall finds the reflection itself."""
    return _draft(trace, judged, judged.reflection, judged.tags, source, kind=RecordKind.REFLECTION)


def strategy_draft(trace: Trace, judged: Reflection, source: Source) -> LessonDraft | None:
    """The strategy as a record of its own: tagged, and 10 % more important than its reflection."""
    if not judged.strategy:
        return None
    draft = _draft(
        trace,
        judged,
        judged.strategy,
        _each("strategy", *judged.tags),
        source,
        kind=RecordKind.STRATEGY,
    )
    return replace(draft, importance=min(1.0, round(draft.importance * STRATEGY_BONUS, 4)))


def links(seen: Diagnosis, judged: Reflection) -> tuple[Link, ...]:
    """The events that the reflection rests on, and the tools and errors in them."""
    events = [
        Link(relation="rests_on", to_kind="event", to_id=name) for name in judged.source_event_ids
    ]
    tools = [Link(relation="about", to_kind="tool", to_id=item.tool) for item in seen.failures]
    errors = [
        Link(relation="shows", to_kind="failure", to_id=item.signature) for item in seen.failures
    ]
    return tuple(dict.fromkeys((*events, *tools, *errors)))


def _tags(
    trace: Trace, seen: Diagnosis, analysis: Analysis | None, category: str | None
) -> tuple[str, ...]:
    """The tags of the caller and the analysis, the category, the tool that failed first, and the task type."""
    tools = [
        failure.tool for failure in seen.failures if failure.event_id == seen.first_failing_event
    ]
    tools += [failure.tool for failure in seen.failures]
    kind = None if category == ErrorCategory.UNKNOWN else category  # nobody looks for "unknown"
    always = (kind and kind.removesuffix("_error"), *tools[:1], trace.task_type)
    return _each(*trace.tags, *(analysis.tags if analysis else ()), *always)


def _insights_of(analysis: Analysis) -> Insights | None:
    """The sections of an analysis by its own headings."""
    insights = analysis.insights or Insights()
    if insights.summary == analysis.reflection:
        insights = replace(insights, summary=None)
    raw = {**insights.raw_sections, **analysis.raw_sections}
    return replace(insights, raw_sections=raw) if raw else None


def _told(
    trace: Trace, analysis: Analysis, text: str, tags: tuple[str, ...], source: Source
) -> LessonDraft:
    """The lesson of an analysis; its reason is the reflection, unless that was made of the lesson itself."""
    why = analysis.reflection or None
    if analysis.reflection.startswith(text):
        why = None
    return _draft(
        trace,
        analysis,
        text,
        tags,
        source,
        why=why,
        mistake=analysis.mistake or "",
        correction=analysis.correction or "",
        wrong_call=analysis.wrong_call,
        right_call=analysis.right_call,
        symptoms=analysis.symptoms,
        keywords=analysis.keywords,
    )


def _draft(
    trace: Trace,
    judged: Reflection | Analysis,
    text: str,
    tags: tuple[str, ...],
    source: Source,
    **about: Any,
) -> LessonDraft:
    """A record of this run, with the values that its judgment gives it."""
    return LessonDraft(
        text=text,
        tags=tags,
        source=source,
        task_type=trace.task_type,
        context=trace.task,
        importance=_known_score(judged.importance),
        confidence=_known_score(judged.confidence),
        **about,
    )


def _known_score(score: float | None) -> float:
    """The score, or the one that stands for a score nobody gave."""
    return UNKNOWN_SCORE if score is None else score


def _each(*tags: str | None) -> tuple[str, ...]:
    """The tags that are there, each once, in their order."""
    return tuple(dict.fromkeys(filter(None, tags)))
