"""Findings in the words of a language model, which writes the lesson of each for `mcp-reflect learn --model`.

A person still decides about every lesson, and knows the tokens that it takes before the model is asked.
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

_MAX_FIELD_CHARS: Final = 600  # of a mistake or a correction
_FINDINGS_A_REQUEST: Final = 10
_MOST_LINES: Final = 6  # of the evidence of a finding
_TOKENS_OF_ANSWER: Final = 120  # that a model writes about a finding, more or less
_CHARS_OF_TOKEN: Final = 4  # more or less
_LATEST_SESSIONS: Final = 2  # whose lines are shown as evidence
_MAX_LINE_CHARS: Final = 300  # of such a line


async def unworded(context: Context) -> list[StoredFinding]:
    """Return the findings that no model has worded. InputError if no model is configured."""
    if context.runner.llm(Role.REFLECTOR, NO_CLIENT) is None:
        fix = "Name one: --model claude-code (or codex, gemini, anthropic:MODEL, openai:MODEL@URL)."
        raise InputError("--model", "no language model is configured", fix)
    waiting = await context.bank.findings.waiting(context.scopes.own)
    return [stored for stored in waiting if stored.finding.wording is None]


def estimated_tokens(context: Context, findings: Sequence[StoredFinding]) -> int:
    """Return the tokens that a model will use for these findings, more or less, which a person is told first."""
    prompt_chars = 0
    for batch in _batches(findings):
        prompt = context.runner.render("learn", clean_inputs(_inputs(batch)))
        prompt_chars += len(prompt.system) + len(prompt.user)
    return prompt_chars // _CHARS_OF_TOKEN + _TOKENS_OF_ANSWER * len(findings)


class WordedFindings(NamedTuple):
    """How far a model came with the wording of findings."""

    worded: int  # how many findings
    tokens: int
    fault: str | None  # what failed, None for nothing


async def word_findings(context: Context, findings: Sequence[StoredFinding]) -> WordedFindings:
    """Ask the model for the lessons of some findings at a time, and store its words.

    It ends with the first request that fails, so that no tokens are spent on more of them.
    """
    worded_count = 0
    tokens = 0
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
            wording = _wording_of(lesson, model=reply.thinker or "")
            worded_finding = replace(stored.finding, wording=wording)
            await context.bank.findings.reword(context.scopes.own, stored.id, worded_finding)
            worded_count += 1
    return WordedFindings(worded_count, tokens, None)


def _wording_of(lesson: Mapping[str, Any], *, model: str) -> Wording:
    """Return a lesson that a model wrote as the words for a finding."""
    return Wording(
        mistake=clip(str(lesson.get("mistake") or ""), _MAX_FIELD_CHARS),
        correction=clip(str(lesson["correction"]), _MAX_FIELD_CHARS),
        wrong_call=lesson.get("wrong_call"),
        right_call=lesson.get("right_call"),
        by=model,
    )


def _batches(findings: Sequence[StoredFinding]) -> list[Sequence[StoredFinding]]:
    """Return the findings of each request."""
    starts = range(0, len(findings), _FINDINGS_A_REQUEST)
    return [findings[start : start + _FINDINGS_A_REQUEST] for start in starts]


def _inputs(batch: Sequence[StoredFinding]) -> dict[str, str]:
    """Return the findings as text, each followed by its own evidence, which are lines of the latest sessions."""
    texts: list[str] = []
    for stored in batch:
        texts.append(f"- {stored.id} ({stored.finding.kind}): {facts_of(stored.finding)}")
        evidence_lines: list[str] = []
        for evidence in stored.seen[-_LATEST_SESSIONS:]:
            evidence_lines += evidence.lines
        texts += [
            f"    line {clip(line, _MAX_LINE_CHARS)}" for line in evidence_lines[:_MOST_LINES]
        ]
    return {"findings": "\n".join(texts)}


def _lessons_in(answer: Json) -> list[Mapping[str, Any]]:
    """Return the lessons in a model's answer, those that are objects; InputError for an answer without a list."""
    lessons: Any = answer.get("lessons") if isinstance(answer, dict) else None
    if not isinstance(lessons, list):
        raise InputError("lessons", "it is not a list", "Send a list of objects.")
    values = cast("list[Any]", lessons)
    return [cast("Mapping[str, Any]", value) for value in values if isinstance(value, dict)]
