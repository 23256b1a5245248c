"""Recall, store, forget, edit and import lessons, and record whether they helped.

The schemas are imported in the functions: a hook recalls by a query of its own, without pydantic.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from mcp_reflect.config import stored_name
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.models.lesson import (
    Evidence,
    Forgotten,
    Lesson,
    LessonDraft,
    OutcomeDraft,
    OutcomeResult,
    Recall,
    RecallQuery,
    Source,
    State,
    Stored,
    Trust,
)
from mcp_reflect.services.context import Context

_SEARCH_ID: str = "srch_"
_HELD_OUT = "the lessons of that recall were held out: counted for the comparison"
_IRRELEVANT = "noted that they did not fit that task; their worth is unchanged"


async def recall(context: Context, arguments: Mapping[str, Any]) -> Recall:
    """Return the few lessons that fit a task, best first."""
    from mcp_reflect.schemas.lessons import RecallArguments, read  # noqa: PLC0415 - see above

    sent = read(RecallArguments, arguments, context.settings)
    return replace(await recall_for(context, sent.ask(), sent.project), ignored=sent.ignored)


async def recall_for(
    context: Context, query: RecallQuery, project: str | None = None, *, applied: bool = True
) -> Recall:
    """Recall by a query that was read already. `applied=False` does not count the lessons as applied."""
    scope = context.scopes.named(project)
    result = await context.bank.recalls.recall(scope, query, applied=applied, holdout=context.settings.holdout)
    context.log("lessons_recalled", recall_id=result.recall_id, hits=len(result.lessons), project=scope.project)
    return result


async def store(context: Context, arguments: Mapping[str, Any]) -> Stored:
    """Store a lesson, or strengthen the one that says the same."""
    from mcp_reflect.schemas.lessons import LessonArguments, read  # noqa: PLC0415 - see above

    sent = read(LessonArguments, arguments, context.settings)
    scope = _visible(context.scopes.named(sent.project), sent.visibility)
    stored = await context.bank.lessons.store(scope, sent.draft(Source.AGENT))
    context.log("lesson_stored", lesson_id=stored.lesson_id, status=stored.status, project=scope.project)
    return replace(stored, ignored=sent.ignored)


async def add(context: Context, arguments: Mapping[str, Any]) -> Stored:
    """Store a lesson that a person wrote: it is trusted, and never quarantined."""
    from mcp_reflect.schemas.reading import read  # noqa: PLC0415 - see above
    from mcp_reflect.schemas.lessons import ImportArguments  # noqa: PLC0415 - see above

    sent = read(ImportArguments, arguments, context.settings)
    scope = _visible(context.scopes.own, sent.visibility)
    return await context.bank.lessons.store(scope, replace(sent.draft(Source.PERSON), trust=Trust.TRUSTED))


async def record_outcome(context: Context, arguments: Mapping[str, Any]) -> OutcomeResult:
    """Record whether lessons helped. Evidence that does not agree with the outcome counts as the agent's own word.

    The `recall_id` of a search records whether its last plan found something. An irrelevant lesson keeps its worth.
    """
    from mcp_reflect.checkers.agreement import doubt_of  # noqa: PLC0415 - it reads many forms of evidence
    from mcp_reflect.models.critique import ToolResult  # noqa: PLC0415 - see above
    from mcp_reflect.schemas.lessons import OutcomeArguments, read  # noqa: PLC0415 - see above

    sent = read(OutcomeArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    success = 0.5 if sent.success == "partial" else 0.0 if sent.success == "irrelevant" else float(sent.success)
    if sent.recall_id is not None and sent.recall_id.startswith(_SEARCH_ID):
        from mcp_reflect.services.replan import settle  # noqa: PLC0415 - only a search needs the planner

        await settle(context, scope, sent.recall_id, paid=success)
        reason = "counted for the strategy of that search"
        return OutcomeResult(updated=(), evidence=Evidence.SELF, reason=reason, ignored=sent.ignored)
    draft = OutcomeDraft(
        success=success,
        recall_id=sent.recall_id,
        lesson_ids=sent.lesson_ids,
        evidence=sent.evidence,
        note=sent.note,
    )
    if sent.success == "irrelevant":
        updated = await context.bank.outcomes.record_irrelevant(scope, draft)
        context.log("outcome_recorded", success=None, evidence=Evidence.SELF.value, lessons=len(updated))
        return OutcomeResult(updated=updated, evidence=Evidence.SELF, reason=_IRRELEVANT, ignored=sent.ignored)
    results = [
        ToolResult(tool=result.tool, content=result.content, exit_code=result.exit_code) for result in sent.tool_results
    ]
    doubt = doubt_of(draft, results)
    if doubt:
        draft = replace(draft, evidence=Evidence.SELF)
    updated = await context.bank.outcomes.record(scope, draft)
    context.log("outcome_recorded", success=success, evidence=draft.evidence.value, lessons=len(updated))
    reason = doubt or (None if updated else _HELD_OUT)
    return OutcomeResult(updated=updated, evidence=draft.evidence, reason=reason, ignored=sent.ignored)


async def forget(context: Context, arguments: Mapping[str, Any]) -> Forgotten:
    """Retire a lesson. It leaves every recall and stays in the history."""
    from mcp_reflect.schemas.lessons import ForgetArguments, read  # noqa: PLC0415 - see above

    sent = read(ForgetArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    lesson = await context.bank.lessons.set_state(scope, sent.lesson_id, State.RETIRED, f"forgotten: {sent.reason}")
    context.log("lesson_forgotten", lesson_id=lesson.id)
    own = str(Scope(scope.tenant, lesson.project))
    return Forgotten(lesson_id=lesson.id, state=lesson.state, scope=own, ignored=sent.ignored)


async def edit(context: Context, lesson_id: str, changes: Mapping[str, Any]) -> Lesson:
    """Change fields of a lesson on a person's behalf. The earlier wording stays as a version."""
    from mcp_reflect.schemas.lessons import ImportArguments, read  # noqa: PLC0415 - see above

    lessons = context.bank.lessons
    before = await lessons.get(context.scopes.own, lesson_id)
    values = {"mistake": before.mistake or before.text, "correction": before.correction or before.text, **changes}
    sent = read(ImportArguments, values, context.settings)
    if sent.ignored:
        field, _, fault = sent.ignored[0].partition(": ")
        raise InputError(field, fault, "Send a field of a lesson.")
    return await lessons.edit(context.scopes.own, lesson_id, {name: getattr(sent, name) for name in changes})


def import_drafts(context: Context, lines: Iterable[tuple[int, Mapping[str, Any]]]) -> list[tuple[Scope, LessonDraft]]:
    """Read numbered lines of an import. InputError names the first bad line; nothing is stored."""
    from mcp_reflect.schemas.lessons import ImportArguments, read  # noqa: PLC0415 - see above

    drafts: list[tuple[Scope, LessonDraft]] = []
    own = context.scopes.own
    for number, line in lines:
        try:
            sent = read(ImportArguments, line, context.settings)
        except InputError as error:
            raise InputError(f"line {number}, {error.field}", error.fault, error.fix) from None
        scope = own if sent.project is None else Scope(own.tenant, stored_name(sent.project))
        drafts.append((_visible(scope, sent.visibility), sent.draft(Source.IMPORT)))
    return drafts


async def import_own(context: Context, lines: Iterable[tuple[int, Mapping[str, Any]]]) -> list[Stored]:
    """Store the lines of a person's own export as they were; InputError names the first bad line, nothing is stored."""
    from mcp_reflect.schemas.reading import read  # noqa: PLC0415 - see above
    from mcp_reflect.schemas.lessons import OwnExportArguments  # noqa: PLC0415 - see above
    from mcp_reflect.storage.transfer import Exported  # noqa: PLC0415 - see above

    records: list[Exported] = []
    own = context.scopes.own
    for number, line in lines:
        try:
            sent = read(OwnExportArguments, line, context.settings)
        except InputError as error:
            raise InputError(f"line {number}, {error.field}", error.fault, error.fix) from None
        scope = own if sent.project is None else Scope(own.tenant, stored_name(sent.project))
        versions = [
            {"reason": past.reason, "body": past.body, "now": past.created_at.timestamp()} for past in sent.versions
        ]
        outcomes = [
            {**past.model_dump(exclude={"created_at"}), "now": past.created_at.timestamp()} for past in sent.outcomes
        ]
        records.append(Exported(scope, sent.record(scope.project), versions, outcomes))
    return await context.bank.transfer.restore(records)


def _visible(scope: Scope, visibility: str) -> Scope:
    return Scope(scope.tenant, GLOBAL) if visibility == "global" else scope
