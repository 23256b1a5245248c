"""The prompts of reflection and improvement, for callers with a language model of their own."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_reflect.analysis.decisions import validate
from mcp_reflect.analysis.diagnose import diagnose
from mcp_reflect.errors import InputError
from mcp_reflect.llm.prompts import Rendered
from mcp_reflect.models.critique import Critique
from mcp_reflect.models.decision import ACTIONS
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.run import ReflectShape, plain_run, trace_from
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.services.critique import numbered, shown
from mcp_reflect.services.evaluation import PROMPTS, inputs, written


def reflection_prompt(context: Context, arguments: Mapping[str, Any]) -> Rendered:
    """The prompt of a run's outcome, redacted as it would be sent. A decision's metrics are told without the bank."""
    sent = read(ReflectShape, arguments, context.settings)
    if sent.reflection_id is not None:
        raise InputError("reflection_id", "a prompt is built without the bank", "Send the run itself.")
    settings = context.settings
    run: dict[str, Any] = clean(plain_run(sent, settings, clean_text))
    if sent.decision is not None or sent.execution is not None:
        checked = validate(run.get("decision"), run.get("execution"), sent.allowed_actions or ACTIONS)
        if not checked.valid:
            raise InputError("decision", checked.checks[-1].detail or "", "Mend it, or leave it out.")
    trace = trace_from(run)
    seen = diagnose(trace)
    filled = inputs(trace, seen, written(settings, run, seen, earlier={}))
    return context.thinking.render(PROMPTS[trace.outcome], filled)


def improvement_prompt(
    context: Context,
    goal: str,
    steps: Sequence[str] | str,
    found: Critique | Sequence[str],
    tool_results: Sequence[Mapping[str, Any]],
) -> Rendered:
    """The prompt that asks for the steps with what was found put right."""
    issues = found.issues if isinstance(found, Critique) else tuple(found)
    filled = {
        "goal": clean_text(goal),
        "steps": numbered([clean_text(step) for step in ([steps] if isinstance(steps, str) else steps)]),
        "issues": clean_text("\n".join(issues)),
        "evidence": clean_text(shown(tool_results)),
    }
    return context.thinking.render("correct", filled)
