"""Recall, store, prove, forget, edit and import lessons."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

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
from mcp_reflect.services.scopes import kept_name


async def recall(context: Context, arguments: Mapping[str, Any]) -> Recall:
    """The few lessons that fit a task, best first."""
    from mcp_reflect.schemas.fields import read  # noqa: PLC0415 - see above
    from mcp_reflect.schemas.lessons import RecallArguments  # noqa: PLC0415 - see above

    sent = read(RecallArguments, arguments, context.settings)
    return await recall_for(context, sent.ask(), sent.project)


async def recall_for(context: Context, ask: RecallQuery, project: str | None = None, *, applied: bool = True) -> Recall:
    """Recall for what was read already; `applied` false does not count the lessons as applied."""
    scope = context.scopes.named(project)
    found = await context.bank.recalls.recall(scope, ask, applied=applied, holdout=context.settings.holdout)
    context.log("lessons_recalled", recall_id=found.recall_id, hits=len(found.lessons), project=scope.project)
    return found


async def store(context: Context, arguments: Mapping[str, Any]) -> Stored:
    """Keep a mistake and its correction."""
    from mcp_reflect.schemas.fields import read  # noqa: PLC0415 - see above
    from mcp_reflect.schemas.lessons import LessonArguments  # noqa: PLC0415 - see above

    sent = read(LessonArguments, arguments, context.settings)
    scope = _visible(context.scopes.named(sent.project), sent.visibility)
    stored = await context.bank.lessons.store(scope, sent.draft(Source.AGENT))
    context.log("lesson_stored", lesson_id=stored.lesson_id, status=stored.status, project=scope.project)
    return stored


async def add(context: Context, arguments: Mapping[str, Any]) -> Stored:
    """Store a lesson that a person wrote: it is trusted, and never quarantined."""
    from mcp_reflect.schemas.fields import read  # noqa: PLC0415 - see above
    from mcp_reflect.schemas.lessons import ImportArguments  # noqa: PLC0415 - see above

    sent = read(ImportArguments, arguments, context.settings)
    scope = _visible(context.scopes.own, sent.visibility)
    return await context.bank.lessons.store(scope, replace(sent.draft(Source.PERSON), trust=Trust.TRUSTED))


async def record_outcome(context: Context, arguments: Mapping[str, Any]) -> OutcomeResult:
    """Note what became of using lessons, with as much weight as its evidence bears.

    The `recall_id` of a search goes to `settle`.
    """
    from mcp_reflect.checkers.agreement import doubt_of  # noqa: PLC0415 - the readers of evidence are many
    from mcp_reflect.models.critique import ToolResult  # noqa: PLC0415 - see above
    from mcp_reflect.schemas.fields import read  # noqa: PLC0415 - see above
    from mcp_reflect.schemas.lessons import OutcomeArguments  # noqa: PLC0415 - see above

    sent = read(OutcomeArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    if sent.recall_id is not None and sent.recall_id.startswith("srch_"):
        from mcp_reflect.services.replan import settle  # noqa: PLC0415 - only a search needs the planner

        await settle(context, scope, sent.recall_id, paid=_share(sent.success))
        return OutcomeResult(updated=(), evidence=Evidence.SELF, reason="counted for the strategy of that search")
    results = [ToolResult(tool=one.tool, content=one.content, exit_code=one.exit_code) for one in sent.tool_results]
    told = OutcomeDraft(
        success=_share(sent.success),
        recall_id=sent.recall_id,
        lesson_ids=sent.lesson_ids,
        evidence=sent.evidence,
        note=sent.note,
    )
    doubt = doubt_of(told, results)
    draft = replace(told, evidence=Evidence.SELF) if doubt else told
    updated = await context.bank.outcomes.record(scope, draft)
    context.log("outcome_recorded", success=draft.success, evidence=draft.evidence.value, lessons=len(updated))
    held_out = None if updated else "the lessons of that recall were held out: counted for the comparison"
    return OutcomeResult(updated=updated, evidence=draft.evidence, reason=doubt or held_out)


async def forget(context: Context, arguments: Mapping[str, Any]) -> Forgotten:
    """Retire a lesson: out of every recall, kept in the history."""
    from mcp_reflect.schemas.fields import read  # noqa: PLC0415 - see above
    from mcp_reflect.schemas.lessons import ForgetArguments  # noqa: PLC0415 - see above

    sent = read(ForgetArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    lesson = await context.bank.lessons.set_state(scope, sent.lesson_id, State.RETIRED, f"forgotten: {sent.reason}")
    context.log("lesson_forgotten", lesson_id=lesson.id)
    return Forgotten(lesson_id=lesson.id, state=lesson.state, scope=str(Scope(scope.tenant, lesson.project)))


async def edit(context: Context, lesson_id: str, changes: Mapping[str, Any]) -> Lesson:
    """Change fields of a lesson as a person does; the wording before stays as a version."""
    from mcp_reflect.schemas.fields import read  # noqa: PLC0415 - see above
    from mcp_reflect.schemas.lessons import ImportArguments  # noqa: PLC0415 - see above

    before = await context.bank.lessons.get(context.scopes.own, lesson_id)
    now = {"mistake": before.mistake or before.text, "correction": before.correction or before.text, **changes}
    sent = read(ImportArguments, now, context.settings)
    return await context.bank.lessons.edit(
        context.scopes.own, lesson_id, {name: getattr(sent, name) for name in changes}
    )


def import_drafts(context: Context, lines: Iterable[tuple[int, Mapping[str, Any]]]) -> list[tuple[Scope, LessonDraft]]:
    """Numbered lines of an import as drafts; InputError names the first bad line, and nothing has been stored."""
    from mcp_reflect.schemas.fields import read  # noqa: PLC0415 - see above
    from mcp_reflect.schemas.lessons import ImportArguments  # noqa: PLC0415 - see above

    drafts: list[tuple[Scope, LessonDraft]] = []
    own = context.scopes.own
    for number, line in lines:
        try:
            sent = read(ImportArguments, line, context.settings)
        except InputError as error:
            raise InputError(f"line {number}, {error.field}", error.fault, error.fix) from None
        scope = own if sent.project is None else Scope(own.tenant, kept_name(sent.project))
        drafts.append((_visible(scope, sent.visibility), sent.draft(Source.IMPORT)))
    return drafts


def _share(success: bool | Literal["partial"]) -> float:
    """What a success counts: 1, .5 for a part of it, or 0."""
    return 0.5 if success == "partial" else float(success)


def _visible(scope: Scope, visibility: str) -> Scope:
    return Scope(scope.tenant, GLOBAL) if visibility == "global" else scope
