"""A reflection on a run: its facts, put together with the analysis that an agent or a model wrote.

The facts say what happened, and the analysis what it means; without one, there is no lesson.
"""

from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, TypeAlias

from mcp_reflect.models.common import Link
from mcp_reflect.models.lesson import UNKNOWN_SCORE, LessonDraft, RecordKind, Source
from mcp_reflect.models.lesson_words import text_of_parts
from mcp_reflect.models.reflection import Analysis, Insights, Reflection, Score
from mcp_reflect.models.run import Diagnosis, ErrorCategory, Outcome, Trace

CRITERIA: Final = ("correctness", "helpfulness", "safety", "completeness", "efficiency")
STRATEGY_BONUS: Final = 1.1
"""A strategy is worth 10 % more than the reflection that it comes from, at most 1."""

MISSED_IMPORTANCE: Final = 0.85
"""The importance (0..1) of a run that did not reach its goal, where nobody judged it."""

REACHED_IMPORTANCE: Final = 0.7
"""The importance of a run that worked or half worked."""

SURE: Final = 0.9
"""The confidence (0..1) where the events show what failed."""

RATHER_SURE: Final = 0.85
"""The confidence where the events show a run that reached its goal."""

MOST_FACTS: Final = 12_000  # characters of all facts in a prompt
MOST_EVENTS: Final = 12
OPEN_CATEGORIES: Final = ("tool_error", "external_api_error", "llm_error")
"""Words of other lists that do not name the cause: what the events show does."""


def score(diagnosis: Diagnosis, tests: tuple[int, int] | None) -> dict[str, Score]:
    """Scores in 0..1 by criterion, each with its counts as the reason; criteria that no event shows are left out.

    `tests` are how many passed and failed in the last test report of the run. Efficiency is the share of calls that
    neither failed nor went round in a loop.
    """
    scores: dict[str, Score] = {}
    if tests is not None and sum(tests):
        passed, failed = tests
        total = passed + failed
        reason = f"{passed} of {total} tests passed in the last report"
        scores["correctness"] = Score(score=round(passed / total, 4), reason=reason)
    if diagnosis.calls:
        reason = f"{diagnosis.wasted} of {diagnosis.calls} calls failed or went in circles"
        scores["efficiency"] = Score(
            score=round(1 - diagnosis.wasted / diagnosis.calls, 4), reason=reason
        )
    return scores


Scores: TypeAlias = Mapping[str, Score | float | None]
"""By criterion: 0..1, None where it cannot be known; with a reason where there is one."""


class Scorer(Protocol):
    """Scores a run, redacted, by its own criteria. It is given to the engine."""

    def score(self, trace: Trace) -> Scores | Awaitable[Scores]:
        """The scores of a run; it may be a coroutine."""
        ...


def judge(
    trace: Trace, diagnosis: Diagnosis, analysis: Analysis | None, source: Source, **about: Any
) -> tuple[Reflection, tuple[LessonDraft, ...]]:
    """Combine the facts of a run with the analysis of `source`: a reflection, and the lesson of the analysis.

    Without an analysis there are facts alone: no lesson, no strategy and no scores. `about` has the other fields of
    the reflection, its thinker, time and scope.
    """
    category = error_category(trace, diagnosis)
    tags = _tags(trace, diagnosis, analysis, category)
    drafts: list[LessonDraft] = []
    if analysis is not None:
        text = text_of_parts(analysis.mistake, analysis.correction)
        if text:
            drafts.append(_lesson_draft(trace, analysis, text, tags, source))
    judgment = analysis or facts_alone(trace, diagnosis)
    reflection = Reflection(
        reflection=judgment.reflection,
        strategy=judgment.strategy,
        importance=judgment.importance,
        confidence=judgment.confidence,
        tags=tags,
        error_category=category,
        first_failing_event=diagnosis.first_failing_event,
        source_event_ids=judgment.source_event_ids or diagnosis.source_event_ids[:MOST_EVENTS],
        insights=_insights_of(judgment),
        assessment=judgment.assessment,
        **about,
    )
    return reflection, tuple(drafts)


def facts_alone(trace: Trace, diagnosis: Diagnosis) -> Analysis:
    """The facts as the reflection of a run that nobody judged, with the values that they give it.

    A run that did not reach its goal is critical, what worked or half worked is a valuable insight.
    """
    missed = trace.outcome in (Outcome.FAILURE, Outcome.ERROR, Outcome.TIMEOUT)
    importance = REACHED_IMPORTANCE
    if missed:
        importance = MISSED_IMPORTANCE
    return Analysis(
        reflection=diagnosis.summary,
        importance=importance,
        confidence=_confidence(trace, diagnosis, missed=missed),
    )


def _confidence(trace: Trace, diagnosis: Diagnosis, *, missed: bool) -> float:
    """How plainly (0..1) the events show what happened, UNKNOWN_SCORE where they do not show it."""
    if missed and diagnosis.first_failing_event:
        return SURE
    if missed or not trace.events:
        return UNKNOWN_SCORE
    return RATHER_SURE


def error_category(trace: Trace, diagnosis: Diagnosis) -> str | None:
    """The category of a run's error, None where nothing failed; the first of these words that says something.

    | order | word                                                                                         |
    |-------|----------------------------------------------------------------------------------------------|
    | 1     | the caller's, unless it only says that a tool failed (`tool_error`)                          |
    | 2     | where the caller has none: that of the first failing event, if it is of another list of words |
    | 3     | the category that the events show                                                            |
    | 4     | the word that only says that a tool failed                                                   |
    """
    word: str | None = None
    if trace.error is not None:
        word = trace.error.word
    if not word:
        word = _word_of_event(trace, diagnosis)
    says_nothing = word in (None, *OPEN_CATEGORIES)
    if says_nothing and diagnosis.category:
        return diagnosis.category.value
    return word


def _word_of_event(trace: Trace, diagnosis: Diagnosis) -> str | None:
    """The category that the first failing event names in its error object, where it is of another list than ours."""
    for event in trace.events:
        if event.id == diagnosis.first_failing_event:
            word = event.metadata.get("error_category")
            is_category = isinstance(word, str) and word.endswith("_error")
            if is_category and word not in {*ErrorCategory}:
                return str(word)
            return None
    return None


def facts_text(diagnosis: Diagnosis) -> str:
    """The facts as material for a model: the summary, and then those that the summary had no room for."""
    untold = [fact.text for fact in diagnosis.facts if fact.text not in diagnosis.summary]
    return "\n".join((diagnosis.summary, *(f"- {text}" for text in untold)))[:MOST_FACTS]


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


def links(diagnosis: Diagnosis, judged: Reflection) -> tuple[Link, ...]:
    """The events that the reflection rests on, and the tools and errors in them."""
    events = [
        Link(relation="rests_on", to_kind="event", to_id=name) for name in judged.source_event_ids
    ]
    tools = [Link(relation="about", to_kind="tool", to_id=item.tool) for item in diagnosis.failures]
    errors = [
        Link(relation="shows", to_kind="failure", to_id=item.signature)
        for item in diagnosis.failures
    ]
    return tuple(dict.fromkeys((*events, *tools, *errors)))


def _tags(
    trace: Trace, diagnosis: Diagnosis, analysis: Analysis | None, category: str | None
) -> tuple[str, ...]:
    """The tags of the caller and the analysis, the category, the tool that failed first, and the task type."""
    tools = [
        failure.tool
        for failure in diagnosis.failures
        if failure.event_id == diagnosis.first_failing_event
    ]
    tools += [failure.tool for failure in diagnosis.failures]
    category_tag: str | None = None
    if category and category != ErrorCategory.UNKNOWN:  # nobody looks for "unknown"
        category_tag = category.removesuffix("_error")
    tags_of_analysis: tuple[str, ...] = ()
    if analysis is not None:
        tags_of_analysis = tuple(analysis.tags)
    return _each(*trace.tags, *tags_of_analysis, category_tag, *tools[:1], trace.task_type)


def _insights_of(analysis: Analysis) -> Insights | None:
    """The sections of an analysis by its own headings, None where it has none.

    A summary that is the reflection itself is left out: it would be told twice.
    """
    insights = analysis.insights or Insights()
    raw = {**insights.raw_sections, **analysis.raw_sections}
    if not raw:
        return None
    if insights.summary == analysis.reflection:
        insights = replace(insights, summary=None)
    return replace(insights, raw_sections=raw)


def _lesson_draft(
    trace: Trace, analysis: Analysis, text: str, tags: tuple[str, ...], source: Source
) -> LessonDraft:
    """The lesson of an analysis. Its reason is the reflection, unless the reflection only repeats the lesson."""
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
    """A lesson draft of this run, as important and as sure as its reflection or analysis is."""
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
    if score is None:
        return UNKNOWN_SCORE
    return score


def _each(*tags: str | None) -> tuple[str, ...]:
    """The tags without None and empty ones, each once, in their order."""
    return tuple(dict.fromkeys(filter(None, tags)))
