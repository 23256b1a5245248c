"""What the scripts of Codex's code mode showed: the output of a script, and in it that of each of its calls."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from mcp_reflect.models.common import unpacked
from mcp_reflect.sessions.records import as_list, as_record, text_of

_RESULT_FIELDS: Final = frozenset({"exit_code", "session_id", "wall_time_seconds"})
"""Fields beside the output in the whole result of a command, by which one is known."""

_ENVELOPE: Final = re.compile(
    r"(?P<ending>Script (?:completed|failed|running[^\n]{0,80}|terminated[^\n]{0,80}))\n"
    r"(?:Wall time[^\n]{0,40}\n)?(?:Output:\n?)?"
)
_NEVER_RAN: Final = re.compile(r"\s*(?:aborted by user|aborted|Script failed\b.{0,200}SyntaxError)")


def never_ran(output: str) -> bool:
    """Return whether the output of a call or a script says that it was not begun: "aborted by user", a SyntaxError."""
    return _NEVER_RAN.match(output) is not None


class ScriptOutput(NamedTuple):
    """How a script ended ("Script completed", empty where nobody tells it), and the outputs that it showed, in order."""

    ending: str
    outputs: list[str]


def output_of_script(output: object) -> ScriptOutput:
    """Return the output of a script without the lines that the host writes before it."""
    outputs = [text_of(part) for part in as_list(output)] or [text_of(output)]
    envelope = _ENVELOPE.match(outputs[0])
    if envelope is None:
        return ScriptOutput("", outputs)
    rest_of_first = outputs[0][envelope.end() :]
    if rest_of_first.strip():
        return ScriptOutput(envelope["ending"], [rest_of_first, *outputs[1:]])
    return ScriptOutput(envelope["ending"], outputs[1:])


def output_of_call(outputs: Sequence[str], number: int | None, *, is_only: bool) -> str | None:
    """The output of a call among those of its script, None where it is not known which.

    All of them are that of the only call of a script, else the one with the call's `number`.
    """
    if is_only:
        return "\n".join(outputs)
    if number is None or number >= len(outputs):
        return None
    return outputs[number]


class CommandResult(NamedTuple):
    """What a command printed, and its exit code as it was told; None where nobody tells it."""

    printed: str
    exit_code: object


def command_result(text: str) -> CommandResult:
    """What a command printed, and its exit code (None for none), of the whole result that a script shows as JSON.

    '{"output": "1 failed", "exit_code": 1}' gives ("1 failed", 1). Any other text is what the command printed. A command
    that still runs has a session in place of a code.
    """
    result = as_record(unpacked(text.strip()))
    is_result = "output" in result and not _RESULT_FIELDS.isdisjoint(result)
    if not is_result:
        return CommandResult(text, None)
    session = result.get("session_id")
    if "exit_code" not in result and session is not None:
        running = f"Process running with session ID {session}\n{result['output']}"
        return CommandResult(running, None)
    return CommandResult(text_of(result["output"]), result.get("exit_code"))
