"""Functions of older reflection engines: prompts for a language model of your own, and the reader of its reply.

They ask no model and open no bank.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mcp_reflect.checkers.opinions import read_opinion
from mcp_reflect.errors import InputError
from mcp_reflect.models.critique import Critique, Opinion
from mcp_reflect.services.critique import improvement_prompt, review_prompt
from mcp_reflect.services.engine import Engine

_BAD: Final = re.compile(
    r"(?i)\b(?:wrong|incorrect|errors?|mistakes?|missing|fail\w*|contradict\w*|unsupported|poor)\b"
)
_GOOD: Final = re.compile(r"(?i)\b(?:correct|right|good|fine|sound|accurate|complete|well|excellent)\b")


def build_reflection_prompt(
    goal: str,
    steps: Sequence[str] | str,
    step_description: str | None = None,
    tool_results: Sequence[Mapping[str, Any]] = (),
    criteria: Sequence[str] = (),
) -> str:
    """Return the prompt that asks for a critique of `steps`; `parse_reflection` reads the reply."""
    context = Engine().context
    prompt = review_prompt(context, goal, steps, tool_results, step_description=step_description, criteria=criteria)
    return f"{prompt.system}\n\n{prompt.user}"


def parse_reflection(text: Any) -> Opinion:
    """Read a critique: JSON, headings or prose. Where it names no score, its words give one: 0.3, 0.5 or 0.8."""
    try:
        opinion = read_opinion(text, "text")
    except InputError:
        opinion = Opinion()
    if opinion.quality_score is not None:
        return opinion
    words = text if isinstance(text, str) else ""
    bad = bool(opinion.issues or _BAD.search(re.sub(r"(?i)\bno (?:\w+ )?(?:errors?|mistakes?)", "", words)))
    return replace(opinion, quality_score=0.3 if bad else 0.8 if _GOOD.search(words) else 0.5)


def build_improvement_prompt(
    goal: str,
    steps: Sequence[str] | str,
    issues: Critique | Opinion | Sequence[str] | str,
    suggested_fix: str | None = None,
    tool_results: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return the prompt that asks for `steps` without the issues: a list, one text, or a critique."""
    listed = (
        issues.issues if isinstance(issues, Critique | Opinion) else (issues,) if isinstance(issues, str) else issues
    )
    fix = suggested_fix or (issues.suggested_fix if isinstance(issues, Critique | Opinion) else None)
    every = (*listed, *([f"suggested fix: {fix}"] if fix else []))
    prompt = improvement_prompt(Engine().context, goal, steps, every, tool_results)
    return f"{prompt.system}\n\n{prompt.user}"
