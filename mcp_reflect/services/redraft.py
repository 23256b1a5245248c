"""Have a language model write the drafts of findings, which rules wrote first. A person still decides about each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.runner import NO_CLIENT
from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import StoredFinding
from mcp_reflect.runs.text import clip
from mcp_reflect.services.context import Context

_BATCH: Final = 10  # findings in a request
_MOST_LINES: Final = 6  # of the evidence of a finding
_ANSWER_TOKENS: Final = 120  # that a model writes about a finding, more or less
_CHARS: Final = 4  # in a token, more or less


@dataclass(frozen=True, slots=True, kw_only=True)
class Redrafted:
    """The number of drafts that a model wrote, its name, and the tokens that it used; `note` says what failed."""

    written: int
    model: str
    tokens: int
    note: str | None = None


async def waiting(context: Context) -> list[StoredFinding]:
    """Return the findings whose draft no model has written. InputError where no model is configured."""
    if context.runner.llm(Role.REFLECTOR, NO_CLIENT) is None:
        fix = "Name one: --model claude-code (or codex, gemini, anthropic:MODEL, openai:MODEL@URL)."
        raise InputError("--model", "no language model is configured", fix)
    found = await context.bank.findings.waiting(context.scopes.own)
    return [one for one in found if not one.finding.draft.by]


def estimated_tokens(context: Context, found: Sequence[StoredFinding]) -> int:
    """Return the tokens that a model will use for these findings, more or less."""
    rendered = [context.runner.render("learn", _inputs(batch)) for batch in _batches(found)]
    read = sum(len(one.system) + len(one.user) for one in rendered) // _CHARS
    return read + _ANSWER_TOKENS * len(found)


async def redraft(context: Context, found: Sequence[StoredFinding]) -> Redrafted:
    """Ask the model, ten findings at once, and keep the drafts that it wrote. It ends with the first failure."""
    written = tokens = 0
    model, note = "", None
    for batch in _batches(found):
        reply = await context.runner.generate(Role.REFLECTOR, "learn", _inputs(batch), host=NO_CLIENT, read=_lessons)
        tokens += reply.input_tokens + reply.output_tokens
        if reply.value is None:
            note = reply.note
            break
        model = reply.thinker or model
        known = {one.id: one for one in batch}
        for lesson in reply.value:
            if (one := known.pop(str(lesson.get("id")), None)) and lesson.get("correction"):
                texts = {name: clip(str(lesson.get(name) or ""), 600) for name in ("mistake", "correction")}
                wrong, right = lesson.get("wrong_call"), lesson.get("right_call")
                calls = {"wrong_call": wrong, "right_call": right, "guards": True} if wrong and right else {}
                draft = replace(one.finding.draft, **texts, **calls, by=model)
                await context.bank.findings.redraft(context.scopes.own, one.id, replace(one.finding, draft=draft))
                written += 1
    return Redrafted(written=written, model=model, tokens=tokens, note=note)


def _batches(found: Sequence[StoredFinding]) -> list[Sequence[StoredFinding]]:
    return [found[start : start + _BATCH] for start in range(0, len(found), _BATCH)]


def _inputs(batch: Sequence[StoredFinding]) -> dict[str, str]:
    """Return the findings as text, each line of a session behind its finding, so that none passes for another."""
    texts: list[str] = []
    for one in batch:
        draft = one.finding.draft
        lines = [line for seen in one.seen[-2:] for line in seen.lines][:_MOST_LINES]
        texts += [f"- {one.id} ({one.finding.kind}): {clip(draft.mistake, 300)} | {clip(draft.correction, 300)}"]
        texts += [f"    line {clip(line, 300)}" for line in lines]
    return {"findings": "\n".join(texts)}


def _lessons(answer: Json) -> list[Mapping[str, Any]]:
    lessons: Any = answer.get("lessons") if isinstance(answer, dict) else None
    if not isinstance(lessons, list):
        raise InputError("lessons", "it is not a list", "Send a list of objects.")
    return [cast("Mapping[str, Any]", one) for one in cast("list[Any]", lessons) if isinstance(one, dict)]
