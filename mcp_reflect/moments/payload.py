"""How hosts report a call to a hook: its error or its result, without what each host wraps around it.

The hook command reads this module first, so it imports nothing that takes time.
"""

import json
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from mcp_reflect.models.common import Json

KEPT_CHARS: Final = 20_000
"""The characters of a text that are looked at, at either end."""

# The frame of Gemini CLI around what a tool printed.
_FRAME_START: Final = "<untrusted_context>\n"
_FRAME_END: Final = "\n</untrusted_context>"
# How hosts say that a command goes on in the background.
_STARTED: Final = (
    "Command running in background",
    "Command is running in background",
    "Command moved to background",
    "Command was manually backgrounded",
)
_MOST_OPENING: Final = 300  # characters of an answer in which it says that something was started
_FAILURE_EVENTS: Final = ("PostToolUseFailure", "postToolUseFailure")
_NO_MESSAGE: Final = "the call failed"  # where a host says that it did, and nothing more
_CHILD_TOOLS: Final = frozenset({"Task", "Agent", "task", "agent", "runSubagent"})
"""The tools by which hosts start another agent, with its prompt."""

_MOST_ID: Final = 200  # characters of the id of a session
_DIGITS_OF_ID: Final = 16  # of the hash in a shortened id
# How the shell of Copilot CLI says at the end of its output that the command ended.
_SHELL_ENDED: Final = "<shellId: "
_SHELL_CODE: Final = " completed with exit code "
_MOST_SHELL_LINE: Final = 400  # characters of that line


def refusal(event: str, text: str) -> "dict[str, Any]":
    """Return the answer with which a host refuses a call, in the form that it reads at this event.

    Hosts name the event before a call in their own ways, so that its name tells the host.
    """
    match event:
        case "BeforeTool":  # Gemini CLI
            return {"decision": "deny", "reason": text}
        case "preToolUse":  # Cursor
            return {"permission": "deny", "user_message": text, "agent_message": text}
        case _:
            decision = {"permissionDecision": "deny", "permissionDecisionReason": text}
            return {"hookSpecificOutput": {"hookEventName": event, **decision}}


def session_of(sent: "dict[str, Any]") -> str | None:
    """Return the id of the session that a hook's input belongs to, None where there is none.

    The calls of a subagent are a session of their own: `{"session_id": "s1", "agent_id": "a7"}` gives "s1/a7". Each of
    the two ids has half of the room, and one that is longer ends with a hash, so that no two sessions share an id.
    """
    session = _first_text(sent, ("session_id", "conversation_id", "sessionId")).strip()
    agent = sent.get("agent_id")
    if not session:
        return None
    if not isinstance(agent, str) or not agent.strip():
        return _shortened_id(session, _MOST_ID)
    most = (_MOST_ID - len("/")) // 2
    return f"{_shortened_id(session, most)}/{_shortened_id(agent.strip(), most)}"


def _shortened_id(name: str, most: int) -> str:
    """Return an id in at most `most` characters; a longer one as its beginning and a hash of all of it."""
    if len(name) <= most:
        return name
    from hashlib import sha256  # noqa: PLC0415 - hosts have short ids, and hooks no time

    digest = sha256(name.encode("utf-8", "replace")).hexdigest()[:_DIGITS_OF_ID]
    return f"{name[: most - _DIGITS_OF_ID - 1]}~{digest}"


def child_prompt(event: object, sent: "dict[str, Any]") -> str | None:
    """Return the prompt of the agent that a call is about to start, where its host lets a hook add to it; else None.

    Only Claude Code does, at the event PreToolUse.
    """
    if event != "PreToolUse" or sent.get("tool_name") not in _CHILD_TOOLS:
        return None
    tool_input: Any = unpacked(sent.get("tool_input"))
    if not isinstance(tool_input, dict):
        return None
    fields = cast("dict[str, Any]", tool_input)
    prompt = _first_text(fields, ("prompt",))
    return prompt if prompt.strip() else None


def _first_text(sent: "dict[str, Any]", names: "tuple[str, ...]") -> str:
    """Return the text of the first of these fields whose value is a text; empty where none is."""
    for name in names:
        value = sent.get(name)
        if isinstance(value, str):
            return value
    return ""


def unpacked(value: Any) -> Any:
    """Return the object or list that a text holds as JSON; anything else as it is.

    '{"a": 1}' gives {"a": 1}, while "17" and "{not JSON" stay texts.
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def error_of(event: str, sent: "dict[str, Json]") -> str | None:
    """Return the message of a call that failed, None for one that worked.

    A failure without any message still has a text, so that it is not taken for a call that worked.
    """
    error = _sent_error(event, sent)
    if isinstance(error, dict):
        error = error.get("message") or json.dumps(error)
    error = error or _error_of_shell(sent.get("tool_result"))
    if not error:
        return None
    return str(error).strip() or _NO_MESSAGE


def _sent_error(event: str, sent: "dict[str, Json]") -> "Json":
    """Return the error as the host sends it, None where it sends none.

    It stands within the answer, or beside the answer where the event is named for a failure.
    """
    response = sent.get("tool_response")
    error: Json = None
    if isinstance(response, dict):
        error = response.get("error")
    if event not in _FAILURE_EVENTS:
        return error
    return error or sent.get("error", sent.get("error_message")) or _NO_MESSAGE


def _error_of_shell(sent: "Json") -> str | None:
    """Return what a failed command of Copilot CLI printed, with its exit code first; None for any other call.

    The line "<shellId: 3 completed with exit code 2>" at the end gives "Exit code 2" as the first line.
    """
    if not isinstance(sent, dict):
        return None
    printed = sent.get("text_result_for_llm")
    if not isinstance(printed, str):
        return None
    start = printed.rfind(_SHELL_ENDED, max(0, len(printed) - _MOST_SHELL_LINE))
    if start < 0:
        return None
    code = printed[start:].partition(_SHELL_CODE)[2].partition(">")[0]
    if not code.lstrip("-").isdigit() or int(code) == 0:
        return None
    return f"Exit code {int(code)}\n{printed[:start]}"


def was_only_started(sent: "dict[str, Json]") -> bool:
    """Return whether a call began something in the background, which neither worked nor failed yet.

    Hosts say so in a field (`{"backgroundTaskId": "b1"}`) or in words ("Command running in background with ID: b1").
    """
    response: Json = unpacked(sent.get("tool_response", sent.get("tool_output")))
    if isinstance(response, dict):
        if response.get("backgroundTaskId") or response.get("backgroundTaskID"):
            return True
        response = _result(response)
    if not isinstance(response, str):
        return False
    opening = response.removeprefix(_FRAME_START)[:_MOST_OPENING].lstrip()
    return opening.startswith(_STARTED) or "Process running with session ID" in opening


def result_of(sent: "dict[str, Json]") -> "Json":
    """Return the result of a call, from the field in which its host sends it: as `_result` reads it."""
    sent_result = sent.get("tool_response", sent.get("tool_output"))
    if sent_result is None:
        sent_result = sent.get("tool_result")
    return _result(sent_result)


def _result(sent: "Json") -> "Json":
    """Return a result without what a host wraps it in.

    '{"output": "done"}', [{"type": "text", "text": "done"}] and "done" all give "done".
    """
    value: Json = unpacked(sent)
    if isinstance(value, str):
        return value.removeprefix(_FRAME_START).removesuffix(_FRAME_END)
    if isinstance(value, dict):
        return _result_of_object(value)
    if isinstance(value, list):
        return _joined_parts(value)
    return value


def _result_of_object(value: "dict[str, Json]") -> "Json":
    """Return the text in an object that a tool answered with.

    | the object has                    | its text is                                         |
    |-----------------------------------|-----------------------------------------------------|
    | `stdout` or `stderr`              | what the command printed to both                    |
    | an `error`                        | none: the object stays, for `error_of` to read      |
    | one of the known fields of a text | that field, without what the host wraps it in again |
    | anything else                     | none: the object stays                              |
    """
    if "stdout" in value or "stderr" in value:
        return "\n".join(str(value[key]) for key in ("stdout", "stderr") if value.get(key))
    if value.get("error"):
        return value
    for key in ("llmContent", "text_result_for_llm", "content", "output"):
        inner = value.get(key)
        if isinstance(inner, str | list):
            return _result(inner)
    return value


def _joined_parts(parts: "list[Json]") -> "Json":
    """Return the text of an answer in parts, such as [{"type": "text", "text": "done"}].

    An empty list, or one with a part that has no text, stays as it is.
    """
    texts = [str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part]
    if not parts or len(texts) < len(parts):
        return parts
    return "\n".join(texts)


def text_of(value: "Json") -> str:
    """Return an output as text: None as an empty one, objects and lists as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False)


def output_ends(value: "Json", most: int = KEPT_CHARS) -> "Json":
    """Return a tool's output as far as it is looked at: a long one as text, with `most` characters of either end."""
    if not isinstance(value, str | dict | list):
        return value
    text = text_of(value)
    if len(text) <= 2 * most:
        return value
    return f"{text[:most]}\n...\n{text[-most:]}"
