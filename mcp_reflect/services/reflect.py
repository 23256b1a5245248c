"""Reflect on a run: analyze it and store the reflection with its strategy, lessons and failures in one transaction."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from mcp_reflect.clock import iso
from mcp_reflect.decisions import checks
from mcp_reflect.errors import InputError
from mcp_reflect.limits import Limits
from mcp_reflect.llm.prompts import Rendered
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import NO_CLIENT, ClientCapabilities
from mcp_reflect.models.common import RULES, Scope, from_json
from mcp_reflect.models.lesson import RecordKind
from mcp_reflect.models.reflection import (
    ACTIONS,
    Reflection,
    ReflectionDraft,
    StoredReflection,
    Validation,
)
from mcp_reflect.models.run import Trace
from mcp_reflect.schemas.lessons import RecallArguments
from mcp_reflect.schemas.reading import read
from mcp_reflect.schemas.run import ReflectArguments
from mcp_reflect.schemas.stored_runs import plain_run
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.services.reflection_drafts import digest_of, draft_of, review_of
from mcp_reflect.services.run_judgment import AnalyzedRun, criterion_name
from mcp_reflect.services.transcripts import with_own_events
from mcp_reflect.services.triggers import note_task
from mcp_reflect.sessions.diagnose import diagnose

_MORE_FACTS: Final = 2  # that an answer lists beside those in the reflection; all are stored
_FORM_FOR_RUN: Final = "{mistake, correction, strategy}"
_FORM_FOR_DECISION: Final = "{reflection, decision_appropriate, execution_effective, strategy}"
_FROM_THE_BANK: Final = (
    "The bank already had a reflection on the same run; no model was asked again."
)
_ARGUMENTS_OF_CALL: Final = frozenset(
    {
        "detail",
        "reflection_id",
        "analysis",
        "project",
        "recall_id",
        "trigger",
        "related_ids",
        "criteria",
    }
)
"""The arguments that may differ from call to call about one run: they say nothing of the run itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A reflection that is not stored yet, and the draft that stores it."""

    reflection: Reflection
    scope: Scope
    # None if nothing has to be stored: a check of the decision failed, or the reflection is an equal one with its id.
    draft: ReflectionDraft | None = None
    before: StoredReflection | None = None  # the version that the draft replaces


async def reflect(
    context: Context, arguments: Mapping[str, Any], client: ClientCapabilities = NO_CLIENT
) -> Reflection:
    """Reflect on a run, or add an analysis to a stored one."""
    generated = await generate(context, arguments, client)
    if generated.draft is None:
        return generated.reflection
    return await store(context, generated)


async def store(context: Context, generated: Generated) -> Reflection:
    """Store a generated reflection; InputError where a check of its decision failed.

    | the reflection                                 | is stored                            |
    |------------------------------------------------|--------------------------------------|
    | has no draft: the bank has an equal one        | not again                            |
    | is of a run that the bank has (`before`)       | as the next version of that one      |
    | is of a new run                                | as a new one                         |
    """
    draft = generated.draft
    reflections = context.bank.reflections
    if draft is None:
        if not generated.reflection.reflection_id:
            fault = "a check of its decision failed"
            raise InputError("reflection", fault, "Store one whose validation is valid.")
        return generated.reflection
    if generated.before is None:
        stored = await reflections.store(generated.scope, draft)
    else:
        stored = await reflections.next_version(generated.scope, generated.before, draft)
    context.log.info(
        "reflection_stored", reflection_id=stored.id, importance=draft.reflection.importance
    )
    return replace(from_stored(stored), ignored=draft.reflection.ignored)


async def query(context: Context, arguments: Mapping[str, Any]) -> tuple[Reflection, ...]:
    """Return reflections by the arguments of a recall: those that fit the `task` first, then the most important ones.

    Without a task they are by importance alone. A recall cannot be read without one, so that it gets a word for it.
    """
    has_task = bool(arguments.get("task"))
    values = {"max_chars": context.settings.max_recalled_chars, **arguments}
    if not has_task:
        values["task"] = "any"
    sent = read(RecallArguments, values, context.settings)
    scope = context.scopes.named(sent.project)
    reflections = context.bank.reflections
    fitting_ones: list[StoredReflection] = []
    if has_task:
        recall_query = replace(sent.ask(), kinds=(RecordKind.REFLECTION,))
        recall = await context.bank.recalls.recall(scope, recall_query, applied=False)
        fitting_ones = [await reflections.by_id(scope, hit.id) for hit in recall.lessons]
    important_ones = await reflections.important(
        scope, limit=sent.limit, min_importance=sent.min_importance, tags=sent.tags
    )
    stored_by_id = {stored.id: stored for stored in (*fitting_ones, *important_ones)}
    return tuple(from_stored(stored) for stored in stored_by_id.values())[: sent.limit]


async def generate(
    context: Context, arguments: Mapping[str, Any], client: ClientCapabilities = NO_CLIENT
) -> Generated:
    """Reflect on a run without storing anything.

    | the call                                                | the result                                              |
    |---------------------------------------------------------|---------------------------------------------------------|
    | sends a decision that fails a check                     | the failed check: nobody reflects on it (`_rejected`)   |
    | is about a run that was reflected on, adding nothing    | the stored reflection (`_equal_reflection`)             |
    | names a stored run (`reflection_id`), with an analysis  | a draft of the next version                             |
    | sends a run                                             | a draft                                                 |
    """
    sent = await _read_sent(context, arguments)
    scope = context.scopes.named(sent.project)
    if sent.task:
        note_task(context, "reflect", sent.task)
    before = None
    if sent.reflection_id is not None:
        before = await context.bank.reflections.by_id(scope, sent.reflection_id)
        validation = from_stored(before).validation
        run = _stored_run(before, sent, context.settings)
    else:
        validation = _validation(sent)
        if validation is not None and not validation.valid:
            return _rejected(context, scope, sent, validation)
        # In a thread: a long log takes a while, and other calls go on meanwhile.
        run = await asyncio.to_thread(plain_run, sent, context.settings)
    await _check_ids(context, scope, sent)
    equal = await _equal_reflection(context, scope, sent, digest_of(run, None), client)
    if equal is not None:
        context.log.info("reflection_found", reflection_id=equal.id, thinker=equal.thinker)
        reflection = replace(from_stored(equal), ignored=sent.ignored)
        if validation is not None:
            # A graph that names another model wants to know that it was not asked.
            reflection = replace(reflection, note=_FROM_THE_BANK)
        return Generated(reflection=reflection, scope=scope)
    draft = await draft_of(context, scope, sent, run, validation, client)
    return Generated(reflection=draft.reflection, scope=scope, draft=draft, before=before)


async def _read_sent(context: Context, arguments: Mapping[str, Any]) -> ReflectArguments:
    """Read the arguments in a thread: a long run takes a while, and other calls go on meanwhile."""

    def read_all() -> ReflectArguments:
        """Return the arguments, with the events of other forms as ours."""
        converted_arguments = with_own_events(arguments, context.settings)
        return read(ReflectArguments, converted_arguments, context.settings)

    return await asyncio.to_thread(read_all)


def _rejected(
    context: Context, scope: Scope, sent: ReflectArguments, validation: Validation
) -> Generated:
    """Return the answer to a decision that fails a check: nothing was asked, and nothing is stored."""
    context.log.info("reflection_rejected", failed_check=validation.failed_check)
    rejected = Reflection(
        thinker=RULES,
        validation=validation,
        triggered_by=sent.trigger,
        generated_at=iso(context.clock.now()),
        scope=str(scope),
    )
    return Generated(reflection=rejected, scope=scope)


async def _check_ids(context: Context, scope: Scope, sent: ReflectArguments) -> None:
    """Raise NotFoundError if the bank has no record or recall that the call names."""
    for index, record_id in enumerate(sent.related_ids):
        await context.bank.lessons.get(scope, record_id, f"related_ids[{index}]")
    if sent.recall_id is not None:
        await context.bank.recalls.lessons_of(scope, sent.recall_id)


def reflection_prompt(context: Context, arguments: Mapping[str, Any]) -> Rendered:
    """Build the reflector's prompt for a run. It opens no bank, so metrics have no earlier values."""
    sent = read(ReflectArguments, arguments, context.settings)
    if sent.reflection_id is not None:
        raise InputError(
            "reflection_id", "a prompt is built without the bank", "Send the run itself."
        )
    validation = _validation(sent)
    if validation is not None and not validation.valid:
        raise InputError(
            "decision", validation.checks[-1].detail or "", "Correct it, or leave it out."
        )
    run: dict[str, Any] = plain_run(sent, context.settings)
    trace: Trace = from_json(Trace, run)
    diagnosis = diagnose(trace)
    review = review_of(run, diagnosis, earlier={})
    analyzed = AnalyzedRun(
        context=context, run=run, trace=trace, diagnosis=diagnosis, review=review
    )
    prompt, inputs = analyzed.reflector_prompt()
    return context.runner.render(prompt, inputs)


def _validation(sent: ReflectArguments) -> Validation | None:
    """Return the checks of the decision and the execution that were sent, None if neither was."""
    if sent.decision is None and sent.execution is None:
        return None
    allowed_actions = sent.allowed_actions or ACTIONS
    return checks.validate(clean(sent.decision), clean(sent.execution), allowed_actions)


async def _equal_reflection(
    context: Context,
    scope: Scope,
    sent: ReflectArguments,
    run_digest: str,
    client: ClientCapabilities,
) -> StoredReflection | None:
    """Return a stored reflection that answers this call as well, None if there is none.

    It is of the same run, by a model if one would be asked now, and has a score for every criterion that was sent.
    """
    if sent.analysis is not None:  # a new judgment
        return None
    can_ask_model = context.runner.llm(Role.REFLECTOR, client) is not None
    sent_criteria = {criterion_name(name) for name in sent.criteria}
    stored_ones = await context.bank.reflections.of_same_run(
        scope, run_digest, by_model=can_ask_model
    )
    for stored in stored_ones:
        assessment = from_stored(stored).assessment
        scored_criteria = set(assessment.scores) if assessment else set[str]()
        if sent_criteria <= scored_criteria:
            return stored
    return None


def _stored_run(before: StoredReflection, sent: ReflectArguments, limits: Limits) -> dict[str, Any]:
    """Return the stored run. InputError if an argument of the call differs from it: that would be another run."""
    stored_run = cast("dict[str, Any]", before.trace)
    sent_run: dict[str, Any] = plain_run(sent, limits)
    for name in sorted(sent.model_fields_set - _ARGUMENTS_OF_CALL):
        if sent_run.get(name) != stored_run.get(name):
            fix = "Leave it out, or call reflect without reflection_id."
            raise InputError(name, f"it differs from what {before.id} holds", fix)
    return stored_run


def from_stored(stored: StoredReflection) -> Reflection:
    """Read a stored reflection. One with facts alone says in `next` how the agent adds its own analysis."""
    body = cast("dict[str, Any]", stored.body)
    reflection: Reflection = from_json(Reflection, body)
    if stored.thinker != RULES:
        return reflection
    facts = [fact["text"] for fact in body.get("findings", ())]
    return replace(reflection, next=_request_for_analysis(reflection, facts))


def _request_for_analysis(reflection: Reflection, facts: Sequence[str]) -> dict[str, object]:
    """Return what the agent may send next: {"facts": [...], "send": "reflection_id with analysis {…}"}.

    The facts are some that the reflection had no room for.
    """
    analysis_form = _FORM_FOR_RUN if reflection.validation is None else _FORM_FOR_DECISION
    send = f"reflection_id with analysis {analysis_form}: these are facts, you know what they mean"
    other_facts = [text for text in facts if text not in reflection.reflection][:_MORE_FACTS]
    if other_facts:
        return {"facts": other_facts, "send": send}
    return {"send": send}
