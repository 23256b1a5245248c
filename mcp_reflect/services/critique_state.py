"""The state of a critique that one call leaves for the next: the work, its evidence, and the latest answer."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SentWork:
    """What a call brings of the work, redacted; None and empty for what it leaves out."""

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
    text = "\n".join(f"- {lesson.text}" for lesson in lessons)
    max_iterations = sent.max_iterations
    if max_iterations is None:
        max_iterations = context.settings.max_iterations
    return CritiqueState(
        critique_id=context.clock.new_id("crit"),
        work=work,
        max_iterations=max_iterations,
        lessons=clean_text(text[:MOST_LESSONS]),
    )


_LEFT_OUT: Final = (None, (), 0)
"""What a field of `SentWork` holds that a call left out."""


def _with_more(state: CritiqueState, more: SentWork, sent: CritiqueArguments) -> CritiqueState:
    """Return a stored state with what this call adds to it, evidence above all.

    | the field                  | this call sends   | result                               |
    |----------------------------|-------------------|--------------------------------------|
    | any                        | nothing, the same | the stored value                     |
    | is not stored              | a value           | the sent one                         |
    | outputs of the session     | outputs           | the sent ones: they count for more   |
    | is stored                  | another value     | InputError: that is another work     |
    """
    changes: dict[str, Any] = {}
    for name in [work_field.name for work_field in fields(SentWork)]:
        sent_value, stored_value = getattr(more, name), getattr(state.work, name)
        if sent_value in _LEFT_OUT or sent_value == stored_value:
            continue
        is_of_session = name == "tool_results" and state.evidence is not None
        if stored_value not in _LEFT_OUT and not is_of_session:
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
    """Return the state with the outputs that this session's hooks saw, where none were sent."""
    path = context.transcripts.get(scope)
    if state.work.tool_results or path is None:
        return state
    shown = await asyncio.to_thread(read_outputs, Path(path))
    if not shown:
        return state
    outputs = await asyncio.to_thread(_cleaned, shown)
    source = f"{len(shown)} outputs of this session, as the host kept them"
    return replace(state, work=replace(state.work, tool_results=outputs), evidence=source)


def _redacted(sent: CritiqueArguments) -> SentWork:
    """Return what was sent of the work, of long results their start and their end."""
    results = [
        ToolResult(content=each.content, tool=each.tool, exit_code=each.exit_code)
        for each in sent.tool_results[-MOST_RESULTS:]
    ]
    steps = sent.steps or (split(clean_text(sent.response)) if sent.response else ())
    return SentWork(
        goal=clean(sent.goal),
        steps=tuple(clean(list(steps))),
        step_description=clean(sent.step_description),
        criteria=tuple(clean(list(sent.criteria))),
        decided=clean(sent.decided),
        executed=clean(sent.executed),
        trigger=clean(sent.trigger),
        tool_results=_cleaned(results),
        older_results=max(0, len(sent.tool_results) - MOST_RESULTS),
    )


def _cleaned(results: Sequence[ToolResult]) -> tuple[ToolResult, ...]:
    """Return results without secrets, of long ones their start and their end."""
    clipped = clean([asdict(result) for result in clipped_results(results)])
    return tuple(ToolResult(**result) for result in clipped)


def message_of(sent: CritiqueArguments) -> str | None:
    """Return 32 digits that identify what a call adds to a critique: verdicts, an analysis, evidence.

    A client that lost the answer sends the same call again, which then gets the same answer. None for a call that begins
    a critique.
    """
    if sent.critique_id is None:
        return None
    results = [result.model_dump(mode="json") for result in sent.tool_results]
    return digest(json.dumps([sent.analysis, sent.verdicts, results], sort_keys=True), 32)


def body_of(state: CritiqueState) -> dict[str, Any]:
    """Return the state as it is stored."""
    return asdict(state)


def _from_body(body: Mapping[str, Any]) -> CritiqueState:
    """Return the state of its stored form (`body_of`); InputError for one of an older release."""
    if "work" not in body:
        raise InputError("critique_id", "an older release wrote it", "Start a new critique.")
    return from_json(CritiqueState, body)
