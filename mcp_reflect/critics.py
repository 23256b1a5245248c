"""Who critiques and corrects in a call of critique: what they are shown, and what of their replies counts."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_reflect.checkers.loop import capped, read_opinion
from mcp_reflect.checkers.verify import Verified, told
from mcp_reflect.context_ import Parts
from mcp_reflect.errors import InputError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import Host, Thought
from mcp_reflect.models.common import RULES
from mcp_reflect.models.critique import Opinion
from mcp_reflect.security.redact import clean

SHOWN: Final = 16_000
"""The most characters of steps, evidence and lessons that a language model is shown, each."""

OnStart = Callable[[int, tuple[str, ...]], None]
OnComplete = Callable[[int, tuple[str, ...]], None]


@dataclass(slots=True)
class Thinker:
    """Asks the critic and the corrector of one call, and remembers who answered, and what it cost."""

    parts: Parts
    host: Host
    working: Mapping[str, Any]
    lessons: str
    until: float
    name: str = RULES
    note: str | None = None
    tokens: dict[str, int] = field(default_factory=lambda: {"input": 0, "output": 0})
    spoke: bool = False

    async def critic(self, verified: Verified) -> Opinion | None:
        """The critic's opinion, held to what the verdicts allow; not asked where rules suffice and may."""
        mode = self.parts.settings.critique
        open_ = self.working["criteria"] or verified.unchecked or not verified.verdicts or verified.failed
        wanted = open_ or self.spoke  # who found issues is asked whether they are gone
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
        thought = await self._ask(Role.CRITIC, "critique", inputs, lambda value: read_opinion(clean(value), "reply"))
        if thought.value is None:
            return None
        self.spoke = True
        return capped(thought.value, verified)

    async def corrector(self, verified: Verified, issues: Sequence[str]) -> tuple[str, ...]:
        """The corrector's steps; empty where nobody is asked, nobody answers, or steps are left out."""
        if self.parts.settings.critique == "off":
            return ()
        least = len(verified.steps)
        inputs = {
            "goal": self.working["goal"],
            "steps": numbered(verified.steps),
            "issues": "\n".join(issues)[:SHOWN],
            "evidence": shown(self.working["tool_results"]),
        }
        thought = await self._ask(Role.CORRECTOR, "correct", inputs, lambda value: _corrected_steps(value, least))
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
class Listener:
    """Tells the host's progress, and the callbacks of a caller in Python."""

    host: Host
    starting: OnStart | None
    completing: OnComplete | None

    async def on_verified(self, version: Verified) -> None:
        if self.host.progress is not None:
            await self.host.progress(0, told(version))

    async def on_start(self, iteration: int, issues: tuple[str, ...]) -> None:
        if self.starting is not None:
            self.starting(iteration, issues)

    async def on_complete(self, iteration: int, version: Verified) -> None:
        if self.completing is not None:
            self.completing(iteration, version.steps)
        if self.host.progress is not None:
            await self.host.progress(iteration, told(version))


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
