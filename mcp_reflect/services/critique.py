"""The tool critique: a piece of work is verified against its outputs, and corrected as far as possible.

Rules find the statements that are certainly wrong (`evidence/`). Whether the others are right, the host says in its
verdicts, or a language model does (`critique_models.py`). A critique may take several calls, whose state is kept in
the bank (`critique_state.py`).
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_reflect.evidence import loop
from mcp_reflect.evidence.answers import Judging, answer_of
from mcp_reflect.evidence.judging import read_opinion
from mcp_reflect.evidence.loop import LoopResult, Version, uncorrected, with_corrections
from mcp_reflect.evidence.sent_verdicts import read_verdicts
from mcp_reflect.evidence.verifying import Verified, Verify, verifier
from mcp_reflect.llm.protocol import TextChunk, TextListener
from mcp_reflect.llm.runner import CALL_SECONDS, NO_CLIENT, ClientCapabilities
from mcp_reflect.models.common import HOST, RULES
from mcp_reflect.models.critique import Claim, Critique, Opinion, StopReason
from mcp_reflect.schemas.critique import CritiqueArguments
from mcp_reflect.schemas.reading import read
from mcp_reflect.security.redact import clean
from mcp_reflect.services.context import Context
from mcp_reflect.services.critique_models import CritiqueModels
from mcp_reflect.services.critique_state import CritiqueState, body_of, message_of, state_for
from mcp_reflect.services.triggers import note_task

Callback = Callable[[int, tuple[str, ...]], None]
"""Receives the number of a correction, with its issues at its start, or with its steps once it is complete."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Those who hear of corrections while they are made: the callbacks of the caller, and the client's progress."""

    context: Context
    client: ClientCapabilities
    on_start: Callback | None
    on_complete: Callback | None

    def correction_starts(self, iteration: int, issues: tuple[str, ...]) -> None:
        """Tell of a correction that starts, by its number and the issues that it is to solve."""
        if self.on_start is not None:
            self.on_start(iteration, issues)

    async def version_verified(self, iteration: int, version: Verified) -> None:
        """Tell of a version that is verified, by the number of its correction; 0 is the work as it was sent."""
        if iteration:
            self.context.log.debug(
                "critique_iteration", iteration=iteration, failed=len(version.faults)
            )
            if self.on_complete is not None:
                self.on_complete(iteration, version.steps)
        if self.client.progress is not None:
            await self.client.progress(iteration, version.progress)


async def critique(
    context: Context,
    arguments: Mapping[str, Any],
    client: ClientCapabilities = NO_CLIENT,
    *,
    on_start: Callback | None = None,
    on_complete: Callback | None = None,
    on_text: TextListener | None = None,
) -> Critique:
    """Verify a piece of work, and correct it as far as possible: the tool critique.

    A call may go on with an earlier critique (`critique_id`), with verdicts or more evidence. The callbacks are told of
    each correction, `on_text` of what models write.
    """
    start_time = time.monotonic()
    sent = await asyncio.to_thread(read, CritiqueArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    if sent.goal:
        note_task(context, "critique", sent.goal)
    state = await state_for(context, scope, sent)
    message = await asyncio.to_thread(message_of, sent)
    is_repeated_message = sent.critique_id is not None and state.message == message
    if state.answer is not None and is_repeated_message:
        return state.answer  # the client may have lost the answer
    listeners = Listeners(context, client, on_start, on_complete)
    models = CritiqueModels(
        context, replace(client, on_text=on_text), state, until=start_time + CALL_SECONDS
    )
    result = await _run_versions(context, sent, state, models, listeners)
    answer = _answer_to(context, state, models, result, start_time)
    after = _state_after(replace(state, message=message), sent, result, answer)
    body = await asyncio.to_thread(body_of, after)
    await context.bank.critique_sessions.save(scope, state.critique_id, body)
    context.log.info(
        "critique_generated",
        critique_id=answer.critique_id,
        action=answer.action and answer.action.value,
        thinker=answer.thinker,
    )
    return replace(answer, ignored=sent.ignored)


def _is_judged_by_host(sent: CritiqueArguments) -> bool:
    """Return whether the host judges the work itself, so that no model is asked."""
    return sent.analysis is not None or sent.verdicts is not None


async def _run_versions(
    context: Context,
    sent: CritiqueArguments,
    state: CritiqueState,
    models: CritiqueModels,
    listeners: Listeners,
) -> LoopResult:
    """Verify the work and correct it; return the first and the best version.

    | the host                              | the versions                                                       |
    |---------------------------------------|--------------------------------------------------------------------|
    | sent its verdicts, or an analysis     | the work, and the host's correction of it: one turn, without models|
    | did not                               | a critic and a corrector take turns: models, if any are configured |
    """
    verify = await asyncio.to_thread(verifier, state.checked_work)  # it reads all of the output
    if _is_judged_by_host(sent):
        models.thinker = HOST
        opinion = await asyncio.to_thread(_host_opinion, context, state, sent, verify)
        return await _turn_of_host(state, opinion, verify, listeners)
    return await loop.run(
        state.work.steps,
        verify=verify,
        critic=models.criticize,
        corrector=models.correct,
        max_iterations=state.max_iterations,
        on_start=listeners.correction_starts,
        on_version=listeners.version_verified,
        until=models.until,
    )


def _answer_to(
    context: Context,
    state: CritiqueState,
    models: CritiqueModels,
    result: LoopResult,
    start_time: float,
) -> Critique:
    """Return the answer of the tool: the verdicts on the versions of the work, with the cost of making them."""
    return answer_of(
        result,
        Judging(
            threshold=context.settings.quality_threshold,
            criteria=state.work.criteria,
            max_iterations=state.max_iterations,
        ),
        critique_id=state.critique_id,
        thinker=models.thinker,
        note=models.note,
        evidence=state.source,
        tokens=models.tokens,
        triggered_by=state.work.trigger,
        reflection_time_ms=round((time.monotonic() - start_time) * 1000),
    )


def _state_after(
    state: CritiqueState, sent: CritiqueArguments, result: LoopResult, answer: Critique
) -> CritiqueState:
    """Return the state for the next call.

    Only the host's corrections are counted over several calls: those of a model belong to the one call that made them.
    """
    iterations = 0
    if _is_judged_by_host(sent):
        iterations = result.iterations
    return replace(
        state,
        iterations=iterations,
        retries=state.retries + answer.should_retry,
        improvements=state.improvements + (result.best is not result.first),
        answer=answer,
    )


def _host_opinion(
    context: Context, state: CritiqueState, sent: CritiqueArguments, verify: Verify
) -> Opinion:
    """Return the host's opinion: its analysis and verdicts of this call, and its earlier verdicts on other claims."""
    claims = verify(state.work.steps).claims
    opinion = Opinion()
    if sent.analysis is not None:
        opinion = read_opinion(
            clean(sent.analysis), limits=context.settings, claims=claims, judge=HOST
        )
    judged_by_number = {claim.number: claim for claim in _verdicts_of_host(state.answer)}
    verdicts: Sequence[Claim] = ()
    if sent.verdicts is not None:
        # A verdict on "others" is on all claims without one, an earlier one included.
        known_claims = [judged_by_number.get(claim.number, claim) for claim in claims]
        verdicts = read_verdicts(clean(sent.verdicts), known_claims, HOST)
    for claim in (*opinion.verdicts, *verdicts):
        judged_by_number[claim.number] = claim
    return replace(opinion, verdicts=tuple(judged_by_number.values()))


def _verdicts_of_host(answer: Critique | None) -> list[Claim]:
    """Return the claims of an earlier answer that the host judged."""
    if answer is None:
        return []
    return [claim for claim in answer.claims if claim.judge == HOST]


async def _turn_of_host(
    state: CritiqueState, opinion: Opinion, verify: Verify, listeners: Listeners
) -> LoopResult:
    """Take one turn of the loop with the host's verdicts: its corrections are verified, counted and compared.

    Steps that the host does not correct are corrected by rules, as far as these can compute them. The corrected version
    is the best one if it has no more faults than the one before.
    """
    current = await asyncio.to_thread(verify, state.work.steps)
    first = Version(verified=current, opinion=opinion)
    await listeners.version_verified(0, current)
    steps_by_rules = current.steps
    if state.max_iterations:
        steps_by_rules = await asyncio.to_thread(current.corrected)
    corrected_steps = opinion.corrected_steps or with_corrections(steps_by_rules, first.claims)
    corrected = await asyncio.to_thread(verify, corrected_steps)
    # Claims that the host calls wrong, and leaves as they are: it is asked to correct them.
    uncorrected_claims = uncorrected(first, corrected)
    if uncorrected_claims:
        return LoopResult(
            first=first,
            best=first,
            iterations=state.iterations,
            stopped=None,
            uncorrected=uncorrected_claims,
        )
    if corrected_steps == current.steps:
        return _result_without_change(state, first)
    iteration = state.iterations + 1
    listeners.correction_starts(iteration, first.issues)
    await listeners.version_verified(iteration, corrected)
    best = first
    if len(corrected.faults) <= len(current.faults):
        author = RULES if corrected_steps == steps_by_rules else HOST
        best = Version(verified=corrected, author=author)
    return LoopResult(
        first=first,
        best=best,
        iterations=iteration,
        stopped=_stop_reason(state, current, corrected, iteration),
    )


def _result_without_change(state: CritiqueState, first: Version) -> LoopResult:
    """Return the result of a turn in which the steps stay as they are.

    | the host sent              | counts as a correction | stopped                                  |
    |----------------------------|------------------------|------------------------------------------|
    | the same steps again       | yes                    | NO_CHANGE                                |
    | verdicts, none of them bad | no                     | PASSED                                   |
    | verdicts, some bad         | no                     | None: it is asked to correct the steps   |
    """
    if first.opinion and first.opinion.corrected_steps:
        iterations = state.iterations + 1
        return LoopResult(
            first=first, best=first, iterations=iterations, stopped=StopReason.NO_CHANGE
        )
    stopped = None
    if not first.issues:
        stopped = StopReason.PASSED
    return LoopResult(first=first, best=first, iterations=state.iterations, stopped=stopped)


def _stop_reason(
    state: CritiqueState, current: Verified, corrected: Verified, iteration: int
) -> StopReason | None:
    """Return why the host is not asked for one more correction after its `iteration`-th, None where it is asked.

    | the corrected version                        | the reason     |
    |----------------------------------------------|----------------|
    | has no fault                                 | PASSED         |
    | has the same issues as the one before        | SAME_ISSUES    |
    | is the last one that the critique allows     | BUDGET         |
    | is any other                                 | None           |
    """
    if not corrected.faults:
        return StopReason.PASSED
    if set(corrected.issues) == set(current.issues):
        return StopReason.SAME_ISSUES
    if iteration >= state.max_iterations:
        return StopReason.BUDGET
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """A version of the steps as the loop made it, and the issues that led to it."""

    iteration: int
    issues: tuple[str, ...]
    steps: tuple[str, ...]


async def stream(
    context: Context, arguments: Mapping[str, Any]
) -> AsyncGenerator[TextChunk | Iteration | Critique]:
    """Yield text as models write it, then each correction as it is verified, and at the end the critique.

    The critique runs in a task of its own, which puts its events into a queue; None is the last of them. Closing this
    generator ends the task.
    """
    queue: asyncio.Queue[TextChunk | Iteration | None] = asyncio.Queue()
    issues_by_iteration: dict[int, tuple[str, ...]] = {}

    def put_version(iteration: int, steps: tuple[str, ...]) -> None:
        """Put a version that is complete into the queue, with the issues that led to it."""
        issues = issues_by_iteration[iteration]
        queue.put_nowait(Iteration(iteration=iteration, issues=issues, steps=steps))

    task = asyncio.create_task(
        critique(
            context,
            arguments,
            on_start=issues_by_iteration.__setitem__,
            on_complete=put_version,
            on_text=queue.put_nowait,
        )
    )
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        yield await task
    finally:
        task.cancel()
        await asyncio.wait([task])
