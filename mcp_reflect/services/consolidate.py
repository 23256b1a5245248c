"""Consolidate a project's records: merge those that say the same, generalize, and archive what is useless.

A consolidation is called a dream: a server runs one a day while nobody works, as sleep does for memory. A dream has a
plan, by rules and by a language model if there is one, which is applied in one transaction and can be undone.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias, cast

from mcp_reflect.clock import DAY
from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import read_object
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import NO_CLIENT
from mcp_reflect.models.common import HOST, Json, Scope
from mcp_reflect.models.dream import Dream, DreamPlan, Generalization, Merge, Undone
from mcp_reflect.models.lesson import Lesson, LessonDraft, RecordKind, Source, State, Trust
from mcp_reflect.models.shown_digest import NOTHING_SEEN, Seen
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
_LEAST_RECORDS: Final = 2  # of which something can be merged
_MOST_REASON: Final = 200  # characters of why a model proposes something

Answer: TypeAlias = Mapping[str, Any] | str
"""The answer that the prompt `dream` asks for: an object, or text that contains one."""

_Planner: TypeAlias = Callable[[list[Lesson]], DreamPlan]
"""Returns a plan for the records as they are in the transaction that applies it."""


async def dream(
    context: Context, *, plan_only: bool = False, analysis: Answer | None = None
) -> Dream:
    """Plan the changes of the project's records, and apply them unless `plan_only`.

    `analysis` is the host's answer to the prompt `dream`; no model is asked then. InputError if it contains no object.
    """
    scope = context.scopes.own
    planner = await _planner(context, scope, analysis)
    if plan_only:
        records = await context.bank.consolidations.load(scope)
        plan = await asyncio.to_thread(planner, records)
        return Dream(dream_id=None, status="planned", plan=plan, scope=str(scope))
    return await _apply(context, planner)


async def merge(
    context: Context,
    keep: str,
    gone: Sequence[str],
    *,
    by: Speaker = Speaker.AGENT,
    seen: Seen = NOTHING_SEEN,
) -> Dream:
    """Merge records of one kind because somebody says that they are the same; `undo` reverts it.

    `keep` stays with its text; the texts of `gone` become versions of it, and they are archived.
    InputError if they cannot be merged; ChangedError if one is not as the person was shown it (`seen`).
    """
    scope = context.scopes.own
    records = [await context.bank.lessons.get(scope, name, "id") for name in (keep, *gone)]
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
    return await _apply(context, lambda _: plan, part=True, by=by, seen=seen)


async def _apply(
    context: Context,
    planner: _Planner,
    *,
    part: bool = False,
    by: Speaker = Speaker.AGENT,
    seen: Seen = NOTHING_SEEN,
) -> Dream:
    """Plan over the records as they are now and carry the plan out, in one transaction; return what was done.

    `part`: the plan is of some records only, so that the next dream looks at all of them again. A result without a
    `dream_id` changed nothing, and there is nothing to undo.
    """
    scope = context.scopes.own
    dreamed = await context.bank.consolidations.dream(scope, planner, part=part, by=by, seen=seen)
    plan = dreamed.plan
    if dreamed.dream_id is not None:
        context.log.info(
            "dream_finished",
            dream_id=dreamed.dream_id,
            looked_at=plan.looked_at,
            merged=len(plan.merges),
            added=len(dreamed.added),
            archived=len(plan.archivings),
            thinker=plan.thinker,
        )
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
    """Return whether the dream of the day may begin: none was today (UTC), and something changed since the last one."""
    digest, dreamed_at = await context.bank.consolidations.last(context.scopes.own)
    if dreamed_at // DAY == context.clock.now() // DAY:
        return False
    records = await context.bank.consolidations.load(context.scopes.own)
    return len(records) > 1 and digest_of(records) != digest


async def by_rules(context: Context, scope: Scope) -> tuple[DreamPlan, list[Lesson]]:
    """Return the plan that rules make of a project's records, and these records."""
    records = await context.bank.consolidations.load(scope)
    return await asyncio.to_thread(planned, records), records


async def prompt(context: Context) -> str:
    """Return the prompt for a model of the host or of a person; its answer is sent as `analysis`."""
    plan, records = await by_rules(context, context.scopes.own)
    inputs = await _inputs(context, plan, records)
    rendered = context.runner.render("dream", clean_inputs(inputs))
    return f"{rendered.system}\n\n{rendered.user}"


async def _planner(context: Context, scope: Scope, analysis: Answer | None) -> _Planner:
    """Return what plans over records: rules, with the proposals of `analysis` or of a model.

    A model is asked here, before the transaction: it takes half a minute, in which nobody could write.
    """
    if analysis is None:
        source = Source.MODEL
        proposed = await _ask_model(context, scope)
    else:
        source = Source.AGENT
        proposed = _Proposals(_object(analysis), {"thinker": HOST})

    def plan_records(records: list[Lesson]) -> DreamPlan:
        """Return the plan for the records as they are in the transaction."""
        plan = _with_proposals(planned(records), proposed.entries, records, source)
        return replace(plan, **proposed.plan_fields)

    return plan_records


class _Proposals(NamedTuple):
    """What a model or the host answers to the prompt `dream`."""

    entries: dict[str, Any]  # the object of the answer, empty for no answer
    plan_fields: dict[str, Any]  # fields of the plan: who answered, at what cost, or why nobody did


async def _ask_model(context: Context, scope: Scope) -> _Proposals:
    """Return what a model proposes, if there is one; it is asked only where something changed since the last dream."""
    if context.runner.llm(Role.DREAMER, NO_CLIENT) is None:
        return _Proposals({}, {})
    plan, records = await by_rules(context, scope)
    if len(records) < _LEAST_RECORDS:
        return _Proposals({}, {})
    last_digest, _ = await context.bank.consolidations.last(scope)
    if plan.empty and last_digest == digest_of(records):
        return _Proposals({}, {"note": "nothing changed since the last dream"})
    inputs = await _inputs(context, plan, records)
    reply = await context.runner.generate(
        Role.DREAMER, "dream", clean_inputs(inputs), host=NO_CLIENT, read=_object
    )
    tokens = reply.input_tokens + reply.output_tokens
    cost: dict[str, Any] = {"note": clean(reply.note), "tokens": tokens}
    if reply.value is None or reply.thinker is None:
        return _Proposals({}, cost)
    # At least one token, for programs that do not count theirs.
    return _Proposals(reply.value, {**cost, "thinker": reply.thinker, "tokens": max(tokens, 1)})


async def _inputs(context: Context, plan: DreamPlan, records: Sequence[Lesson]) -> dict[str, str]:
    """Return the inputs of the prompt `dream`: a line for each record, the most important first, and the clusters.

    A reflection brings its findings without a lesson, so that a lesson can be written from them.
    """
    findings = await context.bank.reflections.findings(context.scopes.own)
    lines: list[str] = []
    for record in records:
        text = record.text
        without_lesson = " ".join(findings.get(record.id, ()))
        if without_lesson:
            text = f"No lesson yet of: {without_lesson}"
        kind = record.kind.value
        if record.task_type:
            kind += f", {record.task_type}"
        lines.append(f"- {record.id} ({kind}): {clip(text, _RECORD_CHARS)}")
    clusters = [f"- {', '.join(cluster)}" for cluster in plan.clusters]
    return {
        "memories": "\n".join(lines)[:_SHOWN_CHARS],
        "clusters": "\n".join(clusters)[:_SHOWN_CHARS],
    }


_KEYS: Final = ("merge", "generalize")
"""The lists of entries in an answer: records that say the same, and records that one new lesson covers."""


def _object(value: "Answer | Json") -> dict[str, Any]:
    """Return the object in an answer; InputError if it contains none of the expected shape."""
    answer: Any = read_object(value, {*_KEYS}) if isinstance(value, str) else value
    if not isinstance(answer, Mapping) or not {*_KEYS} & set(cast("Mapping[str, Any]", answer)):
        fault = "it holds no object with merge or generalize"
        raise InputError("analysis", fault, "Send what the prompt `dream` asks for.")
    return clean(dict(cast("Mapping[str, Any]", answer)))


_LEAST_SOURCES: Final = 3  # records that a generalization needs
_MOST_ENTRIES: Final = 50  # of each list in an answer
_LESSON_FIELDS: Final = ("mistake", "correction", "task_type", "tags", "importance", "confidence")


def _with_proposals(
    plan: DreamPlan, answer: Mapping[str, Any], records: Sequence[Lesson], source: Source
) -> DreamPlan:
    """Return the plan of rules with the entries of an answer that can be applied; `refused` says why others cannot.

    A record is changed by one entry at most: those of rules come first. An entry is an object such as
    {"ids": ["les_1", "les_2"], "mistake": "…", "correction": "…", "reason": "…"} in the list "merge" or "generalize".
    """
    records_by_id = {record.id: record for record in records}
    changed_ids = {archiving.id for archiving in plan.archivings}
    for merge in plan.merges:
        changed_ids.update((merge.keep, *merge.gone))
    refused: list[str] = []
    for key, entry in _entries_of(answer):
        ids = [*dict.fromkeys(map(str, _list(entry, "ids")))]
        try:
            if not records_by_id.keys() >= set(ids):
                raise _refusal("it names records that were not shown")
            named_records = [records_by_id[record_id] for record_id in ids]
            if key == "generalize":
                plan = _generalized(plan, entry, named_records, source)
                continue
            if not changed_ids.isdisjoint(ids):
                raise _refusal("one of them is in another entry")
            plan = _merged(plan, entry, named_records, source)
            changed_ids.update(ids)
        except InputError as error:
            refused.append(f"{key} {quoted(', '.join(ids), _MOST_REASON)}: {error.fault}")
    return replace(plan, refused=tuple(refused))


def _entries_of(answer: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries of an answer, each with the key of its list, so many of each list as are looked at."""
    for key in _KEYS:
        entries: list[Any] = [item for item in _list(answer, key) if isinstance(item, dict)]
        for entry in entries[:_MOST_ENTRIES]:
            yield key, entry


def _merged(
    plan: DreamPlan, entry: dict[str, Any], records: list[Lesson], source: Source
) -> DreamPlan:
    """Return the plan with a proposed merge of these records in new words; InputError if they must not become one.

    The one with the most outcomes keeps its id, then the one that was met most often.
    """
    kinds = {record.kind for record in records}
    if len(records) < _LEAST_RECORDS:
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
    reason = f"proposed: {clip(str(entry.get('reason', '')), _MOST_REASON)}"
    merge = Merge(keep=best.id, gone=gone, reason=reason, wording=wording)
    return replace(plan, merges=(*plan.merges, merge))


def _generalized(
    plan: DreamPlan, entry: dict[str, Any], records: list[Lesson], source: Source
) -> DreamPlan:
    """Return the plan with a new lesson that covers these records; InputError if they are too few, or from one task."""
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
    """Return the words of a proposed lesson; InputError for a field that cannot be stored, or one that is missing."""
    sent = read(LessonArguments, {name: entry[name] for name in _LESSON_FIELDS if name in entry})
    if not (sent.mistake and sent.correction):
        raise _refusal("mistake and correction are missing")
    return sent.draft(source)


def _refusal(fault: str) -> InputError:
    """Return the error for an entry that is not applied."""
    return InputError("analysis", fault, "Leave the entry out.")


def _list(entry: Mapping[str, Any], name: str) -> list[Any]:
    """Return the list under a name, empty for anything else."""
    value = entry.get(name)
    if not isinstance(value, list):
        return []
    return cast("list[Any]", value)
