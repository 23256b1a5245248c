"""Check a piece of work, and correct it as far as possible."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Final

from mcp_reflect.checkers import loop
from mcp_reflect.checkers.answers import answer_of
from mcp_reflect.checkers.base import Work, split
from mcp_reflect.checkers.loop import Run, Version
from mcp_reflect.checkers.opinions import beside_verdicts, read_opinion
from mcp_reflect.checkers.verify import Verified, progress_of, verifier
from mcp_reflect.errors import InputError
from mcp_reflect.llm.prompts import Rendered
from mcp_reflect.llm.protocol import Role, TextChunk, TextListener
from mcp_reflect.llm.runner import CALL_SECONDS, NO_CLIENT, ClientCapabilities
from mcp_reflect.models.common import HOST, RULES, Scope, from_json
from mcp_reflect.models.critique import Critique, Opinion, Status, Stopped, ToolResult
from mcp_reflect.schemas.critique import CritiqueArguments
from mcp_reflect.schemas.fields import read
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.signature import digest

_PROMPT_CHARS: Final = 16_000  # of steps, evidence and lessons in a prompt, each

_ACCEPTED: Final = (Status.PASS, Status.UNCHECKED)

Callback = Callable[[int, tuple[str, ...]], None]
"""Receives the number of a correction, and its issues when it starts or its steps when it is complete."""


@dataclass(slots=True)
class _Call:
    """One call of critique: the session's work, the models that are asked about it, and who listens."""

    context: Context
    client: ClientCapabilities
    session: dict[str, Any]
    until: float
    on_starting: Callback | None
    on_completed: Callback | None
    thinker: str = RULES
    note: str | None = None
    tokens: dict[str, int] = field(default_factory=lambda: {"input": 0, "output": 0})
    critic_replied: bool = False

    async def run(self) -> Run:
        """Verify, critique and correct on the server."""
        return await loop.run(
            self.session["steps"],
            goal=self.session["goal"],
            verify=verifier(_work(self.session)),
            critic=self._critic,
            corrector=self._corrector,
            max_iterations=self.session["max_iterations"],
            listener=self,
            until=self.until,
        )

    async def verify_analysis(self, analysis: Any) -> Run:
        """One turn of the loop with the host's critique: its correction is verified, counted and compared."""
        self.thinker = HOST
        verify = verifier(_work(self.session))
        current = await asyncio.to_thread(verify, self.session["steps"])
        await self.on_verified(current)
        opinion = read_opinion(analysis, limits=self.context.settings)
        accepted = {claim: Status(said) for claim, said in self.session.get("accepted", {}).items()}
        opinion = replace(opinion, claims={**opinion.claims, **accepted, **opinion.claims})  # its own claims come first
        opinion = beside_verdicts(opinion, current)
        first = Version(verified=current, opinion=opinion)
        iteration = self.session["iterations"]
        if not opinion.corrected_steps:
            stopped = None if first.needs_change else Stopped.PASSED
            return Run(first=first, best=first, iterations=iteration, stopped=stopped)
        iteration += 1
        if opinion.corrected_steps == current.steps:
            return Run(first=first, best=first, iterations=iteration, stopped=Stopped.NO_CHANGE)
        await self.on_start(iteration, first.issues)
        after = await asyncio.to_thread(verify, opinion.corrected_steps)
        await self.on_complete(iteration, after)
        best = Version(verified=after, author=HOST) if len(after.failed) <= len(current.failed) else first
        if not after.failed:
            stopped = Stopped.PASSED
        elif set(after.issues) == set(current.issues):
            stopped = Stopped.SAME_ISSUES
        else:
            stopped = Stopped.BUDGET if iteration >= self.session["max_iterations"] else None
        return Run(first=first, best=best, iterations=iteration, stopped=stopped)

    async def _critic(self, verified: Verified) -> Opinion | None:
        """Return the critic's opinion beside the verdicts; None where it need not or cannot be asked."""
        mode, criteria = self.context.settings.critique, self.session["criteria"]
        # A critic that found issues is asked again if they are gone.
        wanted = criteria or verified.failed or not verified.complete or self.critic_replied
        if mode == "off" or (mode == "auto" and not wanted):
            return None
        inputs = {
            "step_description": self.session["step_description"],
            "findings": "\n".join(verified.issues)[:_PROMPT_CHARS],
            "claims": "\n".join(f"- {claim}" for _, claim in verified.open_claims)[:_PROMPT_CHARS],
            "criteria": "\n".join(criteria),
            "lessons": self.session["lessons"],
        }
        opinion = await self._ask(Role.CRITIC, "critique", verified, inputs, _opinion, _opinion)
        self.critic_replied = self.critic_replied or opinion is not None
        return opinion and beside_verdicts(opinion, verified)

    async def _corrector(self, verified: Verified, issues: Sequence[str]) -> tuple[str, ...]:
        """Return the corrector's steps; empty where nobody can be asked or gave all of them."""
        if self.context.settings.critique == "off":
            return ()
        inputs, least = {"issues": "\n".join(issues)[:_PROMPT_CHARS]}, len(verified.steps)
        read_steps = partial(_corrected_steps, least=least)
        return await self._ask(Role.CORRECTOR, "correct", verified, inputs, read_steps) or ()

    async def _ask(
        self,
        role: Role,
        prompt: str,
        verified: Verified,
        inputs: Mapping[str, Any],
        read: Callable[[Any], Any],
        read_text: Callable[[str], Any] | None = None,
    ) -> Any:
        common = {
            "goal": self.session["goal"],
            "steps": _numbered(verified.steps),
            "evidence": _evidence(self.session["tool_results"]),
        }
        left = max(self.until - time.monotonic(), 0.0)
        result = await self.context.runner.generate(
            role, prompt, {**common, **inputs}, host=self.client, read=read, read_text=read_text, seconds=left
        )
        self.tokens["input"] += result.input_tokens
        self.tokens["output"] += result.output_tokens
        self.thinker = result.thinker or self.thinker
        self.note = self.note or result.note
        return result.value

    async def on_verified(self, version: Verified) -> None:
        """Report the first verdicts to the client."""
        if self.client.progress is not None:
            await self.client.progress(0, progress_of(version))

    async def on_start(self, iteration: int, issues: tuple[str, ...]) -> None:
        """Report a correction that starts."""
        if self.on_starting is not None:
            self.on_starting(iteration, issues)

    async def on_complete(self, iteration: int, version: Verified) -> None:
        """Report a correction that was verified."""
        self.context.log("critique_iteration", "debug", iteration=iteration, failed=len(version.failed))
        if self.on_completed is not None:
            self.on_completed(iteration, version.steps)
        if self.client.progress is not None:
            await self.client.progress(iteration, progress_of(version))


def _opinion(value: Any) -> Opinion:
    return read_opinion(clean(value), "reply")


def _corrected_steps(value: Any, least: int) -> tuple[str, ...]:
    opinion = _opinion({name: value.get(name) for name in ("corrected_steps", "suggested_fix")})
    if not opinion.corrected_steps:
        raise InputError("reply.corrected_steps", "it is missing", "Send all steps, the wrong ones put right.")
    if len(opinion.corrected_steps) < least:
        fault = f"it has {len(opinion.corrected_steps)} of {least} steps"
        raise InputError("reply.corrected_steps", fault, "Send all of them, the right ones word for word.")
    return opinion.corrected_steps


def _numbered(steps: Sequence[str]) -> str:
    return "\n".join(f"{place}. {step}" for place, step in enumerate(steps, start=1))[:_PROMPT_CHARS]


def _evidence(results: Sequence[Mapping[str, Any]]) -> str:
    """Return the end of the results of tools, each under its name and exit code."""
    parts = [
        f"{result.get('tool') or 'tool'} (exit code {result.get('exit_code')}):\n{result['content']}"
        for result in results
    ]
    return "\n\n".join(parts)[-_PROMPT_CHARS:]


def review_prompt(
    context: Context,
    goal: str,
    steps: Sequence[str] | str,
    tool_results: Sequence[Mapping[str, Any]],
    *,
    step_description: str | None,
    criteria: Sequence[str],
) -> Rendered:
    """Build the critic's prompt for steps that nobody has checked."""
    inputs = {
        "goal": goal,
        "step_description": step_description or "",
        "steps": _numbered([steps] if isinstance(steps, str) else steps),
        "findings": "",
        "claims": "",
        "evidence": _evidence(tool_results),
        "criteria": "\n".join(criteria),
        "lessons": "",
    }
    return context.runner.render("critique", {name: clean_text(text) for name, text in inputs.items()})


def improvement_prompt(
    context: Context,
    goal: str,
    steps: Sequence[str] | str,
    critique: Critique | Sequence[str] | str,
    tool_results: Sequence[Mapping[str, Any]],
) -> Rendered:
    """Build the corrector's prompt for steps with the issues of `critique`; a text is one issue."""
    issues = critique.issues if isinstance(critique, Critique) else critique
    inputs = {
        "goal": goal,
        "steps": _numbered([steps] if isinstance(steps, str) else steps),
        "issues": issues if isinstance(issues, str) else "\n".join(issues),
        "evidence": _evidence(tool_results),
    }
    return context.runner.render("correct", {name: clean_text(text) for name, text in inputs.items()})


async def critique(
    context: Context,
    arguments: Mapping[str, Any],
    client: ClientCapabilities = NO_CLIENT,
    *,
    on_start: Callback | None = None,
    on_complete: Callback | None = None,
    on_text: TextListener | None = None,
) -> Critique:
    """Verify a piece of work, and correct it as far as possible."""
    began = time.monotonic()
    sent = read(CritiqueArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    session = await _session(context, scope, sent)
    analysis_digest = _digest(sent)
    if (
        sent.critique_id is not None
        and session.get("answer") is not None
        and session.get("analysis") == analysis_digest
    ):
        return from_json(Critique, session["answer"])
    until = began + CALL_SECONDS
    call = _Call(context, replace(client, on_text=on_text), session, until, on_start, on_complete)
    run = await (call.run() if sent.analysis is None else call.verify_analysis(clean(sent.analysis)))
    answer = answer_of(
        run,
        critique_id=session["critique_id"],
        thinker=call.thinker,
        note=call.note,
        tokens=call.tokens,
        trigger=session["trigger"],
        threshold=context.settings.quality_threshold,
        criteria=session["criteria"],
        max_iterations=session["max_iterations"],
        milliseconds=round((time.monotonic() - began) * 1000),
    )
    opinion = run.first.opinion
    after = {  # the next call of this critique goes on from the best version
        **session,
        "first_steps": session.get("first_steps", session["steps"]),
        "steps": session["steps"] if analysis_digest is None else list(run.best.verified.steps),
        "iterations": 0 if analysis_digest is None else run.iterations,
        "analysis": analysis_digest,
        "retries": session.get("retries", 0) + answer.should_retry,
        "improvements": session.get("improvements", 0) + (run.best is not run.first),
        "accepted": {claim: said for claim, said in opinion.claims.items() if said in _ACCEPTED} if opinion else {},
        "answer": json.loads(json.dumps(asdict(answer))),
    }
    await context.bank.critique_sessions.save(scope, session["critique_id"], after)
    keys = {"action": answer.action.value, "thinker": answer.thinker}
    context.log("critique_generated", "info", critique_id=answer.critique_id, **keys)
    return replace(answer, ignored=sent.ignored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """A version of the steps as the loop made it, and the issues that led to it."""

    iteration: int
    issues: tuple[str, ...]
    steps: tuple[str, ...]


async def stream(context: Context, arguments: Mapping[str, Any]) -> AsyncGenerator[TextChunk | Iteration | Critique]:
    """Yield text as models write it, each correction as it is verified, the critique. Closing it ends the work."""
    queue: asyncio.Queue[TextChunk | Iteration | None] = asyncio.Queue()
    issues: dict[int, tuple[str, ...]] = {}

    def complete(iteration: int, steps: tuple[str, ...]) -> None:
        queue.put_nowait(Iteration(iteration=iteration, issues=issues[iteration], steps=steps))

    task = asyncio.create_task(
        critique(context, arguments, on_start=issues.__setitem__, on_complete=complete, on_text=queue.put_nowait)
    )
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        yield await task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _session(context: Context, scope: Scope, sent: CritiqueArguments) -> dict[str, Any]:
    """Return the work and its evidence, redacted: those that were sent, or those of the stored session."""
    work: dict[str, Any] = {
        "goal": sent.goal,
        "steps": list(sent.steps or (split(clean_text(sent.response)) if sent.response else ())),
        "step_description": sent.step_description,
        "tool_results": [result.model_dump(mode="json") for result in sent.tool_results],
        "criteria": list(sent.criteria),
        "decided": sent.decided,
        "executed": sent.executed,
        "trigger": sent.trigger,
    }
    if sent.critique_id is None:
        lessons = () if sent.recall_id is None else await context.bank.recalls.lessons_of(scope, sent.recall_id)
        most = context.settings.max_iterations if sent.max_iterations is None else sent.max_iterations
        work |= {"critique_id": context.clock.new_id("crit"), "iterations": 0, "max_iterations": most}
        return clean({**work, "lessons": "\n".join(f"- {lesson.text}" for lesson in lessons)[:_PROMPT_CHARS]})
    stored = await context.bank.critique_sessions.load(scope, sent.critique_id)
    if sent.max_iterations is not None:
        work["max_iterations"] = sent.max_iterations
    for name, value in clean(work).items():
        if value in (None, [], stored[name]) or (name == "steps" and value == stored["first_steps"]):
            continue
        if stored[name] not in (None, []):
            place = "response" if name == "steps" and sent.response else name
            fault = f"it differs from what {sent.critique_id} holds"
            raise InputError(place, fault, "Leave it out, or critique anew.")
        stored[name] = value  # what the first call left open, evidence above all
    return stored


def _digest(sent: CritiqueArguments) -> str | None:
    """Identify an analysis and the evidence sent with it."""
    if sent.analysis is None:
        return None
    results = [result.model_dump(mode="json") for result in sent.tool_results]
    return digest(json.dumps([sent.analysis, results], sort_keys=True), 32)


def _work(session: Mapping[str, Any]) -> Work:
    return Work(
        goal=session["goal"],
        steps=tuple(session["steps"]),
        tool_results=tuple(ToolResult(**result) for result in session["tool_results"]),
        decided=session["decided"],
        executed=session["executed"],
    )
