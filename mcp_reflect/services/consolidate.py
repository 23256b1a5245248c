"""Consolidate a project's records ("dream"): plan by rules and by a language model, then apply in one transaction."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from mcp_reflect.clock import DAY
from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import read_object
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import NO_CLIENT
from mcp_reflect.models.common import HOST, Json, Scope
from mcp_reflect.models.lesson import (
    Dream,
    DreamPlan,
    Generalization,
    Lesson,
    LessonDraft,
    Merge,
    RecordKind,
    Source,
    State,
    Trust,
    Undone,
)
from mcp_reflect.schemas.lessons import LessonArguments
from mcp_reflect.schemas.reading import read
from mcp_reflect.security.gate import clean_inputs
from mcp_reflect.security.redact import clean, quoted
from mcp_reflect.services.context import Context
from mcp_reflect.sessions.text import clip
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage.consolidation import BY_PERSON, digest_of, planned
from mcp_reflect.storage.similarity import codes

_SHOWN_CHARS: Final = 16_000  # of the records in a prompt, some 4,000 tokens
_RECORD_CHARS: Final = 400  # of one record

Answer: TypeAlias = Mapping[str, Any] | str
"""The answer that the prompt `dream` asks for: an object, or text that contains one."""

_Planner: TypeAlias = Callable[[list[Lesson]], DreamPlan]


async def dream(
    context: Context, *, plan_only: bool = False, analysis: Answer | None = None
) -> Dream:
    """Plan, and apply the plan unless `plan_only`.

    `analysis` is the host's answer to the prompt `dream`; no model is asked then. InputError if it contains no object.
    """
    scope = context.scopes.own
    plan_of = await _planner(context, scope, analysis)
    if plan_only:
        plan = await asyncio.to_thread(plan_of, await context.bank.consolidations.load(scope))
        return Dream(dream_id=None, status="planned", plan=plan, scope=str(scope))
    return await _apply(context, plan_of)


async def merge(
    context: Context, keep: str, gone: Sequence[str], *, by: Speaker = Speaker.AGENT
) -> Dream:
    """Merge records of one kind because somebody says that they are the same; `undo` reverts it.

    `keep` stays with its text; the texts of `gone` become versions of it, and they are archived.
    InputError if they cannot be merged.
    """
    own = context.scopes.own
    records = [await context.bank.lessons.get(own, name, "id") for name in (keep, *gone)]
    first = records[0]
    if len({record.id for record in records}) < max(len(records), 2):
        raise InputError(
            "id", "a record cannot be merged with itself", "Name two or more different ones."
        )
    for record in records:
        if record.state is not State.ACTIVE or record.trust is Trust.QUARANTINED:
            raise InputError(
                "id", f"'{record.id}' is not in use", "Restore it or decide about it first."
            )
        if record.kind is not first.kind or record.project != first.project:
            fault = f"'{record.id}' is of another kind or project than '{first.id}'"
            raise InputError("id", fault, "Merge records of one kind.")
    merge = Merge(
        keep=first.id,
        gone=tuple(record.id for record in records[1:]),
        reason=BY_PERSON,
    )
    plan = DreamPlan(looked_at=len(records), merges=(merge,), thinker="person")
    return await _apply(context, lambda _: plan, part=True, by=by)


async def _apply(
    context: Context, plan_of: _Planner, *, part: bool = False, by: Speaker = Speaker.AGENT
) -> Dream:
    """Plan over the records as they are now and carry the plan out, in one transaction; return what was done.

    `part`: the plan is of some records only, so that the next dream looks at all of them again. Without a `dream_id` the plan
    changed nothing, and there is nothing to undo.
    """
    own = context.scopes.own
    dreamed = await context.bank.consolidations.dream(own, plan_of, part=part, by=by)
    plan = dreamed.plan
    if dreamed.dream_id is not None:
        counts = {
            "merged": len(plan.merges),
            "added": len(dreamed.added),
            "archived": len(plan.archivings),
        }
        done = {"dream_id": dreamed.dream_id, "looked_at": plan.looked_at, **counts}
        context.log.info("dream_finished", **done, thinker=plan.thinker)
    return dreamed


async def undo(context: Context, dream_id: str, *, by: Speaker = Speaker.AGENT) -> Undone:
    """Revert what a dream changed; records that changed since stay as they are."""
    undone = await context.bank.consolidations.undo(context.scopes.own, dream_id, by=by)
    context.log.info(
        "dream_undone",
        dream_id=dream_id,
        restored=len(undone.restored),
        skipped=len(undone.skipped),
    )
    return undone


async def due(context: Context) -> bool:
    """True if the dream of the day may begin: none was today (UTC), and something changed since the last one."""
    digest, dreamed_at = await context.bank.consolidations.last(context.scopes.own)
    if dreamed_at // DAY == context.clock.now() // DAY:
        return False
    records = await context.bank.consolidations.load(context.scopes.own)
    return len(records) > 1 and digest_of(records) != digest


async def by_rules(context: Context, scope: Scope) -> tuple[DreamPlan, list[Lesson]]:
    """Return the plan of rules, and its records."""
    records = await context.bank.consolidations.load(scope)
    return await asyncio.to_thread(planned, records), records


async def prompt(context: Context) -> str:
    """Return the prompt for a model of the host or of a person; its answer is sent as `analysis`."""
    rendered = context.runner.render(
        "dream", clean_inputs(await _inputs(context, *await by_rules(context, context.scopes.own)))
    )
    return f"{rendered.system}\n\n{rendered.user}"


async def _planner(context: Context, scope: Scope, analysis: Answer | None) -> _Planner:
    """Return what plans over records: rules, with the proposals of `analysis` or of a model."""
    source, told = Source.AGENT, {"thinker": HOST}
    if analysis is None:
        source, (proposals, told) = Source.MODEL, await _asked(context, scope)
    else:
        proposals = _object(analysis)
    return lambda records: replace(
        _with_proposals(planned(records), proposals, records, source), **told
    )


async def _asked(context: Context, scope: Scope) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a model proposes, and what the plan says of it; it is asked only of records that it has not seen."""
    if context.runner.llm(Role.DREAMER, NO_CLIENT) is None:
        return {}, {}
    plan, records = await by_rules(context, scope)
    if len(records) < 2:
        return {}, {}
    if plan.empty and (await context.bank.consolidations.last(scope))[0] == digest_of(records):
        return {}, {"note": "nothing changed since the last dream"}
    inputs = await _inputs(context, plan, records)
    reply = await context.runner.generate(
        Role.DREAMER, "dream", clean_inputs(inputs), host=NO_CLIENT, read=_object
    )
    told = {"note": clean(reply.note), "tokens": reply.input_tokens + reply.output_tokens}
    if reply.value is None or reply.thinker is None:
        return {}, told
    return reply.value, {**told, "thinker": reply.thinker, "tokens": max(told["tokens"], 1)}


async def _inputs(context: Context, plan: DreamPlan, records: Sequence[Lesson]) -> dict[str, str]:
    """Return the inputs of the prompt `dream`: a line for each record, the most important first, and the clusters.

    A reflection brings its findings without a lesson, so that a lesson can be written from them.
    """
    findings = await context.bank.reflections.findings(context.scopes.own)
    lines: list[str] = []
    for record in records:
        without_lesson = " ".join(findings.get(record.id, ()))
        text = f"No lesson yet of: {without_lesson}" if without_lesson else record.text
        task_type = f", {record.task_type}" if record.task_type else ""
        lines.append(f"- {record.id} ({record.kind.value}{task_type}): {clip(text, _RECORD_CHARS)}")
    clusters = [f"- {', '.join(cluster)}" for cluster in plan.clusters]
    return {
        "memories": "\n".join(lines)[:_SHOWN_CHARS],
        "clusters": "\n".join(clusters)[:_SHOWN_CHARS],
    }


_KEYS: Final = ("merge", "generalize")


def _object(value: "Answer | Json") -> dict[str, Any]:
    """Return the object in an answer; InputError if it contains none of the expected shape."""
    answer: Any = read_object(value, {*_KEYS}) if isinstance(value, str) else value
    if not isinstance(answer, Mapping) or not {*_KEYS} & set(cast("Mapping[str, Any]", answer)):
        fault = "it holds no object with merge or generalize"
        raise InputError("analysis", fault, "Send what the prompt `dream` asks for.")
    return clean(dict(cast("Mapping[str, Any]", answer)))


_LEAST_SOURCES: Final = 3  # records that a generalization needs
_MOST_ENTRIES: Final = 50
_LESSON_FIELDS: Final = ("mistake", "correction", "task_type", "tags", "importance", "confidence")


def _with_proposals(
    plan: DreamPlan, answer: Mapping[str, Any], records: Sequence[Lesson], source: Source
) -> DreamPlan:
    """Return the plan of rules with the entries of an answer that can be applied; `refused` says why others cannot.

    A record is changed by one entry at most: those of rules come first.
    """
    known = {record.id: record for record in records}
    used = {name for merge in plan.merges for name in (merge.keep, *merge.gone)}
    used |= {archiving.id for archiving in plan.archivings}
    refused: list[str] = []
    for kind in _KEYS:
        entries: list[Any] = [item for item in _list(answer, kind) if isinstance(item, dict)]
        for entry in entries[:_MOST_ENTRIES]:
            names = [*dict.fromkeys(map(str, _list(entry, "ids")))]
            try:
                if not known.keys() >= set(names):
                    raise _refusal("it names records that were not shown")
                sources = [known[name] for name in names]
                if kind == "generalize":
                    plan = _generalized(plan, entry, sources, source)
                elif used & set(names):
                    raise _refusal("one of them is in another entry")
                else:
                    plan = _merged(plan, entry, sources, source)
                    used.update(names)
            except InputError as error:
                refused.append(f"{kind} {quoted(', '.join(names), 200)}: {error.fault}")
    return replace(plan, refused=tuple(refused))


def _merged(
    plan: DreamPlan, entry: dict[str, Any], records: list[Lesson], source: Source
) -> DreamPlan:
    kinds = {record.kind for record in records}
    if len(records) < 2:
        raise _refusal("it names fewer than two records")
    if kinds != {RecordKind.LESSON} or len({record.task_type for record in records}) > 1:
        raise _refusal("only lessons of one task type can become one")
    if any(record.is_kept_by_person for record in records):
        raise _refusal("a person keeps one of them")
    wording = _wording(entry, source)
    if len({codes(item.text) for item in (*records, wording)}) > 1:
        raise _refusal("they differ in a number, a name, a path or code")
    best = max(
        records,
        key=lambda record: (record.wins + record.losses, record.strength, record.importance),
    )
    gone = tuple(record.id for record in records if record is not best)
    told = f"proposed: {clip(str(entry.get('reason', '')), 200)}"
    merge = Merge(keep=best.id, gone=gone, reason=told, wording=wording)
    return replace(plan, merges=(*plan.merges, merge))


def _generalized(
    plan: DreamPlan, entry: dict[str, Any], records: list[Lesson], source: Source
) -> DreamPlan:
    if len(records) < _LEAST_SOURCES:
        raise _refusal(f"it names fewer than {_LEAST_SOURCES} records")
    contexts = {record.context_hash for record in records}
    if len(contexts) == 1 and None not in contexts:
        raise _refusal("all of them are from one task")
    added = Generalization(
        lesson=_wording(entry, source), sources=tuple(record.id for record in records)
    )
    return replace(plan, generalizations=(*plan.generalizations, added))


def _wording(entry: Mapping[str, Any], source: Source) -> LessonDraft:
    sent = read(LessonArguments, {name: entry[name] for name in _LESSON_FIELDS if name in entry})
    if not (sent.mistake and sent.correction):
        raise _refusal("mistake and correction are missing")
    return sent.draft(source)


def _refusal(fault: str) -> InputError:
    return InputError("analysis", fault, "Leave the entry out.")


def _list(entry: Mapping[str, Any], name: str) -> list[Any]:
    value = entry.get(name)
    return cast("list[Any]", value) if isinstance(value, list) else []
