"""The form in which hosts speak to hooks: the fields that they send at an event and read in the answer.

The events and fields come from the hosts' references: Claude Code (code.claude.com/docs/en/hooks), Codex
(developers.openai.com/codex/hooks), Gemini CLI (geminicli.com/docs/hooks/reference), Cursor (cursor.com/docs/hooks).
A host that cannot show a warning before a call gets it with the call's result.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from mcp_reflect.models.common import json_of
from mcp_reflect.models.warning import HookInput, Moment
from mcp_reflect.moments.payload import (
    KEPT_CHARS,
    child_prompt,
    error_of,
    output_ends,
    refusal,
    result_of,
    session_of,
    unpacked,
    was_only_started,
)
from mcp_reflect.security.clean import Sayable
from mcp_reflect.whole_files import open_regular

_SECRET_CHARS: Final = 4_000
"""Characters beyond a cut that stay until secrets are taken out, so that a secret at the cut is seen as a whole."""

_TRANSCRIPT_END_BYTES: Final = 200_000
"""Bytes at either end of a transcript, in which a host says who runs the session."""

_CODEX_PROGRAMS: Final = ("sdk", "exec", "codex_exec")
"""Begin `originator` or `source` in a transcript of Codex that a program started."""


class HookEvent(NamedTuple):
    """The meaning of a host's event, and the form of the answer to it."""

    moment: Moment  # the point in a session that it marks, by the same name for all hosts
    key: str | None
    """The field of the answer whose text the model gets, None if the host reads none."""
    holds: bool = False  # an answer can refuse the call


_OUR_NAME: Final = "mcp-reflect: "
_NESTED: Final = "hookSpecificOutput"
"""The field of an answer that holds an object with the text; `_FLAT` holds the text itself."""

_FLAT: Final = "additional_context"

# Claude Code, Codex and VS Code share their names; Gemini CLI and Cursor have their own.
EVENTS: Final[Mapping[str, HookEvent]] = {
    "SessionStart": HookEvent(Moment.START, _NESTED),
    "UserPromptSubmit": HookEvent(Moment.PROMPT, _NESTED),
    "PreToolUse": HookEvent(Moment.BEFORE, _NESTED, holds=True),
    "PostToolUse": HookEvent(Moment.AFTER, _NESTED),
    "PostToolUseFailure": HookEvent(Moment.AFTER, _NESTED),
    "Stop": HookEvent(Moment.STOP, "reason"),
    "SubagentStop": HookEvent(Moment.STOP, "reason"),
    "SessionEnd": HookEvent(Moment.END, None),
    "BeforeAgent": HookEvent(Moment.PROMPT, _NESTED),
    "BeforeTool": HookEvent(Moment.BEFORE, None, holds=True),
    "AfterTool": HookEvent(Moment.AFTER, _NESTED),
    "AfterAgent": HookEvent(Moment.STOP, "reason"),
    "sessionStart": HookEvent(Moment.START, _FLAT),
    "beforeSubmitPrompt": HookEvent(Moment.PROMPT, None),
    "preToolUse": HookEvent(Moment.BEFORE, None, holds=True),
    "postToolUse": HookEvent(Moment.AFTER, _FLAT),
    "postToolUseFailure": HookEvent(Moment.AFTER, _FLAT),
    "stop": HookEvent(Moment.STOP, "followup_message"),
    "sessionEnd": HookEvent(Moment.END, None),
}


def read_hook(event_name: str | None, payload: object) -> HookInput | None:
    """Return what a host sent to a hook, None if there is nothing to do for it (`_is_no_moment`) or it has no session.

    `event_name` comes from the command line; without it the payload's `hook_event_name` counts.
    """
    if not isinstance(payload, dict):
        return None
    fields = cast("dict[str, Any]", payload)
    name = event_name or _text(fields, "hook_event_name") or ""
    event, session = EVENTS.get(name), session_of(fields)
    if event is None or session is None or _is_no_moment(name, event, fields):
        return None
    is_of_subagent = name == "SubagentStop"
    transcript = _text(fields, "transcript_path")
    if is_of_subagent:
        transcript = _text(fields, "agent_transcript_path", "transcript_path")
    parent = None
    if _text(fields, "agent_id"):
        parent = _text(fields, "session_id")
    return HookInput(
        event=name,
        moment=event.moment,
        answer_key=event.key,
        holds=event.holds,
        session=session,
        parent=parent,
        child_prompt=child_prompt(name, fields),
        folder=_text(fields, "cwd") or _first_root(fields),
        tool=_text(fields, "tool_name"),
        call_id=_text(fields, "tool_use_id"),
        # Cursor and some tools send text that holds JSON.
        arguments=unpacked(fields.get("tool_input")),
        result=result_of(fields),
        error=error_of(name, fields),
        prompt=_text(fields, "prompt"),
        transcript=transcript,
        anew=fields.get("source") in ("clear", "compact"),
        resumed=fields.get("source") == "resume",
        message=_text(fields, "last_assistant_message", "prompt_response"),
        again=_is_again(fields),
        of_agent=is_of_subagent,
    )


def _is_no_moment(name: str, event: HookEvent, fields: dict[str, Any]) -> bool:
    """Return whether a host's event is to be left alone.

    | the event                                    | why it is left alone                                             |
    |----------------------------------------------|------------------------------------------------------------------|
    | an interruption                              | the person stopped the agent                                     |
    | a turn that did not complete (Cursor)        | only a completed one has a last message                          |
    | after a call that was only started           | it has no result yet                                             |
    | an empty prompt (Qwen Code)                  | it is sent with the results of calls                             |
    | any but a stop, in a turn that goes on again | a hook held the last message: the turn was looked at before      |
    """
    if fields.get("is_interrupt") is True:
        return True
    if fields.get("status", "completed") != "completed":
        return True
    if event.moment is Moment.AFTER and was_only_started(fields):
        return True
    if name == "UserPromptSubmit" and fields.get("prompt") == "":
        return True
    return _is_again(fields) and event.moment is not Moment.STOP


def _is_again(fields: Mapping[str, Any]) -> bool:
    """Return whether this turn goes on only because a hook held the agent's last message.

    Cursor counts how often in `loop_count`, other hosts set `stop_hook_active`.
    """
    if fields.get("stop_hook_active") in (True, "true"):
        return True
    return fields.get("loop_count", 0) not in (0, "0")


def _first_root(fields: Mapping[str, Any]) -> str | None:
    """Return the first folder that is open in an editor (Cursor, VS Code), None without one."""
    roots: Any = fields.get("workspace_roots")
    if not isinstance(roots, list) or not roots:
        return None
    return str(cast("list[Any]", roots)[0])


def kept_call(hook: HookInput, project: str) -> dict[str, Any]:
    """Return a call as a line of the spool has it, the file of calls that wait until the bank can be written.

    A long output is cut in the middle.
    """
    max_chars = KEPT_CHARS + _SECRET_CHARS
    return {
        "tool": hook.tool,
        "arguments": hook.arguments,
        "result": output_ends(hook.result, max_chars),
        "error": output_ends(hook.error, max_chars),
        "session": hook.session,
        "project": project,
    }


def is_watched(env: Mapping[str, str], transcript: str | None) -> bool:
    """Return whether a person reads a session's output: false for `claude -p`, an SDK, `codex exec` and CI.

    Claude Code says so in its environment and on the lines of a transcript, Codex on the first line of one. Only fields
    that the host writes itself count: the arguments of a tool are a model's words.
    """
    if env.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk"):
        return False
    if env.get("CI", "").lower() in ("1", "true"):
        return False
    if not transcript:
        return True
    first_bytes, last_bytes = ends_of(Path(transcript), _TRANSCRIPT_END_BYTES)
    lines = [*first_bytes.splitlines(), *last_bytes.splitlines()]
    return not any(map(_is_by_program, lines))


def _is_by_program(line: bytes) -> bool:
    """Return whether a line of a transcript says that a program runs the session, not a person.

    {"type": "session_meta", "payload": {"originator": "codex_exec"}} of Codex, {"entrypoint": "sdk-py"} of Claude Code
    """
    if b"sdk" not in line and b"exec" not in line:  # most lines, which need not be parsed
        return False
    record = json_of(line)
    if not isinstance(record, dict):
        return False
    if record.get("type") == "session_meta" and isinstance(record.get("payload"), dict):
        codex_session = cast("dict[str, Any]", record["payload"])
        return _begins_with(codex_session, ("originator", "source"), _CODEX_PROGRAMS)
    return _begins_with(record, ("entrypoint", "promptSource"), ("sdk",))


def _begins_with(
    record: Mapping[str, Any], fields: tuple[str, ...], beginnings: tuple[str, ...]
) -> bool:
    """Return whether the text in one of the fields begins with one of the beginnings."""
    values = [record.get(field) for field in fields]
    return any(isinstance(value, str) and value.startswith(beginnings) for value in values)


def ends_of(file: Path, most: int) -> tuple[bytes, bytes]:
    """Return the first and the last `most` bytes of a file; nothing of a missing one.

    The two share no byte: of a file of 5 bytes the first 3 and the last 3 are `abc` and `de`.
    """
    try:
        with open_regular(file) as content:
            size = content.seek(0, os.SEEK_END)
            content.seek(0)
            first_bytes = content.read(most)
            content.seek(max(len(first_bytes), size - most))
            return first_bytes, content.read(most)
    except (OSError, ValueError):
        return b"", b""


def hook_answer(hook: HookInput, text: Sayable, *, hold: bool = False) -> dict[str, Any] | None:
    """Return the text in the form that the host reads, or None if it reads none at this event; the first row decides.

    | the event                        | the answer                                                      |
    |----------------------------------|-----------------------------------------------------------------|
    | a call that is to be refused     | the host's form of a refusal, with the text as its reason       |
    | the host reads no text           | None                                                            |
    | a call that starts a subagent    | the call's arguments with the text in the subagent's prompt     |
    | Claude Code's form               | {"hookSpecificOutput": {"additionalContext": text}}             |
    | a stop, which is held            | {"decision": "block", "reason": text}; Gemini CLI says "deny"   |
    | any other                        | {KEY: text}                                                     |

    `hold`: the call is to be refused.
    """
    if hold and hook.holds:
        return refusal(hook.event, signed(text))
    if hook.answer_key is None:
        return None
    if hook.child_prompt is not None:
        return _child_answer(hook, text)
    if hook.answer_key == _NESTED:
        return {_NESTED: {"hookEventName": hook.event, "additionalContext": text}}
    shown_text = signed(text) if hook.moment is Moment.STOP else text
    if hook.answer_key != "reason":
        return {hook.answer_key: shown_text}
    decision = "deny" if hook.event == "AfterAgent" else "block"
    return {"decision": decision, "reason": shown_text}


def _child_answer(hook: HookInput, text: str) -> dict[str, Any]:
    """Return the answer that adds the text to the prompt of a subagent which the call starts.

    It changes the call's arguments and approves nothing: the host decides about the call as it would.
    """
    arguments = cast("dict[str, Any]", hook.arguments) if isinstance(hook.arguments, dict) else {}
    changed = {**arguments, "prompt": f"{hook.child_prompt}\n\n{text}"}
    return {_NESTED: {"hookEventName": hook.event, "updatedInput": changed}}


def answer_for_host(answer: dict[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """Return an answer in the form of the host that started this process: Copilot CLI, or another one.

    Copilot CLI, known by a variable that it sets, sends events as Claude Code does and reads the same refusals. But it
    reads a text for the model, and changed arguments, at the top of the answer only, and the latter by another name.
    """
    nested = answer.get(_NESTED)
    if not env.get("COPILOT_HOOK_DIR") or not isinstance(nested, dict):
        return answer
    ours = cast("dict[str, Any]", nested)
    for_copilot: dict[str, Any] = {}
    if "additionalContext" in ours:
        for_copilot["additionalContext"] = ours["additionalContext"]
    if "updatedInput" in ours:
        for_copilot["modifiedArgs"] = ours["updatedInput"]
    return {**for_copilot, **answer}


def signed(text: str) -> str:
    """Return the reason for holding a call or a message with our name before it: "mcp-reflect: 1 test failed …".

    A host shows the reason as an error of a hook, and does not say of which.
    """
    if text.startswith(_OUR_NAME):
        return text
    return f"{_OUR_NAME}{text}"


def _text(fields: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of these fields that is a text with more than spaces, None without one."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return None
