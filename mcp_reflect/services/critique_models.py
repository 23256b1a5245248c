"""The language models of a critique: what the one that judges and the one that corrects are asked, and answer."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.judging import read_opinion, read_steps
from mcp_reflect.evidence.loop import MODEL
from mcp_reflect.evidence.verifying import Verified
from mcp_reflect.llm.prompts import Rendered
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import ClientCapabilities
from mcp_reflect.models.common import RULES
from mcp_reflect.models.critique import Claim, Critique, Opinion, ToolResult
from mcp_reflect.security.gate import clean_inputs
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.services.critique_state import CritiqueState

_PROMPT_CHARS: Final = 16_000  # of steps, evidence and claims in a prompt, each


@dataclass(slots=True)
class CritiqueModels:
    """Asks the models about one critique until a time (monotonic seconds), and notes who answered at what cost."""

    context: Context
    client: ClientCapabilities
    state: CritiqueState
    until: float
    thinker: str = RULES
    note: str | None = None
    tokens: dict[str, int] = field(default_factory=lambda: {"input": 0, "output": 0})
    critic_replied: bool = False

    async def criticize(self, verified: Verified) -> Opinion | None:
        """Return the critic's opinion; None if it need not or cannot be asked."""
        if not self._wants_a_critic(verified):
            return None
        inputs = {
            "step_description": self.state.work.step_description,
            "claims": listed_claims(verified)[:_PROMPT_CHARS],
            "criteria": "\n".join(self.state.work.criteria),
            "lessons": self.state.lessons,
        }
        read_reply = partial(_read_opinion, claims=verified.claims)
        opinion = await self._ask(Role.CRITIC, "critique", verified, inputs, read_reply)
        self.critic_replied = self.critic_replied or opinion is not None
        return opinion

    def _wants_a_critic(self, verified: Verified) -> bool:
        """Return whether to ask the critic about this version of the work, by the setting `critique`.

        With `auto`, what rules are certain is wrong is corrected first, without a critic; one that was asked before is
        asked again whether its issues are gone.
        """
        match self.context.settings.critique:
            case "off":
                return False
            case "always":
                return True
            case _:
                has_criteria = bool(self.state.work.criteria)
                return has_criteria or self.critic_replied or not verified.faults

    async def correct(self, verified: Verified, issues: Sequence[str]) -> tuple[str, ...]:
        """Return the corrector's steps; empty if nobody can be asked or gave all of them."""
        if self.context.settings.critique == "off":
            return ()
        inputs = {"issues": "\n".join(issues)[:_PROMPT_CHARS]}
        read_reply = partial(_read_steps, least=len(verified.steps))
        return await self._ask(Role.CORRECTOR, "correct", verified, inputs, read_reply) or ()

    async def _ask(
        self,
        role: Role,
        prompt: str,
        verified: Verified,
        inputs: Mapping[str, Any],
        read: Callable[[Any], Any],
    ) -> Any:
        """Return what a model answers to a prompt about this version, as `read` reads it; None if it cannot be asked.

        Who answered, at what cost, and why not, is noted.
        """
        work = self.state.work
        common_inputs = _common_inputs(work.goal or "", verified.steps, work.tool_results)
        cleaned = await asyncio.to_thread(clean_inputs, {**common_inputs, **inputs})
        result = await self.context.runner.generate(
            role,
            prompt,
            cleaned,
            host=self.client,
            read=read,
            reads_text=True,
            same_call=any(self.tokens.values()),
            seconds=max(self.until - time.monotonic(), 0.0),
        )
        self.tokens["input"] += result.input_tokens
        self.tokens["output"] += result.output_tokens
        self.thinker = result.thinker or self.thinker
        self.note = self.note or result.note
        return result.value


def _read_opinion(value: Any, claims: Sequence[Claim]) -> Opinion:
    """Return a critic's reply as an opinion on the claims, without secrets."""
    return read_opinion(clean(value), "reply", claims=claims, judge=MODEL)


def _read_steps(value: Any, least: int) -> tuple[str, ...]:
    """Return the steps of an object, or of a numbered list in plain text; InputError for fewer than `least`."""
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


def listed_claims(verified: Verified) -> str:
    """Return each claim by its number, with the telling lines of the outputs that plainly bear on it.

    2. All 12 tests pass.
       - result 1, pytest, exit 1: 1 failed, 11 passed
    """
    texts: list[str] = []
    for claim in verified.claims:
        texts.append(f"{claim.number}. {claim.text}")
        for number in claim.outputs:  # from 1
            output = verified.digest.shown[number - 1]
            texts.append(f"   - result {output.result}, {output.text}")
    return "\n".join(texts)


def _result_of(result: ToolResult | Mapping[str, Any]) -> ToolResult:
    """Return a tool's result as an object; a Python program may send it as a mapping with the same names."""
    if isinstance(result, ToolResult):
        return result
    return ToolResult(
        content=str(result.get("content") or ""),
        tool=result.get("tool"),
        exit_code=result.get("exit_code"),
    )


def _common_inputs(
    goal: str, steps: Sequence[str], results: Sequence[ToolResult | Mapping[str, Any]]
) -> dict[str, str]:
    """Return the inputs that both prompts take. Of long results the end is kept, where a run says how it ended.

    A result stands as "bash (exit code 1):" with its content below.
    """
    parts: list[str] = []
    for result in map(_result_of, results):
        title = result.tool or "tool"
        if result.exit_code is not None:
            title += f" (exit code {result.exit_code})"
        parts.append(f"{title}:\n{result.content}")
    numbered_steps = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))
    return {
        "goal": goal,
        "steps": numbered_steps[:_PROMPT_CHARS],
        "evidence": "\n\n".join(parts)[-_PROMPT_CHARS:],
    }


def improvement_prompt(
    context: Context,
    goal: str,
    steps: Sequence[str] | str,
    critique: Critique | Sequence[str] | str,
    tool_results: Sequence[ToolResult | Mapping[str, Any]],
) -> Rendered:
    """Build the corrector's prompt for steps with the issues of `critique`; a text is one step, or one issue."""
    if isinstance(steps, str):
        steps = [steps]
    issues = critique.issues if isinstance(critique, Critique) else critique
    if isinstance(issues, str):
        issues = [issues]
    inputs = _common_inputs(goal, steps, tool_results)
    inputs["issues"] = "\n".join(issues)
    return context.runner.render(
        "correct", {name: clean_text(text) for name, text in inputs.items()}
    )
