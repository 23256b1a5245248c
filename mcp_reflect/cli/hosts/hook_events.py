"""Read the input that hosts give to a hook, and format the answer that they read.

The events and fields come from the hosts' references: Claude Code (code.claude.com/docs/en/hooks), Codex
(developers.openai.com/codex/hooks), Gemini CLI (geminicli.com/docs/hooks/reference), Cursor (cursor.com/docs/hooks).
A host that cannot show a warning before a call gets it with the call's result.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from mcp_reflect.models.common import Json, unpacked
from mcp_reflect.models.hook import HookInput, Moment

_MAX_SESSION_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Event:
    """A host's event: its moment, and the key of the answer's text; None if the host reads no text then."""

    moment: Moment
    key: str | None


_NESTED: Final = "hookSpecificOutput"
_FLAT: Final = "additional_context"

# Claude Code, Codex and VS Code share their names; Gemini CLI and Cursor have their own.
EVENTS: Final[Mapping[str, Event]] = {
    "SessionStart": Event(Moment.START, _NESTED),
    "UserPromptSubmit": Event(Moment.PROMPT, _NESTED),
    "PreToolUse": Event(Moment.BEFORE, _NESTED),
    "PostToolUse": Event(Moment.AFTER, _NESTED),
    "PostToolUseFailure": Event(Moment.AFTER, _NESTED),
    "Stop": Event(Moment.STOP, "reason"),
    "SessionEnd": Event(Moment.END, None),
    "BeforeAgent": Event(Moment.PROMPT, _NESTED),
    "BeforeTool": Event(Moment.BEFORE, None),
    "AfterTool": Event(Moment.AFTER, _NESTED),
    "sessionStart": Event(Moment.START, _FLAT),
    "beforeSubmitPrompt": Event(Moment.PROMPT, None),
    "preToolUse": Event(Moment.BEFORE, None),
    "postToolUse": Event(Moment.AFTER, _FLAT),
    "postToolUseFailure": Event(Moment.AFTER, _FLAT),
    "sessionEnd": Event(Moment.END, None),
}


def read_hook(event_name: str | None, payload: object) -> HookInput | None:
    """Return a host's input, or None if the event is unknown, was interrupted or names no session.

    `event_name` comes from the command line; without it the payload's `hook_event_name` counts.
    """
    if not isinstance(payload, dict):
        return None
    fields = cast("dict[str, Any]", payload)
    name = event_name or _text(fields, "hook_event_name") or ""
    event = EVENTS.get(name)
    session = _text(fields, "session_id", "conversation_id", "sessionId")
    stopped = fields.get("is_interrupt") is True or fields.get("stop_hook_active") is True
    if event is None or session is None or stopped:
        return None
    roots: Any = fields.get("workspace_roots")
    return HookInput(
        event=name,
        moment=event.moment,
        answer_key=event.key,
        session=session[:_MAX_SESSION_CHARS],
        folder=_text(fields, "cwd")
        or (str(cast("list[Any]", roots)[0]) if isinstance(roots, list) and roots else None),
        tool=_text(fields, "tool_name"),
        call_id=_text(fields, "tool_use_id"),
        arguments=unpacked(fields.get("tool_input")),  # Cursor and some tools send text that holds JSON
        result=_result(fields.get("tool_response", fields.get("tool_output"))),
        error=_error(name, fields),
        prompt=_text(fields, "prompt"),
        transcript=_text(fields, "transcript_path"),
        anew=fields.get("source") in ("clear", "compact"),
    )


def hook_answer(hook: HookInput, text: str, *, hold: bool = False) -> dict[str, Any] | None:
    """Return the text in the form that the host reads, or None if it reads none at this event.

    With `hold` it is the reason for which the host refuses the call.
    """
    if hook.answer_key is None:
        return None
    if hold:
        reason = f"{text}\nThe call is refused this once. If it is right all the same, make it again."
        decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
        return {_NESTED: {"hookEventName": hook.event, **decision}}
    if hook.answer_key == _NESTED:
        return {_NESTED: {"hookEventName": hook.event, "additionalContext": text}}
    if hook.moment is Moment.STOP:
        return {"decision": "block", hook.answer_key: text}
    return {hook.answer_key: text}


def _text(fields: Mapping[str, Any], *names: str) -> str | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return None


def _error(event: str, fields: Mapping[str, Any]) -> str | None:
    """Return the message of a call that failed, None for one that worked."""
    response = fields.get("tool_response")
    error: Any = cast("dict[str, Any]", response).get("error") if isinstance(response, dict) else None
    if event in ("PostToolUseFailure", "postToolUseFailure"):
        error = error or fields.get("error", fields.get("error_message")) or "the call failed"
    if isinstance(error, dict):
        error = cast("dict[str, Any]", error).get("message") or json.dumps(error)
    return (str(error).strip() or "the call failed") if error else None


def _result(sent: object) -> Json:
    """Return a tool's result: its text if it is wrapped in a known way, else unchanged."""
    value: Json = unpacked(sent)
    if isinstance(value, dict):
        if "stdout" in value or "stderr" in value:
            return "\n".join(str(value[key]) for key in ("stdout", "stderr") if value.get(key))
        for key in ("llmContent", "content", "output"):
            inner = value.get(key)
            if isinstance(inner, str | list) and not value.get("error"):
                return _result(inner)
    if isinstance(value, list) and value and all(isinstance(part, dict) and "text" in part for part in value):
        return "\n".join(str(part["text"]) for part in cast("Sequence[Mapping[str, object]]", value))
    return value
