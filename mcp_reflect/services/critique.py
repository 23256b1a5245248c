"""Check a piece of work, and correct it as far as possible."""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from mcp_reflect.checkers import loop
from mcp_reflect.checkers.answers import answer_of, critique_from
from mcp_reflect.checkers.base import Work, split
from mcp_reflect.checkers.loop import Run, Version
from mcp_reflect.checkers.opinions import capped, read_opinion
from mcp_reflect.checkers.verify import Verified, progress_of, verifier
from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import CALL_SECONDS, ClientCapabilities, ModelResult
from mcp_reflect.models.common import HOST, RULES, Scope
from mcp_reflect.models.critique import Critique, Opinion, Stopped, ToolResult
from mcp_reflect.schemas.critique import CritiqueArguments
from mcp_reflect.schemas.fields import read
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.services.context import Context

SHOWN: Final = 16_000
"""The most characters of steps, evidence and lessons that a language model is shown, each."""

OnStart = Callable[[int, tuple[str, ...]], None]
OnComplete = Callable[[int, tuple[str, ...]], None]


@dataclass(slots=True)
class Thinker:
    """Asks the critic and the corrector of one call, and remembers who answered, and what it cost."""

    context: Context
    host: ClientCapabilities
    working: Mapping[str, Any]
    lessons: str
    until: float
    name: str = RULES
    note: str | None = None
    tokens: dict[str, int] = field(default_factory=lambda: {"input": 0, "output": 0})
    spoke: bool = False

    async def critic(self, verified: Verified) -> Opinion | None:
        """The critic's opinion, held to what the verdicts allow; not asked where rules suffice and may."""
        mode = self.context.settings.critique
        # A critic that found issues is asked if they are gone.
        wanted = self.working["criteria"] or verified.failed or not verified.complete or self.spoke
        if mode == "off" or (mode == "auto" and not wanted):
            return None
        inputs = {
            "goal": self.working["goal"],
            "step_description": self.working["step_description"],
            "steps": numbered(verified.steps),
            "findings": "\n".join(verified.issues)[:SHOWN],
            "evidence": shown(self.working["tool_results"]),
            "criteria": "\n".join(self.working["criteria"]),
            "lessons": self.lessons,
        }
        model_result = await self._ask(
            Role.CRITIC, "critique", inputs, lambda value: read_opinion(clean(value), "reply")
        )
        if model_result.value is None:
            return None
        self.spoke = True
        return capped(model_result.value, verified)

    async def corrector(self, verified: Verified, issues: Sequence[str]) -> tuple[str, ...]:
        """The corrector's steps; empty where nobody is asked, nobody answers, or steps are left out."""
        if self.context.settings.critique == "off":
            return ()
        least = len(verified.steps)
        inputs = {
            "goal": self.working["goal"],
            "steps": numbered(verified.steps),
            "issues": "\n".join(issues)[:SHOWN],
            "evidence": shown(self.working["tool_results"]),
        }
        model_result = await self._ask(Role.CORRECTOR, "correct", inputs, lambda value: _corrected_steps(value, least))
        return model_result.value or ()

    async def _ask(
        self, role: Role, prompt: str, inputs: Mapping[str, Any], reading: Callable[[Any], Any]
    ) -> ModelResult[Any]:
        model_result: ModelResult[Any] = await self.context.runner.generate(
            role, prompt, inputs, host=self.host, read=reading, seconds=max(self.until - time.monotonic(), 0.0)
        )
        self.tokens["input"] += model_result.input_tokens
        self.tokens["output"] += model_result.output_tokens
        if model_result.thinker is not None:
            self.name = model_result.thinker
        self.note = self.note or model_result.note
        return model_result


@dataclass(frozen=True, slots=True)
class Listener:
    """Tells the host's progress, and the callbacks of a caller in Python."""

    host: ClientCapabilities
    starting: OnStart | None
    completing: OnComplete | None

    async def on_verified(self, version: Verified) -> None:
        if self.host.progress is not None:
            await self.host.progress(0, progress_of(version))

    async def on_start(self, iteration: int, issues: tuple[str, ...]) -> None:
        if self.starting is not None:
            self.starting(iteration, issues)

    async def on_complete(self, iteration: int, version: Verified) -> None:
        if self.completing is not None:
            self.completing(iteration, version.steps)
        if self.host.progress is not None:
            await self.host.progress(iteration, progress_of(version))


def _corrected_steps(value: Any, least: int) -> tuple[str, ...]:
    """The steps of a corrector's reply; InputError where it has none."""
    opinion = read_opinion({name: clean(value).get(name) for name in ("corrected_steps", "suggested_fix")}, "reply")
    if not opinion.corrected_steps:
        raise InputError("reply.corrected_steps", "it is missing", "Send all steps, the wrong ones put right.")
    if len(opinion.corrected_steps) < least:
        fault = f"it has {len(opinion.corrected_steps)} of {least} steps"
        raise InputError("reply.corrected_steps", fault, "Send all of them, the right ones word for word.")
    return opinion.corrected_steps


def numbered(steps: Sequence[str]) -> str:
    """Steps as a numbered list, cut at SHOWN characters."""
    return "\n".join(f"{place}. {step}" for place, step in enumerate(steps, start=1))[:SHOWN]


def shown(results: Sequence[Mapping[str, Any]]) -> str:
    """The last SHOWN characters of what tools printed, each under its name and exit code."""
    parts = [f"{one.get('tool') or 'tool'} (exit code {one.get('exit_code')}):\n{one['content']}" for one in results]
    return "\n\n".join(parts)[-SHOWN:]


async def critique(
    context: Context,
    arguments: Mapping[str, Any],
    host: ClientCapabilities,
    *,
    on_start: OnStart | None = None,
    on_complete: OnComplete | None = None,
) -> Critique:
    """Verify a piece of work, and correct it as far as it can be; see `records.critique`."""
    began = time.monotonic()
    sent = read(CritiqueArguments, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    working = await _working(context, scope, sent)
    said = _digest(sent)
    before = working.get("answer")
    if sent.critique_id is not None and before is not None and working.get("analysis") == said:
        return critique_from(before)
    listener = Listener(host, on_start, on_complete)
    thinker = Thinker(context, host, working, working["lessons"], began + CALL_SECONDS)
    if sent.analysis is None:
        run = await _loop(working, thinker, listener, working["max_iterations"])
    else:
        run = await _by_host(working, thinker, listener, clean(sent.analysis), context.settings)
    answer = answer_of(
        run,
        critique_id=working["critique_id"],
        thinker=thinker.name,
        note=thinker.note,
        tokens=thinker.tokens,
        trigger=working["trigger"],
        threshold=context.settings.quality_threshold,
        criteria=working["criteria"],
        max_iterations=working["max_iterations"],
        milliseconds=round((time.monotonic() - began) * 1000),
    )
    await _keep(context, scope, working, said, run, answer)
    context.log(
        "critique_generated", critique_id=answer.critique_id, action=answer.action.value, thinker=answer.thinker
    )
    return replace(answer, ignored=sent.ignored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """A version of the steps as the loop made it, and the issues that led to it."""

    iteration: int
    issues: tuple[str, ...]
    steps: tuple[str, ...]


async def stream(
    context: Context, arguments: Mapping[str, Any], host: ClientCapabilities
) -> AsyncGenerator[Iteration | Critique]:
    """Each correction as it is verified, then the critique. Whoever stops listening ends the work."""
    queue: asyncio.Queue[Iteration | None] = asyncio.Queue()
    issues: dict[int, tuple[str, ...]] = {}

    def start(iteration: int, found: tuple[str, ...]) -> None:
        issues[iteration] = found

    def complete(iteration: int, steps: tuple[str, ...]) -> None:
        queue.put_nowait(Iteration(iteration=iteration, issues=issues[iteration], steps=steps))

    working = asyncio.create_task(critique(context, arguments, host, on_start=start, on_complete=complete))
    working.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (done := await queue.get()) is not None:
            yield done
        yield await working
    finally:
        working.cancel()
        await asyncio.wait([working])


async def _working(context: Context, scope: Scope, sent: CritiqueArguments) -> dict[str, Any]:
    """The work and its evidence, redacted: what was sent, or what the first call left."""
    given: dict[str, Any] = {
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
        lessons = await _lessons(context, scope, sent.recall_id)
        most = context.settings.max_iterations if sent.max_iterations is None else sent.max_iterations
        own = {"critique_id": context.clock.new_id("crit"), "iterations": 0, "max_iterations": most}
        return clean({**given, **own, "lessons": lessons})
    kept = await context.bank.critique_sessions.load(scope, sent.critique_id)
    if sent.max_iterations is not None:
        given["max_iterations"] = sent.max_iterations
    for name, value in clean(given).items():
        if value in (None, [], kept[name]) or (name == "steps" and value == kept["first_steps"]):
            continue
        if kept[name] in (None, []):  # what the first call left open, evidence above all
            kept[name] = value
        else:
            fault = f"it differs from what {sent.critique_id} holds"
            raise InputError(
                "response" if name == "steps" and sent.response else name, fault, "Leave it out, or critique anew."
            )
    return kept


async def _lessons(context: Context, scope: Scope, recall_id: str | None) -> str:
    """The lessons that a recall showed, for the prompt."""
    if recall_id is None:
        return ""
    found = await context.bank.recalls.lessons_of(scope, recall_id)
    return "\n".join(f"- {lesson.text}" for lesson in found)[:SHOWN]


async def _loop(working: Mapping[str, Any], thinker: Thinker, listener: Listener, most: int) -> Run:
    """The whole loop on the server."""
    return await loop.run(
        working["steps"],
        goal=working["goal"],
        verify=verifier(_work(working)),
        critic=thinker.critic,
        corrector=thinker.corrector,
        max_iterations=most,
        listener=listener,
        until=thinker.until,
    )


async def _by_host(working: dict[str, Any], thinker: Thinker, listener: Listener, analysis: Any, limits: Limits) -> Run:
    """One turn of the loop whose thinking the host did: its correction is verified, counted and compared."""
    thinker.name = HOST
    verify = verifier(_work(working))
    current = await asyncio.to_thread(verify, working["steps"])
    await listener.on_verified(current)
    opinion = capped(read_opinion(analysis, limits=limits), current)
    first = Version(verified=current, opinion=opinion)
    if not opinion.corrected_steps:
        stopped = None if first.issues else Stopped.PASSED
        return Run(first=first, best=first, iterations=working["iterations"], stopped=stopped)
    iteration = working["iterations"] + 1
    if opinion.corrected_steps == current.steps:
        return Run(first=first, best=first, iterations=iteration, stopped=Stopped.NO_CHANGE)
    await listener.on_start(iteration, first.issues)
    after = await asyncio.to_thread(verify, opinion.corrected_steps)
    await listener.on_complete(iteration, after)
    corrected = Version(verified=after, author=HOST)
    best = corrected if len(after.failed) <= len(current.failed) else first
    if not after.failed:
        stopped = Stopped.PASSED
    elif set(after.issues) == set(current.issues):
        stopped = Stopped.SAME_ISSUES
    else:
        stopped = Stopped.BUDGET if iteration >= working["max_iterations"] else None
    return Run(first=first, best=best, iterations=iteration, stopped=stopped)


async def _keep(
    context: Context, scope: Scope, working: dict[str, Any], analysis: str | None, run: Run, answer: Critique
) -> None:
    """Leave what the next call of this critique needs: the best version is what it goes on from."""
    kept = {
        **working,
        "first_steps": working.get("first_steps", working["steps"]),
        "steps": list(run.best.verified.steps) if analysis is not None else working["steps"],
        "iterations": run.iterations if analysis is not None else 0,
        "analysis": analysis,
        "retries": working.get("retries", 0) + answer.should_retry,
        "improvements": working.get("improvements", 0) + (run.best is not run.first),
        "answer": json.loads(json.dumps(asdict(answer))),
    }
    await context.bank.critique_sessions.save(scope, working["critique_id"], kept)


def _digest(sent: CritiqueArguments) -> str | None:
    """Tells an analysis, and evidence sent with it, from another; nothing of it can be read."""
    if sent.analysis is None:
        return None
    results = [result.model_dump(mode="json") for result in sent.tool_results]
    return hashlib.sha256(json.dumps([sent.analysis, results], sort_keys=True).encode()).hexdigest()[:32]


def _work(working: Mapping[str, Any]) -> Work:
    return Work(
        goal=working["goal"],
        steps=tuple(working["steps"]),
        tool_results=tuple(ToolResult(**result) for result in working["tool_results"]),
        decided=working["decided"],
        executed=working["executed"],
    )
