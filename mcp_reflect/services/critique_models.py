"""The language models of a critique: the critic, who judges the claims of a work, and the corrector of its steps."""

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

_MAX_INPUT_CHARS: Final = (
    16_000  # of the steps in a prompt, and as many of the evidence and the claims
)


@dataclass(slots=True)
class CritiqueModels:
    """Asks the models about one critique, and notes who answered at what cost."""

    context: Context
    client: ClientCapabilities
    state: CritiqueState
    until: float  # the end of the time for their answers, in seconds of `time.monotonic`
    thinker: str = RULES  # who judged the work
    note: str | None = None  # why a model gave no answer
    tokens: dict[str, int] = field(default_factory=lambda: {"input": 0, "output": 0})
    critic_replied: bool = False

    async def criticize(self, verified: Verified) -> Opinion | None:
        """Return the critic's opinion; None if it need not or cannot be asked."""
        if not self._wants_critic(verified):
            return None
        inputs = {
            "step_description": self.state.work.step_description,
            "claims": listed_claims(verified)[:_MAX_INPUT_CHARS],
            "criteria": "\n".join(self.state.work.criteria),
            "lessons": self.state.lessons,
        }
        read_reply = partial(_read_opinion, claims=verified.claims)
        opinion = await self._ask(Role.CRITIC, "critique", verified, inputs, read_reply)
        self.critic_replied = self.critic_replied or opinion is not None
        return opinion

    def _wants_critic(self, verified: Verified) -> bool:
        """Return whether to ask the critic about this version of the work, by the setting `critique`.

        | the setting | the critic is asked                                                                        |
        |-------------|--------------------------------------------------------------------------------------------|
        | `off`       | never                                                                                      |
        | `always`    | always                                                                                     |
        | `auto`      | where rules find no fault: what is certainly wrong is corrected first                      |
        | `auto`      | also where there are criteria, or where it was asked before: are its issues gone?          |
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
        """Return the corrector's steps, all of them; empty where no model answers with as many steps as it was sent.

        They take the place of the whole work. A reply with fewer steps, such as the wrong ones alone, would drop the
        others, so that it is refused like a reply that cannot be read.
        """
        if self.context.settings.critique == "off":
            return ()
        inputs = {"issues": "\n".join(issues)[:_MAX_INPUT_CHARS]}
        read_reply = partial(_read_steps, sent_count=len(verified.steps))
        steps = await self._ask(Role.CORRECTOR, "correct", verified, inputs, read_reply)
        return steps or ()

    async def _ask(
        self,
        role: Role,
        prompt: str,
        verified: Verified,
        inputs: Mapping[str, Any],
        read: Callable[[Any], Any],
    ) -> Any:
        """Return a model's answer to a prompt about this version, as `read` reads it; None if it cannot be asked.

        The model that answered, its tokens and its fault are noted in the fields of this object.
        """
        work = self.state.work
        common_inputs = _common_inputs(work.goal or "", verified.steps, work.tool_results)
        all_inputs = await asyncio.to_thread(clean_inputs, {**common_inputs, **inputs})
        result = await self.context.runner.generate(
            role,
            prompt,
            all_inputs,
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


def _read_steps(value: Any, sent_count: int) -> tuple[str, ...]:
    """Return the steps in a corrector's reply, an object or a numbered list in plain text.

    InputError for fewer steps than the `sent_count` that the model was sent: one that is missing would be lost.

    "1. Build. 2. Test.", each on a line of its own -> ("Build.", "Test.")
    """
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
    if len(steps) < sent_count:
        fault = f"it has {len(steps)} of {sent_count} steps"
        raise InputError(
            "reply.corrected_steps", fault, "Send all of them; repeat the right ones word for word."
        )
    return steps


def listed_claims(verified: Verified) -> str:
    """Return each claim by its number, below it the deciding lines of the outputs that plainly bear on it.

    2. All 12 tests pass.
       - result 1, pytest, exit 1: 1 failed, 11 passed
    """
    texts: list[str] = []
    for claim in verified.claims:
        texts.append(f"{claim.number}. {claim.text}")
        for output_number in claim.outputs:  # from 1
            output = verified.digest.shown[output_number - 1]
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
    result_texts: list[str] = []
    for result in map(_result_of, results):
        title = result.tool or "tool"
        if result.exit_code is not None:
            title += f" (exit code {result.exit_code})"
        result_texts.append(f"{title}:\n{result.content}")
    numbered_steps = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))
    return {
        "goal": goal,
        "steps": numbered_steps[:_MAX_INPUT_CHARS],
        "evidence": "\n\n".join(result_texts)[-_MAX_INPUT_CHARS:],
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
