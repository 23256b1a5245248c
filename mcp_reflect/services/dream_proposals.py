"""The proposals of a language model for a dream: how it is asked, and which of its entries may be applied.

An answer is an object with the lists `merge` (records that say the same) and `generalize` (records that one new lesson
covers). A model may be wrong, so that each entry is checked before it joins the plan of rules, and `refused` says why
an entry does not.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias, cast

from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import read_object
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import NO_CLIENT
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.dream import DreamPlan, Generalization, Merge
from mcp_reflect.models.lesson import Lesson, LessonDraft, RecordKind, Source
from mcp_reflect.schemas.lessons import LessonArguments
from mcp_reflect.schemas.reading import read
from mcp_reflect.security.gate import clean_inputs
from mcp_reflect.security.redact import clean, quoted
from mcp_reflect.services.context import Context
from mcp_reflect.sessions.text import clip
from mcp_reflect.storage.consolidation import digest_of, planned
from mcp_reflect.storage.similarity import codes

_MAX_PROMPT_CHARS: Final = 16_000  # of the records in a prompt, some 4,000 tokens
_MAX_RECORD_CHARS: Final = 400  # of one record
_MAX_REASON_CHARS: Final = 200  # of why a model proposes something
_LEAST_RECORDS: Final = 2  # of which something can be merged
_LEAST_SOURCES: Final = 3  # records that a generalization needs
_MOST_ENTRIES: Final = 50  # of each list in an answer
_LISTS: Final = ("merge", "generalize")
"""The lists of entries in an answer: records that say the same, and records that one new lesson covers."""

_LESSON_FIELDS: Final = ("mistake", "correction", "task_type", "tags", "importance", "confidence")
"""The fields of an entry that word its lesson."""

Answer: TypeAlias = Mapping[str, Any] | str
"""The answer that the prompt `dream` asks for: an object, or text that contains one."""


class Proposals(NamedTuple):
    """The answer of a model or the host to the prompt `dream`."""

    entries: dict[str, Any]  # the object of the answer, empty for no answer
    plan_fields: dict[str, Any]  # fields of the plan: who answered, at what cost, or why nobody did


async def ask_model(context: Context, scope: Scope) -> Proposals:
    """Return the proposals of the configured model.

    | the case                                                | the proposals                          |
    |---------------------------------------------------------|----------------------------------------|
    | no model is configured, or fewer than two records       | none                                   |
    | rules change nothing, as nothing changed since the last | none, and a note: no tokens are spent  |
    | the model fails                                         | none, with its cost and fault          |
    | the model answers                                       | its entries, with its cost and name    |
    """
    if context.runner.llm(Role.DREAMER, NO_CLIENT) is None:
        return Proposals({}, {})
    plan, records = await by_rules(context, scope)
    if len(records) < _LEAST_RECORDS:
        return Proposals({}, {})
    last_digest, _ = await context.bank.consolidations.last(scope)
    if plan.empty and last_digest == digest_of(records):
        return Proposals({}, {"note": "nothing changed since the last dream"})
    inputs = await _prompt_inputs(context, plan, records)
    reply = await context.runner.generate(
        Role.DREAMER, "dream", clean_inputs(inputs), host=NO_CLIENT, read=object_in
    )
    tokens = reply.input_tokens + reply.output_tokens
    cost: dict[str, Any] = {"note": clean(reply.note), "tokens": tokens}
    if reply.value is None or reply.thinker is None:
        return Proposals({}, cost)
    # At least one token, for programs that do not count theirs.
    return Proposals(reply.value, {**cost, "thinker": reply.thinker, "tokens": max(tokens, 1)})


async def _prompt_inputs(
    context: Context, plan: DreamPlan, records: Sequence[Lesson]
) -> dict[str, str]:
    """Return the inputs of the prompt `dream`: a line for each record, the most important first, and the clusters.

    "- les_3f2a90 (lesson, deploy): Build before the tests". A reflection brings its findings without a lesson, so that
    a lesson can be written from them.
    """
    findings_by_id = await context.bank.reflections.findings(context.scopes.own)
    lines: list[str] = []
    for record in records:
        text = record.text
        findings_without_lesson = " ".join(findings_by_id.get(record.id, ()))
        if findings_without_lesson:
            text = f"No lesson yet of: {findings_without_lesson}"
        label = record.kind.value
        if record.task_type:
            label += f", {record.task_type}"
        lines.append(f"- {record.id} ({label}): {clip(text, _MAX_RECORD_CHARS)}")
    clusters = [f"- {', '.join(cluster)}" for cluster in plan.clusters]
    return {
        "memories": "\n".join(lines)[:_MAX_PROMPT_CHARS],
        "clusters": "\n".join(clusters)[:_MAX_PROMPT_CHARS],
    }


def object_in(value: "Answer | Json") -> dict[str, Any]:
    """Return the object in an answer, an object or a text; InputError if it has neither of the two lists.

    'Here it is: {"merge": []}' -> {"merge": []}
    """
    answer: Any = value
    if isinstance(value, str):
        answer = read_object(value, set(_LISTS))
    fields: Mapping[str, Any] = {}
    if isinstance(answer, Mapping):
        fields = cast("Mapping[str, Any]", answer)
    if fields.keys().isdisjoint(_LISTS):
        fault = "it holds no object with merge or generalize"
        raise InputError("analysis", fault, "Send what the prompt `dream` asks for.")
    return clean(dict(fields))


def with_proposals(
    plan: DreamPlan, answer: Mapping[str, Any], records: Sequence[Lesson], source: Source
) -> DreamPlan:
    """Return the plan of rules with the entries of an answer that can be applied; `refused` says why others cannot.

    A record is changed by one entry at most: those of rules come first. An entry is an object such as
    {"ids": ["les_1", "les_2"], "mistake": "…", "correction": "…", "reason": "…"} in the list "merge" or "generalize".
    """
    record_by_id = {record.id: record for record in records}
    changed_ids = {archiving.id for archiving in plan.archivings}
    for merge in plan.merges:
        changed_ids.update((merge.keep, *merge.gone))
    refused: list[str] = []
    for list_name, entry in _entries_of(answer):
        ids = [*dict.fromkeys(map(str, _list_under(entry, "ids")))]
        try:
            if not record_by_id.keys() >= set(ids):
                raise _refusal("it names records that were not shown")
            named_records = [record_by_id[record_id] for record_id in ids]
            if list_name == "generalize":
                plan = _plan_with_generalization(plan, entry, named_records, source)
                continue
            if not changed_ids.isdisjoint(ids):
                raise _refusal("one of them is in another entry")
            plan = _plan_with_merge(plan, entry, named_records, source)
            changed_ids.update(ids)
        except InputError as error:
            named_ids = quoted(", ".join(ids), _MAX_REASON_CHARS)
            refused.append(f"{list_name} {named_ids}: {error.fault}")
    return replace(plan, refused=tuple(refused))


def _entries_of(answer: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the first _MOST_ENTRIES entries of each list in an answer, each with the name of its list."""
    for list_name in _LISTS:
        items = _list_under(answer, list_name)
        entries: list[Any] = [item for item in items if isinstance(item, dict)]
        for entry in entries[:_MOST_ENTRIES]:
            yield list_name, entry


def _plan_with_merge(
    plan: DreamPlan, entry: dict[str, Any], records: list[Lesson], source: Source
) -> DreamPlan:
    """Return the plan with a proposed merge of these records in new words; InputError if they must not become one.

    The record with the most outcomes keeps its id; of equal ones the one that was learned most often.
    """
    if len(records) < _LEAST_RECORDS:
        raise _refusal("it names fewer than two records")
    kinds = {record.kind for record in records}
    task_types = {record.task_type for record in records}
    if kinds != {RecordKind.LESSON} or len(task_types) > 1:
        raise _refusal("only lessons of one task type can become one")
    if any(record.is_kept_by_person for record in records):
        raise _refusal("a person keeps one of them")
    wording = _wording(entry, source)
    different_codes = {codes(item.text) for item in (*records, wording)}
    if len(different_codes) > 1:
        raise _refusal("they differ in a number, a name, a path or code")
    best = max(records, key=_evidence_key)
    merged_ids = tuple(record.id for record in records if record is not best)
    reason = f"proposed: {clip(str(entry.get('reason', '')), _MAX_REASON_CHARS)}"
    merge = Merge(keep=best.id, gone=merged_ids, reason=reason, wording=wording)
    return replace(plan, merges=(*plan.merges, merge))


def _evidence_key(record: Lesson) -> tuple[float, float, float]:
    """Return the key by which the record with the most evidence is the greatest."""
    return (record.wins + record.losses, record.strength, record.importance)


def _plan_with_generalization(
    plan: DreamPlan, entry: dict[str, Any], records: list[Lesson], source: Source
) -> DreamPlan:
    """Return the plan with a new lesson that covers these records; InputError if they are too few, or from one task."""
    if len(records) < _LEAST_SOURCES:
        raise _refusal(f"it names fewer than {_LEAST_SOURCES} records")
    task_hashes = {record.context_hash for record in records}
    if len(task_hashes) == 1 and None not in task_hashes:
        raise _refusal("all of them are from one task")
    source_ids = tuple(record.id for record in records)
    generalization = Generalization(lesson=_wording(entry, source), sources=source_ids)
    return replace(plan, generalizations=(*plan.generalizations, generalization))


def _wording(entry: Mapping[str, Any], source: Source) -> LessonDraft:
    """Return the words of a proposed lesson; InputError for a field that cannot be stored, or one that is missing."""
    sent = read(LessonArguments, {name: entry[name] for name in _LESSON_FIELDS if name in entry})
    if not (sent.mistake and sent.correction):
        raise _refusal("mistake and correction are missing")
    return sent.draft(source)


def _refusal(fault: str) -> InputError:
    """Return the error for an entry that is not applied."""
    return InputError("analysis", fault, "Leave the entry out.")


def _list_under(entry: Mapping[str, Any], name: str) -> list[Any]:
    """Return the list under a name, empty for anything else."""
    value = entry.get(name)
    if not isinstance(value, list):
        return []
    return cast("list[Any]", value)


async def by_rules(context: Context, scope: Scope) -> tuple[DreamPlan, list[Lesson]]:
    """Return the plan that rules make of a project's records, and these records."""
    records = await context.bank.consolidations.load(scope)
    return await asyncio.to_thread(planned, records), records


async def prompt(context: Context) -> str:
    """Return the prompt for a model of the host or of a person; its answer is sent as `analysis`."""
    plan, records = await by_rules(context, context.scopes.own)
    inputs = await _prompt_inputs(context, plan, records)
    rendered = context.runner.render("dream", clean_inputs(inputs))
    return f"{rendered.system}\n\n{rendered.user}"
