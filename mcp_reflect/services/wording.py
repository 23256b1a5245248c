"""Have a language model word findings: write the lesson of each. A person still decides about it.

`mcp-reflect learn --model` asks here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, cast

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
_TOKEN_CHARS: Final = 4  # in a token, more or less
_LATEST_SESSIONS: Final = 2  # whose lines are shown as evidence
_LINE_CHARS: Final = 300  # of such a line


async def unworded(context: Context) -> list[StoredFinding]:
    """Return the findings that no model has worded. InputError if no model is configured."""
    if context.runner.llm(Role.REFLECTOR, NO_CLIENT) is None:
        fix = "Name one: --model claude-code (or codex, gemini, anthropic:MODEL, openai:MODEL@URL)."
        raise InputError("--model", "no language model is configured", fix)
    waiting = await context.bank.findings.waiting(context.scopes.own)
    return [stored for stored in waiting if stored.finding.wording is None]


def estimated_tokens(context: Context, findings: Sequence[StoredFinding]) -> int:
    """Return the tokens that a model will use for these findings, more or less."""
    chars = 0
    for batch in _batches(findings):
        prompt = context.runner.render("learn", clean_inputs(_inputs(batch)))
        chars += len(prompt.system) + len(prompt.user)
    return chars // _TOKEN_CHARS + _ANSWER_TOKENS * len(findings)


class WordedFindings(NamedTuple):
    """What a model worded, and what that took."""

    worded: int  # how many findings
    tokens: int
    fault: str | None  # what failed, None for nothing


async def word_findings(context: Context, findings: Sequence[StoredFinding]) -> WordedFindings:
    """Ask the model, ten findings at once, and store its words. It ends with the first failure."""
    worded_count = tokens = 0
    for batch in _batches(findings):
        reply = await context.runner.generate(
            Role.REFLECTOR, "learn", clean_inputs(_inputs(batch)), host=NO_CLIENT, read=_lessons_in
        )
        tokens += reply.input_tokens + reply.output_tokens
        if reply.value is None:
            return WordedFindings(worded_count, tokens, reply.note)
        unworded_by_id = {stored.id: stored for stored in batch}
        for lesson in reply.value:
            stored = unworded_by_id.pop(str(lesson.get("id")), None)
            if stored is None or not lesson.get("correction"):
                continue
            worded = replace(stored.finding, wording=_wording_of(lesson, reply.thinker or ""))
            await context.bank.findings.reword(context.scopes.own, stored.id, worded)
            worded_count += 1
    return WordedFindings(worded_count, tokens, None)


def _wording_of(lesson: Mapping[str, Any], by: str) -> Wording:
    """Return a lesson of the model `by` as the words for a finding."""
    return Wording(
        mistake=clip(str(lesson.get("mistake") or ""), _MOST_WORDS),
        correction=clip(str(lesson["correction"]), _MOST_WORDS),
        wrong_call=lesson.get("wrong_call"),
        right_call=lesson.get("right_call"),
        by=by,
    )


def _batches(findings: Sequence[StoredFinding]) -> list[Sequence[StoredFinding]]:
    """Return the findings of each request."""
    return [findings[start : start + _BATCH] for start in range(0, len(findings), _BATCH)]


def _inputs(batch: Sequence[StoredFinding]) -> dict[str, str]:
    """Return the findings as text, each followed by its lines, so that none is taken for another's."""
    texts: list[str] = []
    for stored in batch:
        texts.append(f"- {stored.id} ({stored.finding.kind}): {facts_of(stored.finding)}")
        lines: list[str] = []
        for evidence in stored.seen[-_LATEST_SESSIONS:]:
            lines += evidence.lines
        texts += [f"    line {clip(line, _LINE_CHARS)}" for line in lines[:_MOST_LINES]]
    return {"findings": "\n".join(texts)}


def _lessons_in(answer: Json) -> list[Mapping[str, Any]]:
    """Return the lessons in a model's answer, those that are objects; InputError for an answer without a list."""
    lessons: Any = answer.get("lessons") if isinstance(answer, dict) else None
    if not isinstance(lessons, list):
        raise InputError("lessons", "it is not a list", "Send a list of objects.")
    values = cast("list[Any]", lessons)
    return [cast("Mapping[str, Any]", value) for value in values if isinstance(value, dict)]
