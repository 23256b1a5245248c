"""Recall, store, forget, edit and import lessons, and record whether they helped."""

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from mcp_reflect import services
from mcp_reflect.analysis.output_digest import shown_part
from mcp_reflect.config import stored_name
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.lesson import (
    Evidence,
    Forgotten,
    Lesson,
    OutcomeDraft,
    OutcomeResult,
    Recall,
    Source,
    State,
    Stored,
    Trust,
)
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.lessons import (
    ForgetArguments,
    ImportArguments,
    LessonArguments,
    OutcomeArguments,
    OwnExportArguments,
    RecallArguments,
)
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.storage.screening import screened
from mcp_reflect.storage.transfer import Exported

_Line = TypeVar("_Line", bound=ImportArguments)

_SESSION_SECONDS: Final = 6 * 3600.0  # hooks and tools know no common session: those of these hours are looked at
_SEARCH_ID: Final = "srch_"
_SUCCESS: Final[Mapping[object, Any]] = {"partial": 0.5, "irrelevant": 0.0}
_HELD_OUT = "the lessons of that recall were held out: counted for the comparison"
_TOLD: Final[Mapping[Evidence, str]] = {
    Evidence.TEST: "hooks saw no such output: it counts for less than a test that they saw",
    Evidence.METRIC: "hooks saw no such output: it counts for less than a measurement that they saw",
    Evidence.USER: "you quote the person: it counts for more than your own word, and is no proof",
}
_UNUSED = "the calls that hooks saw follow none of them: name the lesson_ids that helped"
_IRRELEVANT = "noted that they did not fit that task; their worth is unchanged"


async def recall(context: Context, arguments: Mapping[str, Any], *, applied: bool = True) -> Recall:
    """Return the few lessons that fit a task, best first. They count as `applied` or not."""
    sent = read(RecallArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    result = await context.bank.recalls.recall(scope, sent.ask(), applied=applied, holdout=context.settings.holdout)
    context.log("lessons_recalled", recall_id=result.recall_id, hits=len(result.lessons), project=scope.project)
    return replace(result, ignored=sent.ignored)


async def store(context: Context, arguments: Mapping[str, Any]) -> Stored:
    """Store a lesson, or strengthen the one that says the same."""
    sent = read(LessonArguments, arguments, context.settings)
    scope = _visible(context.scopes.named(sent.project), sent.visibility)
    if scope.project == GLOBAL:
        context.scopes.refuse_shared("visibility")
    draft = sent.draft(Source.AGENT)
    stored = await context.bank.lessons.store(scope, draft)
    if context.by_rules:  # what rules made of the same event in this session is its evidence
        from mcp_reflect.analysis.diagnose import shares_words

        words = " ".join((draft.text, *draft.symptoms))
        for other in await context.bank.lessons.latest(scope):
            if other.id in context.by_rules and shares_words(" ".join((other.text, *other.symptoms)), words):
                await context.bank.reflections.take_evidence(scope, stored.lesson_id, other)
    context.log("lesson_stored", lesson_id=stored.lesson_id, status=stored.status, project=scope.project)
    return replace(stored, ignored=sent.ignored)


async def add(context: Context, arguments: Mapping[str, Any]) -> Stored:
    """Store a lesson that a person wrote: it is trusted, and never quarantined."""
    sent = read(ImportArguments, arguments, context.settings)
    scope = _visible(context.scopes.own, sent.visibility)
    return await context.bank.lessons.store(scope, replace(sent.draft(Source.PERSON), trust=Trust.TRUSTED))


async def record_outcome(context: Context, arguments: Mapping[str, Any], *, seen: bool = False) -> OutcomeResult:
    """Record whether lessons helped. Evidence that does not agree with the outcome counts as the agent's own word.

    Evidence that was typed is told, unless hooks saw it; `seen` says that the caller is no agent and saw it itself.

    The `recall_id` of a search records whether its last plan found something. An irrelevant lesson keeps its worth.
    """
    sent = read(OutcomeArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    success = float(_SUCCESS.get(sent.success, sent.success))
    if sent.recall_id is not None and sent.recall_id.startswith(_SEARCH_ID):
        await services.replan.settle(context, scope, sent.recall_id, paid=success)
        reason = "counted for the strategy of that search"
        return OutcomeResult(updated=(), evidence=Evidence.SELF, reason=reason, ignored=sent.ignored)
    ids = [await _whole_id(context, scope, name, f"lesson_ids[{at}]") for at, name in enumerate(sent.lesson_ids)]
    draft = OutcomeDraft(
        success=success, recall_id=sent.recall_id, lesson_ids=tuple(ids), evidence=sent.evidence, note=sent.note
    )
    results = [ToolResult(**result.model_dump()) for result in sent.tool_results]
    if sent.success == "irrelevant":
        draft, reason = replace(draft, evidence=Evidence.SELF), _IRRELEVANT
        updated = await context.bank.outcomes.record(scope, draft, irrelevant=True)
    else:
        from mcp_reflect.checkers.agreement import doubt_of

        reason = doubt_of(draft, results)
        if reason:
            draft = replace(draft, evidence=Evidence.SELF)
        elif not seen and draft.evidence is not Evidence.SELF:
            shown = () if draft.evidence is Evidence.USER else await _shown(context, scope, draft, results)
            if not shown or doubt_of(draft, shown):
                draft, reason = replace(draft, evidence=Evidence.SELF, backed=True), _TOLD[draft.evidence]
        draft = await _credited(context, scope, draft)
        updated = await context.bank.outcomes.record(scope, draft)
        reason = reason or (None if updated else _UNUSED if draft.of_task else _HELD_OUT)
    evidence = "told" if draft.backed else draft.evidence.value
    context.log("outcome_recorded", success=sent.success, evidence=evidence, lessons=len(updated))
    return OutcomeResult(updated=updated, evidence=evidence, reason=reason, ignored=sent.ignored)


async def _whole_id(context: Context, scope: Scope, name: str, field: str) -> str:
    """Return the id of the lesson that a short id of a hook names. A store made elsewhere knows whole ids alone."""
    lessons = context.bank.lessons
    return await lessons.resolve_id(scope, name, field) if hasattr(lessons, "resolve_id") else name


async def _shown(
    context: Context, scope: Scope, draft: OutcomeDraft, results: Iterable[ToolResult]
) -> list[ToolResult]:
    """Return of each result what an output that hooks saw lately shows, of calls that ended as the outcome says."""
    since, worked = context.clock.now() - _SESSION_SECONDS, draft.success == 1
    outputs = await context.bank.warnings.outputs_since(scope, since, worked=worked)
    shown: list[ToolResult] = []
    for result in results:
        content = clean_text(result.content)
        parts = [shown_part(content, output) for output in outputs]
        if part := max(parts, key=len, default=""):
            shown.append(replace(result, content=part, exit_code=0 if worked else result.exit_code or 1))
    return shown


async def _credited(context: Context, scope: Scope, draft: OutcomeDraft) -> OutcomeDraft:
    """Name the lessons of a recall whose advice the calls that hooks saw follow, if the outcome names none itself."""
    if not draft.recall_id or draft.lesson_ids:
        return draft
    heads = await context.bank.warnings.worked_since(scope, context.clock.now() - _SESSION_SECONDS)
    # A head is `shell:git push`, `read:src/a.py` or `search`: its last part is what advice names.
    acts = [re.compile(rf"(?<!\w){re.escape(head.partition(':')[2] or head)}(?!\w)", re.IGNORECASE) for head in heads]
    shown = await context.bank.recalls.lessons_of(scope, draft.recall_id) if acts else []
    used = [lesson.id for lesson in shown if any(act.search(lesson.correction or lesson.text) for act in acts)]
    return replace(draft, lesson_ids=tuple(used), of_task=bool(shown) and not used)


async def forget(context: Context, arguments: Mapping[str, Any]) -> Forgotten:
    """Retire a lesson. It leaves every recall and stays in the history."""
    sent = read(ForgetArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    lesson_id = await _whole_id(context, scope, sent.lesson_id, "lesson_id")
    if not context.scopes.shares and (await context.bank.lessons.get(scope, lesson_id)).project == GLOBAL:
        context.scopes.refuse_shared("lesson_id")
    lesson = await context.bank.lessons.set_state(scope, lesson_id, State.RETIRED, f"forgotten: {sent.reason}")
    context.log("lesson_forgotten", lesson_id=lesson.id)
    own = str(Scope(scope.tenant, lesson.project))
    return Forgotten(lesson_id=lesson.id, state=lesson.state, scope=own, ignored=sent.ignored)


async def edit(context: Context, lesson_id: str, changes: Mapping[str, Any]) -> Lesson:
    """Change fields of a lesson on a person's behalf. The earlier wording stays as a version."""
    lessons = context.bank.lessons
    before = await lessons.get(context.scopes.own, lesson_id)
    values = {"mistake": before.mistake or before.text, "correction": before.correction or before.text, **changes}
    sent = read(ImportArguments, values, context.settings)
    if sent.ignored:
        field, _, fault = sent.ignored[0].partition(": ")
        raise InputError(field, fault, "Send a field of a lesson.")
    return await lessons.edit(context.scopes.own, lesson_id, {name: getattr(sent, name) for name in changes})


def import_lessons(
    context: Context, lines: Iterable[tuple[int, Mapping[str, Any]]], *, merge: bool
) -> AsyncIterator[list[Stored]]:
    """Store the lines of an import. InputError names the first bad line; nothing is stored."""
    read_lines = _read_lines(context, ImportArguments, lines)
    drafts = [(_visible(scope, sent.visibility), sent.draft(Source.IMPORT)) for scope, sent in read_lines]
    return context.bank.transfer.import_lessons(drafts, merge=merge)


async def import_own(
    context: Context, lines: Iterable[tuple[int, Mapping[str, Any]]], *, screen: bool = False
) -> list[Stored]:
    """Store the lines of a person's own export as they were. InputError names the first bad line; nothing is stored.

    With `screen` the words may be somebody else's: they are judged as those of an import are.
    """
    records: list[Exported] = []
    for scope, sent in _read_lines(context, OwnExportArguments, lines):
        versions, outcomes = (
            [{**past.model_dump(exclude={"created_at"}), "now": past.created_at.timestamp()} for past in earlier]
            for earlier in (sent.versions, sent.outcomes)
        )
        lesson = sent.record(scope.project)
        records.append(Exported(scope, screened(lesson) if screen else lesson, versions, outcomes))
    return await context.bank.transfer.restore(records)


def _read_lines(
    context: Context, kind: type[_Line], lines: Iterable[tuple[int, Mapping[str, Any]]]
) -> Iterator[tuple[Scope, _Line]]:
    """Yield the scope and the fields of each line."""
    own = context.scopes.own
    for number, line in lines:
        try:
            sent = read(kind, line, context.settings)
        except InputError as error:
            raise InputError(f"line {number}, {error.field}", error.fault, error.fix) from None
        yield own if sent.project is None else Scope(own.tenant, stored_name(sent.project)), sent


def _visible(scope: Scope, visibility: str) -> Scope:
    return Scope(scope.tenant, GLOBAL) if visibility == "global" else scope
