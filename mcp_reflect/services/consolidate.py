"""Consolidate a project's records ("dream"): plan, then apply in one transaction."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from mcp_reflect.errors import DreamBusyError, InputError
from mcp_reflect.llm.json_replies import read_object
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import NO_CLIENT
from mcp_reflect.models.common import HOST, Json, Scope
from mcp_reflect.models.consolidation import Dream, DreamPlan, Merge, Undone
from mcp_reflect.models.lesson import Lesson, Source, State, Trust
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.storage.consolidation import digest_of, planned
from mcp_reflect.storage.effectiveness import Rates
from mcp_reflect.storage.proposals import proposals

LEASE_SECONDS: Final = 120.0  # more than one question to a language model takes; a crashed process's runs out
SHOWN_CHARS: Final = 16_000  # of the records that a language model is shown, some 4,000 tokens
MOST_CHARS: Final = 400  # of one record

_BUSY: Final = "Another process dreams over this project now. Try again in two minutes."

Answer: TypeAlias = Mapping[str, Any] | str
"""What the prompt `dream` asks for: an object, or text that holds one."""


async def dream(
    context: Context,
    *,
    plan_only: bool = False,
    analysis: Answer | None = None,
    idle: bool = False,
    project: str | None = None,
) -> Dream:
    """Plan, and apply unless `plan_only`. `analysis` is the host's answer to `dream`'s prompt: no model is asked then.

    `idle` counts towards the day's budget. Raises DreamBusyError where another process dreams, InputError for an
    analysis that holds no object.
    """
    scope = context.scopes.named(project)
    holder = context.clock.new_id("who")
    if plan_only:
        plan, _ = await _plan(context, scope, analysis)
        return Dream(dream_id=None, status="planned", plan=plan, scope=str(scope))
    if not await context.bank.consolidations.take_lease(scope, holder, LEASE_SECONDS):
        raise DreamBusyError(_BUSY)
    context.log("dream_started", project=scope.project, idle=idle)
    try:
        plan, looked = await _plan(context, scope, analysis)
        if plan.empty and not plan.tokens:
            found = Dream(dream_id=None, status="nothing_to_do", plan=plan, scope=str(scope))
        else:
            dream_id, added, skipped = await context.bank.consolidations.apply(scope, plan, looked, idle=idle)
            found = Dream(
                dream_id=dream_id, status="applied", plan=plan, added=added, skipped=skipped, scope=str(scope)
            )
    except asyncio.CancelledError:  # a call came, or the server ends: nothing is wrong
        context.log("dream_given_up", project=scope.project, idle=idle)
        raise
    except BaseException as error:
        context.log("dream_failed", "warning", error=type(error).__name__)
        raise
    finally:
        await asyncio.shield(context.bank.consolidations.release_lease(scope, holder))
    context.log(
        "dream_finished",
        dream_id=found.dream_id,
        looked_at=plan.looked_at,
        merged=len(plan.merges),
        added=len(found.added),
        archived=len(plan.archivings),
        thinker=plan.thinker,
    )
    return found


async def merge(context: Context, keep: str, gone: Sequence[str]) -> Dream:
    """Do one of the merges that rules propose, because a person said so; `undo` puts it back.

    InputError where they propose it no more, DreamBusyError where another process dreams.
    """
    async with _lease(context):
        plan, looked, _ = await by_rules(context, context.scopes.own)
        wanted = [one for one in plan.merges if one.keep == keep and set(one.gone) == set(gone)]
        if not wanted:
            raise InputError(
                "keep", "the records have changed since this was proposed", "Look at what is proposed now."
            )
        part = DreamPlan(looked_at=plan.looked_at, merges=tuple(wanted), thinker=plan.thinker)
        return await _merged(context, part, looked)


async def merge_by_hand(context: Context, keep: str, gone: Sequence[str]) -> Dream:
    """Merge records of one kind because a person says that they are one; `undo` puts it back.

    `keep` lives on with its wording, the wordings of `gone` become versions of it and they are archived.
    InputError where they cannot be one, DreamBusyError where another process dreams.
    """
    own = context.scopes.own
    async with _lease(context):
        looked = [await context.bank.lessons.get(own, name, "id") for name in (keep, *gone)]
        _check_one(looked)
        reason = "a person said that they are one"
        one = Merge(keep=looked[0].id, gone=tuple(record.id for record in looked[1:]), reason=reason)
        return await _merged(context, DreamPlan(looked_at=len(looked), merges=(one,), thinker="person"), looked)


def _check_one(records: Sequence[Lesson]) -> None:
    """InputError where records cannot be merged: the same one twice, another kind or project, or not in use."""
    first = records[0]
    if len({record.id for record in records}) < max(len(records), 2):
        raise InputError("id", "a record cannot be merged with itself", "Name two or more different ones.")
    for record in records:
        if record.state is not State.ACTIVE or record.trust is Trust.QUARANTINED:
            raise InputError("id", f"'{record.id}' is not in use", "Restore it, or decide about it, first.")
        if record.kind is not first.kind or record.project != first.project:
            raise InputError(
                "id", f"'{record.id}' is of another kind or project than '{first.id}'", "Merge those that are alike."
            )


@asynccontextmanager
async def _lease(context: Context) -> AsyncGenerator[None]:
    """The right to change records at rest; DreamBusyError where another process has it."""
    holder = context.clock.new_id("who")
    if not await context.bank.consolidations.take_lease(context.scopes.own, holder, LEASE_SECONDS):
        raise DreamBusyError(_BUSY)
    try:
        yield
    finally:
        await asyncio.shield(context.bank.consolidations.release_lease(context.scopes.own, holder))


async def _merged(context: Context, plan: DreamPlan, looked: list[Lesson]) -> Dream:
    scope = context.scopes.own
    dream_id, _, skipped = await context.bank.consolidations.apply(scope, plan, looked, idle=False, part=True)
    context.log("dream_finished", dream_id=dream_id, looked_at=plan.looked_at, merged=1, thinker=plan.thinker)
    return Dream(dream_id=dream_id, status="applied", plan=plan, skipped=skipped, scope=str(scope))


async def undo(context: Context, dream_id: str, project: str | None = None) -> Undone:
    """Put back what a dream changed; what somebody changed since stays as it is."""
    found = await context.bank.consolidations.undo(context.scopes.named(project), dream_id)
    context.log("dream_undone", dream_id=dream_id, restored=len(found.restored), skipped=len(found.skipped))
    return found


async def due(context: Context) -> bool:
    """Whether a dream at idle may begin: the day has some left, and something changed since the last one."""
    scope = context.scopes.own
    dreams, _ = await context.bank.consolidations.used_today(scope)
    if dreams >= context.settings.dreams_per_day:
        return False
    records, _, _ = await context.bank.consolidations.load(scope)
    return len(records) > 1 and not await context.bank.consolidations.is_unchanged(scope, digest_of(records))


async def _plan(context: Context, scope: Scope, analysis: Answer | None) -> tuple[DreamPlan, list[Lesson]]:
    """The plan and the records that it was made of."""
    plan, records, rates = await by_rules(context, scope)
    if analysis is not None:
        value = _object(analysis)
        return _joined(plan, value, records, rates, Source.AGENT, HOST), records
    return await _asked(context, scope, plan, records, rates), records


async def by_rules(context: Context, scope: Scope) -> tuple[DreamPlan, list[Lesson], Rates]:
    """The plan of rules, the records it was made of, and their rates; nothing is changed.

    Whoever cancels it ends the comparing of texts too, which is done in a thread.
    """
    records, rates, tied = await context.bank.consolidations.load(scope)
    stop = threading.Event()
    try:
        return await asyncio.to_thread(planned, records, rates, tied, stop.is_set), records, rates
    finally:
        stop.set()


async def _asked(context: Context, scope: Scope, plan: DreamPlan, records: list[Lesson], rates: Rates) -> DreamPlan:
    """The plan with what a language model proposes, where one is configured, has budget left, and has not seen this."""
    _, tokens = await context.bank.consolidations.used_today(scope)
    if context.runner.llm(Role.DREAMER, NO_CLIENT) is None or len(records) < 2:
        return plan
    if tokens >= context.settings.dream_tokens_per_day:
        return replace(plan, note="the day's budget of tokens for dreaming is spent; rules alone dreamt")
    if plan.empty and await context.bank.consolidations.is_unchanged(scope, digest_of(records)):
        return replace(plan, note="nothing changed since the last dream")
    model_result = await context.runner.generate(
        Role.DREAMER,
        "dream",
        {"memories": memories(records), "clusters": clustered(plan, records)},
        host=NO_CLIENT,
        read=_object,
    )
    spent = model_result.input_tokens + model_result.output_tokens
    if model_result.value is None or model_result.thinker is None:
        return replace(plan, note=clean(model_result.note), tokens=spent)
    joined = _joined(plan, model_result.value, records, rates, Source.MODEL, model_result.thinker)
    return replace(joined, note=clean(model_result.note), tokens=max(spent, 1))


def memories(records: Sequence[Lesson]) -> str:
    """Records as a host or model is shown them: a line each, the most important first, cut to SHOWN_CHARS."""
    lines = [
        f"- {one.id} ({one.kind.value}{f', {one.task_type}' if one.task_type else ''}): {_short(one)}"
        for one in records
    ]
    shown: list[str] = []
    left = SHOWN_CHARS
    for line in lines:
        left -= len(line)
        if left < 0:
            break
        shown.append(line)
    return "\n".join(shown)


def clustered(plan: DreamPlan, records: Sequence[Lesson]) -> str:
    """The clusters of a plan, by the ids of records that were shown."""
    shown = memories(records)
    lines = [", ".join(name for name in cluster if f"- {name} " in shown) for cluster in plan.clusters]
    return "\n".join(f"- {line}" for line in lines if line)[:SHOWN_CHARS]


def _short(record: Lesson) -> str:
    flat = " ".join(record.text.split())
    return flat if len(flat) <= MOST_CHARS else f"{flat[:MOST_CHARS]} …"


def _object(value: "Answer | Json") -> dict[str, Any]:
    """The object in what was sent; InputError where there is none of the shape."""
    found: object = read_object(value, {"merge", "generalise", "archive"}) if isinstance(value, str) else value
    if not isinstance(found, Mapping) or not {"merge", "generalise", "archive"} & set(cast("Mapping[str, Any]", found)):
        raise InputError(
            "analysis", "it holds no object with merge, generalise or archive", "Send what the prompt `dream` asks for."
        )
    return clean(dict(cast("Mapping[str, Any]", found)))


def _joined(
    plan: DreamPlan, value: dict[str, Any], records: Sequence[Lesson], rates: Rates, source: Source, thinker: str
) -> DreamPlan:
    """The plan of rules and what was proposed beside it; where both are about a record, rules go first."""
    merges, made, archivings, refused = proposals(value, records, rates, source)
    taken = {name for merge in plan.merges for name in (merge.keep, *merge.gone)} | {one.id for one in plan.archivings}
    return replace(
        plan,
        merges=(*plan.merges, *(one for one in merges if not taken & {one.keep, *one.gone})),
        generalisations=tuple(made),
        archivings=(*plan.archivings, *(one for one in archivings if one.id not in taken)),
        refused=tuple(refused),
        thinker=thinker,
    )


async def prompt(context: Context, project: str | None = None) -> str:
    """What a host or person may ask a model of theirs, to send its answer as `analysis`."""
    plan, records, _ = await by_rules(context, context.scopes.named(project))
    rendered = context.runner.render("dream", {"memories": memories(records), "clusters": clustered(plan, records)})
    return f"{rendered.system}\n\n{rendered.user}"
