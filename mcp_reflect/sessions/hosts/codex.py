"""Sessions of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`, compressed after some days (`.jsonl.zst`).

A call is a `function_call` or `custom_tool_call` with its output. In code mode each is a script, `exec`, and the
commands that it ran follow as `item_completed`; in sessions without these they are read off the script.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from mcp_reflect.models.common import unpacked
from mcp_reflect.sessions.hosts.codex_scripts import ScriptCalls, calls_in
from mcp_reflect.sessions.hosts.messages import MessagesReader, first_of, id_of
from mcp_reflect.sessions.records import (
    Listener,
    PromptAuthor,
    Record,
    as_list,
    as_record,
    as_records,
    as_text,
    text_of,
)

_TYPES: Final = frozenset(
    "session_meta response_item event_msg turn_context compacted world_state".split()
)
_RESULT_FIELDS: Final = frozenset({"exit_code", "session_id", "wall_time_seconds"})
"""Fields beside the output in the whole result of a command, by which one is known."""

_SCRIPTS: Final = frozenset({"exec", "js_repl"})
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUTS: Final = frozenset(
    {"function_call_output", "custom_tool_call_output", "local_shell_call_output"}
)
# Kinds of items that run nothing; any other kind that ends in `_call` may have done something.
_LOOKING: Final = frozenset(
    {"web_search_call", "tool_search_call", "file_search_call", "image_generation_call"}
)
_MAY_RUN: Final = re.compile(r"Exec|Command|(?:Tool|Agent)Call")  # in the kind of a host's note
_ENVELOPE: Final = re.compile(
    r"(?P<ending>Script (?:completed|failed|running[^\n]{0,80}|terminated[^\n]{0,80}))\n"
    r"(?:Wall time[^\n]{0,40}\n)?(?:Output:\n?)?"
)
_NEVER_RAN: Final = re.compile(r"\s*(?:aborted by user|aborted|Script failed\b.{0,200}SyntaxError)")
_OF_HOST: Final = re.compile(
    r"\s*<(?:environment_context|user_instructions|turn_aborted|subagent_notification|skill|"
    r"permissions|collaboration_mode|apps_instructions|hook_prompt)\b|\s*# AGENTS\.md instructions"
)


def is_of_codex(record: Record) -> bool:
    """True for a line of a session of Codex: {"type": "response_item", "payload": {…}}."""
    return record.get("type") in _TYPES and "payload" in record


class CodexReader(MessagesReader):
    """Reads the lines of a rollout.

    `read_elsewhere` has the keys of items that were read in the session from which this one was forked.
    """

    def __init__(self, listener: Listener, read_elsewhere: frozenset[str] = frozenset()) -> None:
        """Tell `listener` what is read, without the items in `read_elsewhere`."""
        super().__init__(listener, read_elsewhere)
        self._speaker = PromptAuthor.PERSON
        self._scripts: dict[str, ScriptCalls] = {}  # by the ids of the calls that run them
        self._direct: set[str] = set()  # ids of the calls that are no scripts
        self._seen: set[str] = set()  # keys of the items that were read
        self._items = 0  # commands of scripts that the host noted
        self._items_before: dict[str, int] = {}  # their number when a script began, by its call

    def add(self, record: Record) -> None:
        """Read a line of a session.

        | a line                               | is read as                                            |
        |--------------------------------------|-------------------------------------------------------|
        | `session_meta`                       | the name of the session, and who writes its prompts   |
        | `event_msg` of an item that ended    | a call of a script                                    |
        | `event_msg` of a person's command    | something of which nobody knows what it did           |
        | `response_item`                      | what the model saw: a call, an answer, or words       |
        | any other                            | nothing                                               |
        """
        payload = as_record(record.get("payload"))
        match record.get("type"):
            case "session_meta":
                self._begin(payload)
            case "event_msg" if payload.get("type") == "item_completed":
                self._add_item(as_record(payload.get("item")))
            case "event_msg" if _is_of_person(payload):
                self.listener.unseen()
            case "response_item" if not self._is_known(payload):
                self._add_payload(payload)
            case _:
                pass

    def _begin(self, facts: Record) -> None:
        """Take the session's name, and who writes its prompts."""
        if self.listener.session is not None:  # of the session from which this one was forked
            return
        self.name_session(facts.get("id"))
        if _is_of_program(facts):
            self._speaker = PromptAuthor.PROGRAM

    def _is_known(self, payload: Record) -> bool:
        """Return whether an item was read before, here or in the session that this one copied, and note it."""
        key = item_key(payload)
        if not key:
            return False
        was_read_before = key in self.read_elsewhere or key in self._seen
        self._seen.add(key)
        return was_read_before

    def _add_payload(self, payload: Record) -> None:
        """Read an item; the first row that fits decides.

        | the item                                             | is read as                                       |
        |------------------------------------------------------|--------------------------------------------------|
        | a call of `exec`, which runs a script                | the beginning of a script                        |
        | the output of a script                               | its end                                          |
        | any other call                                       | a call                                           |
        | the output of a call that never ran                  | a call to forget, and something that nobody saw  |
        | a call of a kind that a newer version has            | something that nobody saw                        |
        | any other                                            | a message: an answer, or words                   |
        """
        kind = payload.get("type")
        if kind in _CALLS and payload.get("name") in _SCRIPTS:
            self._begin_script(payload)
        elif kind in _OUTPUTS and str(id_of(payload)) in self._scripts:
            self._end_script(payload)
        elif kind in _CALLS:
            self._direct.add(str(id_of(payload)))
            self.add_call(payload)
        elif kind in _OUTPUTS and _NEVER_RAN.match(text_of(payload.get("output"))):
            self.listener.withdrawn(id_of(payload))
            self.listener.unseen()
        elif str(kind).endswith("_call") and kind not in _LOOKING:
            self.listener.unseen()
        else:
            self.add_message(payload, self._speaker_of(payload))

    def _speaker_of(self, payload: Record) -> PromptAuthor:
        """Return who wrote a prompt: the host, where it says so or the words open as its own; else who began the session."""
        facts = as_record(payload.get("internal_chat_message_metadata_passthrough"))
        kinds = as_list(facts.get("content_item_kinds"))
        by_host = bool(kinds) and not any(str(kind).startswith("user") for kind in kinds)
        if by_host or _OF_HOST.match(text_of(payload.get("content"))[:400]):
            return PromptAuthor.HOST
        return self._speaker

    # Code mode.

    def _begin_script(self, payload: Record) -> None:
        """Keep the calls of a script until it ends, since only then it is known whether the host told them itself."""
        sent = unpacked(payload.get("input", payload.get("arguments")))
        fields = as_record(sent)
        script = as_text(fields.get("code", fields.get("input"))) or text_of(sent)
        call_id = str(id_of(payload))
        self._scripts[call_id] = calls_in(script)
        self._items_before[call_id] = self._items

    def _end_script(self, payload: Record) -> None:
        """Tell the calls of a script with their outputs, unless the host told them itself.

        | the host tells calls itself | the script                         | is told as                                 |
        |-----------------------------|------------------------------------|--------------------------------------------|
        | yes                         | completed, and all calls were told | nothing more                               |
        | yes                         | any other                          | something that nobody saw                  |
        | no                          | is plain, and ran                  | its calls, each with its output            |
        | no                          | is plain, but could not be parsed  | its calls, and something that nobody saw   |
        | no                          | any other                          | something that nobody saw                  |
        """
        call_id = str(id_of(payload))
        script = self._scripts.pop(call_id)
        items_before = self._items_before.pop(call_id)
        ending, outputs = _output_of_script(payload.get("output"))
        if self._items > 0:  # this host tells the commands of scripts
            lacks_some = self._items - items_before < len(script.calls)
            if lacks_some or not ending.startswith("Script completed"):
                self.listener.unseen()
            return
        has_failed = ending.startswith("Script failed")
        has_run = has_failed or ending.startswith("Script completed") or not ending
        could_not_be_parsed = _NEVER_RAN.match("\n".join(outputs)) is not None
        if not script.plain or not has_run or could_not_be_parsed:
            self.listener.unseen()
        if script.plain and has_run:
            self._tell_calls(script, call_id, outputs, script_failed=has_failed)

    def _tell_calls(
        self, script: ScriptCalls, call_id: str, outputs: Sequence[str], *, script_failed: bool
    ) -> None:
        """Tell the calls of a script, each with its output among those that the script showed.

        Of a script that failed with several calls it is not known which of them did.
        """
        is_only = len(script.calls) == 1
        for number, call in enumerate(script.calls):
            answer = _output_of_call(outputs, call.shown, is_only=is_only)
            if answer is None:
                self.listener.unseen()
                continue
            name = f"{call_id}.{number}"
            text, code = _printed_and_code(answer)
            self.listener.called(call.tool, call.arguments, name)
            failed = script_failed and is_only
            self.listener.answered(text, name, failed=failed, exit_code=code)

    def _add_item(self, item: Record) -> None:
        """Tell what a script did, as the host noted it; the first row that fits decides.

        | the item                                              | is told as                              |
        |-------------------------------------------------------|-----------------------------------------|
        | is of a call that the model made itself, or was read  | nothing: that call is told already      |
        | is of a kind that a newer version has, and may run    | something that nobody saw               |
        | is of another kind without calls                      | nothing                                 |
        | was declined                                          | calls that never ran                    |
        | is any other                                          | calls with their answers                |
        """
        name = as_text(item.get("id"))
        if not name or name in self._direct or name in self._seen or name in self.read_elsewhere:
            return
        calls = _calls_of(item)
        if not calls:
            if _MAY_RUN.search(as_text(item.get("type"))):
                self.listener.unseen()
            return
        self._seen.add(name)
        self._items += 1
        status = item.get("status")
        for number, call in enumerate(calls):
            call_id = _numbered(name, number)
            self.listener.called(call.tool, call.arguments, call_id)
            if status == "declined":
                self.listener.withdrawn(call_id)
            else:
                code = item.get("exit_code")
                failed = status == "failed"
                self.listener.answered(call.answer, call_id, failed=failed, exit_code=code)


def _numbered(name: str, number: int) -> str:
    """The id of a call of an item: the first has the item's own."""
    if number == 0:
        return name
    return f"{name}.{number}"


def _is_of_program(facts: Record) -> bool:
    """True for a session that another agent or a script began: its prompts are no person's words."""
    by_agent = "subagent" in as_record(facts.get("source"))
    by_script = facts.get("source") == "exec" or facts.get("originator") in ("exec", "codex_exec")
    return by_agent or by_script or facts.get("thread_source") == "subagent"


def _is_of_person(event: Record) -> bool:
    """True for the end of a command that the person ran in the host."""
    return event.get("type") == "exec_command_end" and event.get("source") == "user_shell"


class _NotedCall(NamedTuple):
    """A call of a script, as the host noted it, with its answer."""

    tool: str
    arguments: Any
    answer: str


def _calls_of(item: Record) -> list[_NotedCall]:
    """The calls that an item tells: one command, one call of an MCP server, or an edit for each changed file."""
    match item.get("type"):
        case "CommandExecution":
            command = {"command": item.get("command")}
            return [_NotedCall("exec_command", command, as_text(item.get("aggregated_output")))]
        case "FileChange":
            by_path = as_record(item.get("changes"))
            changes = as_records(item.get("changes"))
            paths = [*map(str, by_path), *(as_text(change.get("path")) for change in changes)]
            return [
                _NotedCall("write_file", {"file_path": path}, "written") for path in paths if path
            ]
        case "McpToolCall":
            tool = f"mcp__{item.get('server')}__{item.get('tool')}"
            answer = item.get("error") or item.get("result")
            return [_NotedCall(tool, item.get("arguments"), text_of(answer))]
        case _:
            return []


class _ScriptOutput(NamedTuple):
    """How a script ended ("Script completed", empty where nobody tells it), and the outputs that it showed, in order."""

    ending: str
    outputs: list[str]


def _output_of_script(output: object) -> _ScriptOutput:
    """Return the output of a script without the lines that the host writes before it."""
    outputs = [text_of(part) for part in as_list(output)] or [text_of(output)]
    envelope = _ENVELOPE.match(outputs[0])
    if envelope is None:
        return _ScriptOutput("", outputs)
    rest_of_first = outputs[0][envelope.end() :]
    if rest_of_first.strip():
        return _ScriptOutput(envelope["ending"], [rest_of_first, *outputs[1:]])
    return _ScriptOutput(envelope["ending"], outputs[1:])


def _output_of_call(outputs: Sequence[str], number: int | None, *, is_only: bool) -> str | None:
    """The output of a call among those of its script, None where it is not known which.

    All of them are that of the only call of a script, else the one with the call's `number`.
    """
    if is_only:
        return "\n".join(outputs)
    if number is None or number >= len(outputs):
        return None
    return outputs[number]


def _printed_and_code(text: str) -> "_CommandResult":
    """What a command printed, and its exit code (None for none), of the whole result that a script shows as JSON.

    '{"output": "1 failed", "exit_code": 1}' gives ("1 failed", 1). Any other text is what the command printed. A command
    that still runs has a session in place of a code.
    """
    result = as_record(unpacked(text.strip()))
    is_result = "output" in result and not _RESULT_FIELDS.isdisjoint(result)
    if not is_result:
        return _CommandResult(text, None)
    session = result.get("session_id")
    if "exit_code" not in result and session is not None:
        running = f"Process running with session ID {session}\n{result['output']}"
        return _CommandResult(running, None)
    return _CommandResult(text_of(result["output"]), result.get("exit_code"))


class _CommandResult(NamedTuple):
    """What a command printed, and its exit code as it was told; None where nobody tells it."""

    printed: str
    exit_code: object


def record_key(record: Record) -> str:
    """The key of the item on a line."""
    payload = as_record(record.get("payload"))
    if payload.get("type") == "item_completed":
        return as_text(as_record(payload.get("item")).get("id"))
    return item_key(payload)


def item_key(payload: Record) -> str:
    """The key of an item, the same in every copy of it; empty for what can be there twice."""
    name = payload.get("call_id") or payload.get("id")
    if not isinstance(name, str) or not name:
        return ""
    content = first_of(payload, ("content", "input", "arguments", "output", "action"))
    return f"{payload.get('type')} {name} {hash(str(content))}"
