"""How the engine critiques: checkers first, then the loop with whoever can think, and what is kept of it."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from mcp_reflect.arguments.critique import CritiqueShape, read
from mcp_reflect.bank.redaction import clean
from mcp_reflect.critique import loop
from mcp_reflect.critique.checks.checker import Work
from mcp_reflect.critique.judging import judged
from mcp_reflect.critique.loop import Run, Version, capped
from mcp_reflect.critique.opinion import read_opinion
from mcp_reflect.critique.steps import split
from mcp_reflect.critique.verify import Verified, told, verifier
from mcp_reflect.errors import InputError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.records.critique import Critique, Opinion, Stopped
from mcp_reflect.records.scope import Scope
from mcp_reflect.records.verdict import ToolResult
from mcp_reflect.thinking import CALL_SECONDS, Host, Parts, Thought

RULES: Final = "rules"
HOST: Final = "host"
_SHOWN: Final = 16_000  # characters of steps, evidence and lessons that a language model is shown, each

OnStart = Callable[[int, tuple[str, ...]], None]
OnComplete = Callable[[int, tuple[str, ...]], None]


@dataclass(slots=True)
class _Thinker:
    """Asks the critic and the corrector of one call, and remembers who answered, and what it cost."""

    parts: Parts
    host: Host
    working: Mapping[str, Any]
    lessons: str
    until: float
    name: str = RULES
    note: str | None = None
    tokens: dict[str, int] = field(default_factory=lambda: {"input": 0, "output": 0})

    async def critic(self, verified: Verified) -> Opinion | None:
        """The critic's opinion, held to what the verdicts allow; not asked where rules suffice and may."""
        mode = self.parts.settings.critique
        wanted = self.working["criteria"] or verified.unchecked or not verified.verdicts or verified.failed
        if mode == "off" or (mode == "auto" and not wanted):
            return None
        inputs = {
            "goal": self.working["goal"],
            "step_description": self.working["step_description"],
            "steps": _numbered(verified.steps),
            "findings": "\n".join(verified.issues),
            "evidence": _shown(self.working["tool_results"]),
            "criteria": "\n".join(self.working["criteria"]),
            "lessons": self.lessons,
        }
        thought = await self._ask(Role.CRITIC, "critique", inputs, lambda value: read_opinion(clean(value), "reply"))
        return None if thought.value is None else capped(thought.value, verified)

    async def corrector(self, verified: Verified, issues: Sequence[str]) -> tuple[str, ...]:
        """The corrector's steps; empty where nobody answers or the number of steps is none to compare."""
        inputs = {
            "goal": self.working["goal"],
            "steps": _numbered(verified.steps),
            "issues": "\n".join(issues),
            "evidence": _shown(self.working["tool_results"]),
        }
        thought = await self._ask(Role.CORRECTOR, "correct", inputs, _corrected_steps)
        return thought.value or ()

    async def _ask(
        self, role: Role, prompt: str, inputs: Mapping[str, Any], reading: Callable[[Any], Any]
    ) -> Thought[Any]:
        thought: Thought[Any] = await self.parts.thinking.ask(
            role, prompt, inputs, host=self.host, read=reading, seconds=max(self.until - time.monotonic(), 0.0)
        )
        self.tokens["input"] += thought.input_tokens
        self.tokens["output"] += thought.output_tokens
        if thought.thinker is not None:
            self.name = thought.thinker
        self.note = self.note or thought.note
        return thought


@dataclass(frozen=True, slots=True)
class _Listener:
    """Tells the host's progress, and the callbacks of a caller in Python."""

    host: Host
    starting: OnStart | None
    completing: OnComplete | None

    async def on_start(self, iteration: int, issues: tuple[str, ...]) -> None:
        if self.starting is not None:
            self.starting(iteration, issues)

    async def on_complete(self, iteration: int, version: Verified) -> None:
        if self.completing is not None:
            self.completing(iteration, version.steps)
        if self.host.progress is not None:
            await self.host.progress(iteration, told(version))


async def critique(
    parts: Parts,
    arguments: Mapping[str, Any],
    host: Host,
    *,
    on_start: OnStart | None = None,
    on_complete: OnComplete | None = None,
) -> Critique:
    """Verify a piece of work, and correct it as far as it can be; see `records.critique`."""
    began = time.monotonic()
    sent = read(CritiqueShape, arguments)
    scope = parts.scopes.named(sent.project)
    working = await _working(parts, scope, sent)
    before = working.get("answer")
    if sent.analysis is not None and before is not None and working.get("analysis") == sent.analysis:
        return _again(before)
    listener = _Listener(host, on_start, on_complete)
    thinker = _Thinker(parts, host, working, working["lessons"], began + CALL_SECONDS)
    if sent.analysis is None:
        run = await _loop(working, thinker, listener, sent.max_iterations)
    else:
        run = await _by_host(working, thinker, listener, clean(sent.analysis))
    answer = judged(
        run,
        critique_id=working["critique_id"],
        thinker=thinker.name,
        note=thinker.note,
        tokens=thinker.tokens,
        trigger=working["trigger"],
        threshold=parts.settings.quality_threshold,
        has_evidence=bool(working["tool_results"]),
        max_iterations=working["max_iterations"],
        milliseconds=round((time.monotonic() - began) * 1000),
    )
    await _keep(parts, scope, working, sent, run, answer)
    parts.log("critique_generated", critique_id=answer.critique_id, action=answer.action.value, thinker=answer.thinker)
    return answer


async def _working(parts: Parts, scope: Scope, sent: CritiqueShape) -> dict[str, Any]:
    """The work and its evidence, redacted: what was sent, or what the first call left."""
    given = {
        "goal": sent.goal,
        "steps": list(sent.steps or (split(sent.response) if sent.response else ())),
        "step_description": sent.step_description,
        "tool_results": [result.model_dump(mode="json") for result in sent.tool_results],
        "criteria": list(sent.criteria),
        "trigger": sent.trigger,
    }
    if sent.critique_id is None:
        lessons = await _lessons(parts, scope, sent.recall_id)
        own = {"critique_id": parts.clock.new_id("crit"), "iterations": 0, "max_iterations": sent.max_iterations}
        return clean({**given, **own, "lessons": lessons})
    kept = await parts.bank.workings.load(scope, "critique", sent.critique_id)
    for name, value in clean(given).items():
        if value not in (None, [], kept[name]) and not (name == "steps" and value == kept["first_steps"]):
            fault = f"it differs from what {sent.critique_id} holds"
            raise InputError("response" if name == "steps" else name, fault, "Leave it out, or critique anew.")
    return kept


async def _lessons(parts: Parts, scope: Scope, recall_id: str | None) -> str:
    """The lessons that a recall showed, for the prompt."""
    if recall_id is None:
        return ""
    found = await parts.bank.recalled(scope, recall_id)
    return "\n".join(f"- {lesson.text}" for lesson in found)[:_SHOWN]


async def _loop(working: Mapping[str, Any], thinker: _Thinker, listener: _Listener, most: int) -> Run:
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


async def _by_host(working: dict[str, Any], thinker: _Thinker, listener: _Listener, analysis: Any) -> Run:
    """One turn of the loop whose thinking the host did: its correction is verified, counted and compared."""
    thinker.name = HOST
    verify = verifier(_work(working))
    current = verify(working["steps"])
    opinion = capped(read_opinion(analysis), current)
    first = Version(verified=current, opinion=opinion)
    if not opinion.corrected_steps:
        stopped = Stopped.NO_CHANGE if first.issues else Stopped.PASSED
        return Run(first=first, best=first, iterations=working["iterations"], stopped=stopped)
    iteration = working["iterations"] + 1
    if opinion.corrected_steps == current.steps:
        return Run(first=first, best=first, iterations=iteration, stopped=Stopped.NO_CHANGE)
    await listener.on_start(iteration, first.issues)
    after = verify(opinion.corrected_steps)
    await listener.on_complete(iteration, after)
    corrected = Version(verified=after)
    best = corrected if len(after.failed) <= len(current.failed) else first
    if not after.failed:
        stopped = Stopped.PASSED
    elif set(after.issues) == set(current.issues):
        stopped = Stopped.SAME_ISSUES
    else:
        stopped = Stopped.BUDGET
    return Run(first=first, best=best, iterations=iteration, stopped=stopped)


async def _keep(
    parts: Parts, scope: Scope, working: dict[str, Any], sent: CritiqueShape, run: Run, answer: Critique
) -> None:
    """Leave what the next call of this critique needs: the best version is what it goes on from."""
    kept = {
        **working,
        "first_steps": working.get("first_steps", working["steps"]),
        "steps": list(run.best.verified.steps) if sent.analysis is not None else working["steps"],
        "iterations": run.iterations if sent.analysis is not None else 0,
        "analysis": sent.analysis,
        "answer": json.loads(json.dumps(asdict(answer))),
    }
    await parts.bank.workings.keep(scope, "critique", working["critique_id"], kept)


def _again(answer: Mapping[str, Any]) -> Critique:
    """The answer that was given to the same analysis before."""
    from mcp_reflect.critique.judging import critique_from  # noqa: PLC0415 - only for a repeated call

    return critique_from(answer)


def _work(working: Mapping[str, Any]) -> Work:
    return Work(
        goal=working["goal"],
        steps=tuple(working["steps"]),
        tool_results=tuple(ToolResult(**result) for result in working["tool_results"]),
    )


def _corrected_steps(value: Any) -> tuple[str, ...]:
    """The steps of a corrector's reply; InputError where it has none."""
    opinion = read_opinion({name: clean(value).get(name) for name in ("corrected_steps", "suggested_fix")}, "reply")
    if not opinion.corrected_steps:
        raise InputError("reply.corrected_steps", "it is missing", "Send all steps, the wrong ones put right.")
    return opinion.corrected_steps


def _numbered(steps: Sequence[str]) -> str:
    return "\n".join(f"{place}. {step}" for place, step in enumerate(steps, start=1))[:_SHOWN]


def _shown(results: Sequence[Mapping[str, Any]]) -> str:
    parts = [f"{one.get('tool') or 'tool'} (exit code {one.get('exit_code')}):\n{one['content']}" for one in results]
    return "\n\n".join(parts)[-_SHOWN:]
