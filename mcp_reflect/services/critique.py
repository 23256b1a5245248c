"""Check a piece of work: the lines that decide its claims, what is certainly wrong, and the verdicts on the rest."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from mcp_reflect.critique import loop
from mcp_reflect.critique.answers import answer_of
from mcp_reflect.critique.judging import read_opinion, read_steps, read_verdicts
from mcp_reflect.critique.loop import MODEL, Run, Version, uncorrected, with_corrections
from mcp_reflect.critique.runs import clipped_results
from mcp_reflect.critique.verify import Verified, correct, verifier
from mcp_reflect.critique.work import Work, split
from mcp_reflect.errors import InputError
from mcp_reflect.llm.prompts import Rendered
from mcp_reflect.llm.protocol import Role, TextChunk, TextListener
from mcp_reflect.llm.runner import CALL_SECONDS, NO_CLIENT, ClientCapabilities
from mcp_reflect.models.common import HOST, RULES, Scope, from_json, plain
from mcp_reflect.models.critique import NO_OUTPUT, Claim, Critique, Opinion, Stopped, ToolResult
from mcp_reflect.schemas.critique import CritiqueArguments
from mcp_reflect.schemas.fields import read
from mcp_reflect.security.gate import clean_inputs
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.services.transcripts import read_outputs
from mcp_reflect.text.signature import digest

_PROMPT_CHARS: Final = 16_000  # of steps, evidence and lessons in a prompt, each

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
        """Verify, ask the models, and correct on the server."""
        return await loop.run(
            self.session["steps"],
            goal=self.session["goal"],
            verify=await asyncio.to_thread(
                verifier, _work(self.session)
            ),  # it reads all of the output
            critic=self._critic,
            corrector=self._corrector,
            max_iterations=self.session["max_iterations"],
            report=self.report,
            until=self.until,
        )

    async def judged(self, sent: CritiqueArguments) -> Run:
        """One turn of the loop with the host's verdicts: its corrections are verified, counted and compared."""
        self.thinker = HOST
        work = _work(self.session)
        verify = await asyncio.to_thread(verifier, work)
        current = await asyncio.to_thread(verify, work.steps)
        opinion = self._opinion_of(sent, current.claims)
        first = Version(verified=current, opinion=opinion)
        await self.report(0, current)
        computed = current.steps
        if self.session["max_iterations"]:
            computed = await asyncio.to_thread(correct, computed, current.wrong, goal=work.goal)
        corrected = opinion.corrected_steps or with_corrections(computed, first.claims)
        iteration = self.session["iterations"]
        after = await asyncio.to_thread(verify, corrected)
        if standing := uncorrected(first, after):
            return Run(
                first=first, best=first, iterations=iteration, stopped=None, uncorrected=standing
            )
        if corrected == current.steps:
            stopped = (
                Stopped.NO_CHANGE
                if opinion.corrected_steps
                else None
                if first.issues
                else Stopped.PASSED
            )
            return Run(
                first=first,
                best=first,
                iterations=iteration + (stopped is Stopped.NO_CHANGE),
                stopped=stopped,
            )
        iteration += 1
        await self.report(iteration, current, first.issues)
        await self.report(iteration, after)
        author = RULES if corrected == computed else HOST
        best = (
            Version(verified=after, author=author)
            if len(after.wrong) <= len(current.wrong)
            else first
        )
        if not after.wrong:
            stopped = Stopped.PASSED
        elif set(after.issues) == set(current.issues):
            stopped = Stopped.SAME_ISSUES
        else:
            stopped = Stopped.BUDGET if iteration >= self.session["max_iterations"] else None
        return Run(first=first, best=best, iterations=iteration, stopped=stopped)

    def _opinion_of(self, sent: CritiqueArguments, claims: Sequence[Claim]) -> Opinion:
        """Return the host's opinion: what it sends now, and its earlier verdicts on other claims of this work."""
        opinion = Opinion()
        if sent.analysis is not None:
            opinion = read_opinion(
                clean(sent.analysis), limits=self.context.settings, claims=claims, judge=HOST
            )
        said = (
            read_verdicts(clean(sent.verdicts), claims, HOST) if sent.verdicts is not None else ()
        )
        answer = self.session.get("answer")
        before = from_json(Critique, answer).claims if answer else ()
        verdicts = (*(claim for claim in before if claim.judge == HOST), *opinion.verdicts, *said)
        return replace(
            opinion, verdicts=tuple({claim.number: claim for claim in verdicts}.values())
        )

    async def _critic(self, verified: Verified) -> Opinion | None:
        """Return the critic's opinion; None if it need not or cannot be asked."""
        mode, criteria = self.context.settings.critique, self.session["criteria"]
        # What is certainly wrong is corrected first. A critic that found issues is asked again if they are gone.
        wanted = criteria or self.critic_replied or not verified.wrong
        if mode == "off" or (mode == "auto" and not wanted):
            return None
        inputs = {
            "step_description": self.session["step_description"],
            "claims": _listed(verified.claims)[:_PROMPT_CHARS],
            "criteria": "\n".join(criteria),
            "lessons": self.session["lessons"],
        }
        read_reply = partial(_opinion, claims=verified.claims)
        opinion = await self._ask(Role.CRITIC, "critique", verified, inputs, read_reply)
        self.critic_replied = self.critic_replied or opinion is not None
        return opinion

    async def _corrector(self, verified: Verified, issues: Sequence[str]) -> tuple[str, ...]:
        """Return the corrector's steps; empty if nobody can be asked or gave all of them."""
        if self.context.settings.critique == "off":
            return ()
        inputs = {"issues": "\n".join(issues)[:_PROMPT_CHARS]}
        read_reply = partial(_corrected, least=len(verified.steps))
        return await self._ask(Role.CORRECTOR, "correct", verified, inputs, read_reply) or ()

    async def _ask(
        self,
        role: Role,
        prompt: str,
        verified: Verified,
        inputs: Mapping[str, Any],
        read: Callable[[Any], Any],
    ) -> Any:
        common = _shown(self.session["goal"], verified.steps, self.session["tool_results"])
        left = max(self.until - time.monotonic(), 0.0)
        about: Any = {
            "host": self.client,
            "reads_text": True,
            "same_call": any(self.tokens.values()),
            "seconds": left,
        }
        result = await self.context.runner.generate(
            role, prompt, clean_inputs({**common, **inputs}), read=read, **about
        )
        self.tokens["input"] += result.input_tokens
        self.tokens["output"] += result.output_tokens
        self.thinker = result.thinker or self.thinker
        self.note = self.note or result.note
        return result.value

    async def report(
        self, iteration: int, version: Verified, issues: tuple[str, ...] | None = None
    ) -> None:
        """Tell the client and the callbacks of a correction that starts (with its issues), or of a version."""
        if issues is not None:
            if self.on_starting is not None:
                self.on_starting(iteration, issues)
            return
        if iteration:
            self.context.log.debug(
                "critique_iteration", iteration=iteration, failed=len(version.wrong)
            )
            if self.on_completed is not None:
                self.on_completed(iteration, version.steps)
        if self.client.progress is not None:
            await self.client.progress(iteration, version.progress)


def _opinion(value: Any, claims: Sequence[Claim]) -> Opinion:
    return read_opinion(clean(value), "reply", claims=claims, judge=MODEL)


def _corrected(value: Any, least: int) -> tuple[str, ...]:
    """Return the steps of an object, or of a numbered list in plain text."""
    if isinstance(value, str):
        steps = read_steps(clean_text(value))
    else:
        fields = {name: value.get(name) for name in ("corrected_steps", "suggested_fix")}
        steps = read_opinion(clean(fields), "reply").corrected_steps
    if not steps:
        raise InputError(
            "reply.corrected_steps",
            "it is missing",
            "Send all steps, with the wrong ones corrected.",
        )
    if len(steps) < least:
        fault = f"it has {len(steps)} of {least} steps"
        raise InputError(
            "reply.corrected_steps", fault, "Send all of them; repeat the right ones word for word."
        )
    return steps


def _listed(claims: Sequence[Claim]) -> str:
    """Return each claim by its number, with the lines that decide it."""
    texts: list[str] = []
    for claim in claims:
        texts.append(f"{claim.number}. {claim.text}")
        texts += [f"   - result {line.result}: {line.text}" for line in claim.lines]
    return "\n".join(texts)


def _shown(goal: str, steps: Sequence[str], results: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the inputs of each prompt: of the results their end, with tools and, where they are known, exit codes."""
    parts: list[str] = []
    for result in results:
        code = "" if result.get("exit_code") is None else f" (exit code {result['exit_code']})"
        parts.append(f"{result.get('tool') or 'tool'}{code}:\n{result['content']}")
    numbered = "\n".join(f"{place}. {step}" for place, step in enumerate(steps, start=1))
    return {
        "goal": goal,
        "steps": numbered[:_PROMPT_CHARS],
        "evidence": "\n\n".join(parts)[-_PROMPT_CHARS:],
    }


def review_prompt(
    context: Context,
    goal: str,
    response: str,
    tool_results: Sequence[Mapping[str, Any]],
    step_description: str,
    lessons: str,
) -> Rendered:
    """Build the critic's prompt for a response that nobody has checked."""
    more = {"step_description": step_description, "lessons": lessons, "claims": "", "criteria": ""}
    inputs = _shown(goal, [response], tool_results) | more
    return context.runner.render(
        "critique", {name: clean_text(text) for name, text in inputs.items()}
    )


def improvement_prompt(
    context: Context,
    goal: str,
    steps: Sequence[str] | str,
    critique: Critique | Sequence[str] | str,
    tool_results: Sequence[Mapping[str, Any]],
) -> Rendered:
    """Build the corrector's prompt for steps with the issues of `critique`; a text is one issue."""
    issues = critique.issues if isinstance(critique, Critique) else critique
    inputs = _shown(goal, [steps] if isinstance(steps, str) else steps, tool_results)
    inputs["issues"] = issues if isinstance(issues, str) else "\n".join(issues)
    return context.runner.render(
        "correct", {name: clean_text(text) for name, text in inputs.items()}
    )


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
    if not session["tool_results"] and (path := context.transcripts.get(scope)):
        shown = await asyncio.to_thread(read_outputs, Path(path))
        session["tool_results"] = await asyncio.to_thread(_cleaned, shown)
        session["evidence"] = f"{len(shown)} outputs of this session" if shown else None
    message = _digest(sent)
    if (
        sent.critique_id is not None
        and session.get("answer") is not None
        and session.get("message") == message
    ):
        return from_json(Critique, session["answer"])
    call = _Call(
        context,
        replace(client, on_text=on_text),
        session,
        began + CALL_SECONDS,
        on_start,
        on_complete,
    )
    by_host = sent.analysis is not None or sent.verdicts is not None
    run = await (call.judged(sent) if by_host else call.run())
    answer = answer_of(
        run,
        critique_id=session["critique_id"],
        thinker=call.thinker,
        note=call.note,
        evidence=session.get("evidence") if session["tool_results"] else NO_OUTPUT,
        tokens=call.tokens,
        triggered_by=session["trigger"],
        threshold=context.settings.quality_threshold,
        criteria=session["criteria"],
        max_iterations=session["max_iterations"],
        reflection_time_ms=round((time.monotonic() - began) * 1000),
    )
    after = {  # the next call of this critique adds its verdicts to those on the same steps
        **session,
        "iterations": run.iterations if by_host else 0,
        "message": message,
        "retries": session.get("retries", 0) + answer.should_retry,
        "improvements": session.get("improvements", 0) + (run.best is not run.first),
        "answer": await asyncio.to_thread(plain, answer),
    }
    await context.bank.critique_sessions.save(scope, session["critique_id"], after)
    keys = {"action": answer.action.value, "thinker": answer.thinker}
    context.log.info("critique_generated", critique_id=answer.critique_id, **keys)
    return replace(answer, ignored=sent.ignored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """A version of the steps as the loop made it, and the issues that led to it."""

    iteration: int
    issues: tuple[str, ...]
    steps: tuple[str, ...]


async def stream(
    context: Context, arguments: Mapping[str, Any]
) -> AsyncGenerator[TextChunk | Iteration | Critique]:
    """Yield text as models write it, each correction as it is verified, the critique. Closing it ends the work."""
    queue: asyncio.Queue[TextChunk | Iteration | None] = asyncio.Queue()
    issues: dict[int, tuple[str, ...]] = {}

    def complete(iteration: int, steps: tuple[str, ...]) -> None:
        queue.put_nowait(Iteration(iteration=iteration, issues=issues[iteration], steps=steps))

    task = asyncio.create_task(
        critique(
            context,
            arguments,
            on_start=issues.__setitem__,
            on_complete=complete,
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


async def _session(context: Context, scope: Scope, sent: CritiqueArguments) -> dict[str, Any]:
    """Return the work and its evidence, redacted: those that were sent, or those of the stored session."""
    work = await asyncio.to_thread(_redacted, sent)
    if sent.critique_id is None:
        lessons = (
            ()
            if sent.recall_id is None
            else await context.bank.recalls.lessons_of(scope, sent.recall_id)
        )
        most = (
            context.settings.max_iterations if sent.max_iterations is None else sent.max_iterations
        )
        told = clean_text("\n".join(f"- {lesson.text}" for lesson in lessons)[:_PROMPT_CHARS])
        return {
            **work,
            "critique_id": context.clock.new_id("crit"),
            "iterations": 0,
            "max_iterations": most,
            "lessons": told,
        }
    stored = await context.bank.critique_sessions.load(scope, sent.critique_id)
    if sent.max_iterations is not None:
        stored["max_iterations"] = sent.max_iterations
    for name, value in work.items():
        if value in (None, [], stored[name]):
            continue
        if stored[name] not in (None, []):
            place = "response" if name == "steps" and sent.response else name
            fault = f"it differs from what {sent.critique_id} holds"
            raise InputError(place, fault, "Leave it out, or start a new critique.")
        stored[name] = value  # what the first call left open, evidence above all
    return stored


def _redacted(sent: CritiqueArguments) -> dict[str, Any]:
    """Return what was sent of the work, of long results their start and their end."""
    results = [
        ToolResult(content=each.content, tool=each.tool, exit_code=each.exit_code)
        for each in sent.tool_results
    ]
    return {"tool_results": _cleaned(results)} | clean(
        {
            "goal": sent.goal,
            "steps": list(
                sent.steps or (split(clean_text(sent.response)) if sent.response else ())
            ),
            "step_description": sent.step_description,
            "criteria": list(sent.criteria),
            "decided": sent.decided,
            "executed": sent.executed,
            "trigger": sent.trigger,
        }
    )


def _cleaned(results: Sequence[ToolResult]) -> list[dict[str, Any]]:
    return clean([asdict(result) for result in clipped_results(results)])


def _digest(sent: CritiqueArguments) -> str | None:
    """Identify what a call adds to a critique: verdicts, an analysis, evidence."""
    if sent.critique_id is None:
        return None
    results = [result.model_dump(mode="json") for result in sent.tool_results]
    return digest(json.dumps([sent.analysis, sent.verdicts, results], sort_keys=True), 32)


def _work(session: Mapping[str, Any]) -> Work:
    return Work(
        goal=session["goal"],
        steps=tuple(session["steps"]),
        tool_results=tuple(ToolResult(**result) for result in session["tool_results"]),
        decided=session["decided"],
        executed=session["executed"],
    )
