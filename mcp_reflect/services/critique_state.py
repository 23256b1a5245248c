"""The state of a critique that one call leaves for the next: the work with its evidence, and the latest answer.

A critique takes several calls: the host sends the work, then its own verdicts or what the work lacks. What an earlier
call sent need not be sent again.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.runs import MOST_RESULTS, clipped_results
from mcp_reflect.evidence.work import Work, split
from mcp_reflect.models.common import Scope, from_json
from mcp_reflect.models.critique import NO_OUTPUT, Critique, ToolResult
from mcp_reflect.schemas.critique import CritiqueArguments
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.services.transcripts import read_outputs
from mcp_reflect.text.signature import digest

MOST_LESSONS: Final = 16_000
"""Characters of lessons that are kept for the critic."""

_LEFT_OUT: Final = (None, (), 0)
"""The values of a field of `SentWork` that a call left out."""

_DIGEST_LENGTH: Final = 32  # hex digits


@dataclass(frozen=True, slots=True, kw_only=True)
class SentWork:
    """The work as a call sends it, redacted; a field that the call leaves out is None, empty or 0."""

    goal: str | None = None
    steps: tuple[str, ...] = ()
    step_description: str | None = None
    criteria: tuple[str, ...] = ()
    decided: str | None = None
    executed: str | None = None
    trigger: str | None = None
    tool_results: tuple[ToolResult, ...] = ()
    older_results: int = 0  # how many were sent before these, which are not read


@dataclass(frozen=True, slots=True, kw_only=True)
class CritiqueState:
    """A critique between its calls. The statistics of the bank count its retries and improvements."""

    critique_id: str
    work: SentWork
    max_iterations: int
    lessons: str = ""  # a line each, for the critic
    iterations: int = 0  # corrections that the host made
    evidence: str | None = None  # where the outputs came from, if they were not sent
    message: str | None = None  # identifies what the latest call added (`message_of`)
    retries: int = 0
    improvements: int = 0
    answer: Critique | None = None  # to the latest call

    @property
    def checked_work(self) -> Work:
        """The work as it is checked."""
        return Work(
            goal=self.work.goal or "",
            steps=self.work.steps,
            tool_results=self.work.tool_results,
            older_results=self.work.older_results,
            decided=self.work.decided,
            executed=self.work.executed,
        )

    @property
    def source(self) -> str | None:
        """Where the outputs came from, None where the call sent them."""
        return self.evidence if self.work.tool_results else NO_OUTPUT


async def state_for(context: Context, scope: Scope, sent: CritiqueArguments) -> CritiqueState:
    """Return the state of a new critique, or that of the named one with what this call adds."""
    work = await asyncio.to_thread(_redacted, sent)
    if sent.critique_id is None:
        state = await _new_state(context, scope, sent, work)
    else:
        stored = await context.bank.critique_sessions.load(scope, sent.critique_id)
        state = _with_more(await asyncio.to_thread(_from_body, stored), work, sent)
    return await _with_outputs_of_session(context, scope, state)


async def _new_state(
    context: Context, scope: Scope, sent: CritiqueArguments, work: SentWork
) -> CritiqueState:
    """Return the state of a critique that begins, with the lessons of the recall that the call names."""
    lessons = ()
    if sent.recall_id is not None:
        lessons = await context.bank.recalls.lessons_of(scope, sent.recall_id)
    lesson_lines = "\n".join(f"- {lesson.text}" for lesson in lessons)
    max_iterations = sent.max_iterations
    if max_iterations is None:
        max_iterations = context.settings.max_iterations
    return CritiqueState(
        critique_id=context.clock.new_id("crit"),
        work=work,
        max_iterations=max_iterations,
        lessons=clean_text(lesson_lines[:MOST_LESSONS]),
    )


def _with_more(state: CritiqueState, more: SentWork, sent: CritiqueArguments) -> CritiqueState:
    """Return a stored state with what this call adds to it, evidence above all.

    | this call sends in a field   | stored in it             | result                              |
    |------------------------------|--------------------------|-------------------------------------|
    | nothing, or the stored value | any                      | the stored value                    |
    | another value                | nothing                  | the sent value                      |
    | other outputs                | outputs of the session   | the sent ones: they count for more  |
    | another value                | any other value          | InputError: this is another work    |
    """
    changes: dict[str, Any] = {}
    for work_field in fields(SentWork):
        name = work_field.name
        sent_value = getattr(more, name)
        stored_value = getattr(state.work, name)
        if sent_value in _LEFT_OUT or sent_value == stored_value:
            continue
        are_outputs_of_session = name == "tool_results" and state.evidence is not None
        if stored_value not in _LEFT_OUT and not are_outputs_of_session:
            argument = "response" if name == "steps" and sent.response else name
            fault = f"it differs from what {state.critique_id} holds"
            raise InputError(argument, fault, "Leave it out, or start a new critique.")
        changes[name] = sent_value
    changed = replace(state, work=replace(state.work, **changes))
    if sent.max_iterations is not None:
        changed = replace(changed, max_iterations=sent.max_iterations)
    if "tool_results" in changes:
        changed = replace(changed, evidence=None)
    return changed


async def _with_outputs_of_session(
    context: Context, scope: Scope, state: CritiqueState
) -> CritiqueState:
    """Return the state with the outputs in the session's transcript, where none were sent and a hook named its file."""
    path = context.transcripts.get(scope)
    if state.work.tool_results or path is None:
        return state
    outputs = await asyncio.to_thread(read_outputs, Path(path))
    if not outputs:
        return state
    clean_outputs = await asyncio.to_thread(_cleaned, outputs)
    source = f"{len(outputs)} outputs of this session, as the host kept them"
    unread = len(outputs) - len(clean_outputs)
    work = replace(state.work, tool_results=clean_outputs, older_results=unread)
    return replace(state, work=work, evidence=source)


def _redacted(sent: CritiqueArguments) -> SentWork:
    """Return the work that was sent, without secrets; long results are cut in the middle.

    The steps are those that were sent, else the sentences of the response.
    """
    latest_results = [
        ToolResult(content=result.content, tool=result.tool, exit_code=result.exit_code)
        for result in sent.tool_results[-MOST_RESULTS:]
    ]
    results = _cleaned(latest_results)
    steps: Sequence[str] = sent.steps
    if not steps and sent.response:
        steps = split(clean_text(sent.response))
    return SentWork(
        goal=clean(sent.goal),
        steps=tuple(clean(list(steps))),
        step_description=clean(sent.step_description),
        criteria=tuple(clean(list(sent.criteria))),
        decided=clean(sent.decided),
        executed=clean(sent.executed),
        trigger=clean(sent.trigger),
        tool_results=results,
        older_results=len(sent.tool_results) - len(results),
    )


def _cleaned(results: Sequence[ToolResult]) -> tuple[ToolResult, ...]:
    """Return the latest results without secrets; long ones are cut in the middle, as their start and end say most."""
    clean_results = clean([asdict(result) for result in clipped_results(results)])
    return tuple(ToolResult(**result) for result in clean_results)


def message_of(sent: CritiqueArguments) -> str | None:
    """Return hex digits that identify what a call adds to a critique: verdicts, an analysis, evidence.

    A client that lost the answer sends the same call again, which then gets the same answer. None for a call that begins
    a critique.
    """
    if sent.critique_id is None:
        return None
    results = [result.model_dump(mode="json") for result in sent.tool_results]
    additions = json.dumps([sent.analysis, sent.verdicts, results], sort_keys=True)
    return digest(additions, _DIGEST_LENGTH)


def body_of(state: CritiqueState) -> dict[str, Any]:
    """Return the state as it is stored."""
    return asdict(state)


def _from_body(body: Mapping[str, Any]) -> CritiqueState:
    """Return the state of its stored form (`body_of`); InputError for one of an older release."""
    if "work" not in body:
        raise InputError("critique_id", "an older release wrote it", "Start a new critique.")
    return from_json(CritiqueState, body)
