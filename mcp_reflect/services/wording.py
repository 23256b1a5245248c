"""Have a language model word findings. A person still decides about each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.llm.runner import NO_CLIENT, Role
from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import StoredFinding, Wording
from mcp_reflect.security.gate import clean_inputs
from mcp_reflect.services.context import Context
from mcp_reflect.sessions.found import facts_of
from mcp_reflect.sessions.text import clip

_MOST_WORDS: Final = 600  # characters of a mistake or a correction
_BATCH: Final = 10  # findings in a request
_MOST_LINES: Final = 6  # of the evidence of a finding
_ANSWER_TOKENS: Final = 120  # that a model writes about a finding, more or less
_CHARS: Final = 4  # in a token, more or less


async def unworded(context: Context) -> list[StoredFinding]:
    """Return the findings that no model has worded. InputError if no model is configured."""
    if context.runner.llm(Role.REFLECTOR, NO_CLIENT) is None:
        fix = "Name one: --model claude-code (or codex, gemini, anthropic:MODEL, openai:MODEL@URL)."
        raise InputError("--model", "no language model is configured", fix)
    found = await context.bank.findings.waiting(context.scopes.own)
    return [one for one in found if one.finding.wording is None]


def estimated_tokens(context: Context, found: Sequence[StoredFinding]) -> int:
    """Return the tokens that a model will use for these findings, more or less."""
    rendered = [
        context.runner.render("learn", clean_inputs(_inputs(batch))) for batch in _batches(found)
    ]
    read = sum(len(one.system) + len(one.user) for one in rendered) // _CHARS
    return read + _ANSWER_TOKENS * len(found)


async def word(context: Context, found: Sequence[StoredFinding]) -> tuple[int, int, str | None]:
    """Ask the model, ten findings at once, and keep its words. It ends with the first failure.

    Returns the number of findings that it worded, the tokens that it used, and what failed.
    """
    written = tokens = 0
    for batch in _batches(found):
        reply = await context.runner.generate(
            Role.REFLECTOR, "learn", clean_inputs(_inputs(batch)), host=NO_CLIENT, read=_lessons_in
        )
        tokens += reply.input_tokens + reply.output_tokens
        if reply.value is None:
            return written, tokens, reply.note
        unworded_yet = {one.id: one for one in batch}
        for lesson in reply.value:
            one = unworded_yet.pop(str(lesson.get("id")), None)
            if one is None or not lesson.get("correction"):
                continue
            worded = replace(one.finding, wording=_wording_of(lesson, reply.thinker or ""))
            await context.bank.findings.reword(context.scopes.own, one.id, worded)
            written += 1
    return written, tokens, None


def _wording_of(lesson: Mapping[str, Any], by: str) -> Wording:
    return Wording(
        mistake=clip(str(lesson.get("mistake") or ""), _MOST_WORDS),
        correction=clip(str(lesson["correction"]), _MOST_WORDS),
        wrong_call=lesson.get("wrong_call"),
        right_call=lesson.get("right_call"),
        by=by,
    )


def _batches(found: Sequence[StoredFinding]) -> list[Sequence[StoredFinding]]:
    return [found[start : start + _BATCH] for start in range(0, len(found), _BATCH)]


def _inputs(batch: Sequence[StoredFinding]) -> dict[str, str]:
    """Return the findings as text, each followed by its lines, so that none is taken for another's."""
    texts: list[str] = []
    for one in batch:
        lines = [line for seen in one.seen[-2:] for line in seen.lines][:_MOST_LINES]
        texts.append(f"- {one.id} ({one.finding.kind}): {facts_of(one.finding)}")
        texts += [f"    line {clip(line, 300)}" for line in lines]
    return {"findings": "\n".join(texts)}


def _lessons_in(answer: Json) -> list[Mapping[str, Any]]:
    lessons: Any = answer.get("lessons") if isinstance(answer, dict) else None
    if not isinstance(lessons, list):
        raise InputError("lessons", "it is not a list", "Send a list of objects.")
    return [
        cast("Mapping[str, Any]", one)
        for one in cast("list[Any]", lessons)
        if isinstance(one, dict)
    ]
