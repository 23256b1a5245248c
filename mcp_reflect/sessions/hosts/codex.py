"""Sessions of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`, compressed after some days (`.jsonl.zst`).

A call is a `function_call` or `custom_tool_call` with its output. In code mode each is a script, `exec`, and the
commands that it ran follow as `item_completed`; in sessions without these they are read off the script.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from mcp_reflect.models.common import unpacked
from mcp_reflect.sessions.hosts.codex_outputs import (
    command_result,
    never_ran,
    output_of_call,
    output_of_script,
)
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
_OF_HOST: Final = re.compile(
    r"\s*<(?:environment_context|user_instructions|turn_aborted|subagent_notification|skill|"
    r"permissions|collaboration_mode|apps_instructions|hook_prompt)\b|\s*# AGENTS\.md instructions"
)


def is_of_codex(record: Record) -> bool:
    """True for a line of a session of Codex: {"type": "response_item", "payload": {…}}."""
    return record.get("type") in _TYPES and "payload" in record


class _OpenScript(NamedTuple):
    """A script that has not ended: its calls, and how many commands of scripts the host had noted when it began."""

    script: ScriptCalls
    noted_before: int


class CodexReader(MessagesReader):
    """Reads the lines of a rollout.

    The same thing may be there several times: in a copy of a line, as an item that the model saw and as the host's note
    of it, and in the session from which this one was forked. `read_elsewhere` has the keys of what was read in that
    session: those of items (`item_key`), and the ids of notes.
    """

    def __init__(self, listener: Listener, read_elsewhere: frozenset[str] = frozenset()) -> None:
        """Tell `listener` what is read, without the items in `read_elsewhere`."""
        super().__init__(listener, read_elsewhere)
        self._speaker = PromptAuthor.PERSON
        self._read_item_keys: set[str] = set()
        self._read_note_ids: set[str] = set()
        self._ids_of_models_calls: set[str] = set()  # without the calls that run scripts
        self._open_scripts: dict[str, _OpenScript] = {}  # by the ids of the calls that run them
        self._noted_count = 0  # commands of scripts that the host noted

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
                self._add_note(as_record(payload.get("item")))
            case "event_msg" if _is_of_person(payload):
                self.listener.unseen()
            case "response_item":
                self._add_item(payload)
            case _:
                pass

    def _begin(self, facts: Record) -> None:
        """Take the session's name, and who writes its prompts."""
        if self.listener.session is not None:  # of the session from which this one was forked
            return
        self.name_session(facts.get("id"))
        if _is_of_program(facts):
            self._speaker = PromptAuthor.PROGRAM

    def _was_item_read(self, key: str) -> bool:
        """Return whether an item was read before, here or in the session that this one copied; without a key it was not."""
        return key != "" and (key in self.read_elsewhere or key in self._read_item_keys)

    def _add_item(self, payload: Record) -> None:
        """Read an item, once; the first row that fits decides.

        | the item                                             | is read as                                       |
        |------------------------------------------------------|--------------------------------------------------|
        | was read before                                      | nothing                                          |
        | a call of `exec`, which runs a script                | the beginning of a script                        |
        | the output of a script                               | its end                                          |
        | any other call                                       | a call                                           |
        | the output of a call that never ran                  | a call to forget, and something that nobody saw  |
        | a call of a kind that a newer version has            | something that nobody saw                        |
        | any other                                            | a message: an answer, or words                   |
        """
        key = item_key(payload)
        if self._was_item_read(key):
            return
        self._read_item_keys.add(key)
        kind = payload.get("type")
        if kind in _CALLS and payload.get("name") in _SCRIPTS:
            self._begin_script(payload)
        elif kind in _OUTPUTS and str(id_of(payload)) in self._open_scripts:
            self._end_script(payload)
        elif kind in _CALLS:
            self._ids_of_models_calls.add(str(id_of(payload)))
            self.add_call(payload)
        elif kind in _OUTPUTS and never_ran(text_of(payload.get("output"))):
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
        """Keep the calls of a script until it ends, since only then it is known whether the host noted them itself."""
        sent = unpacked(payload.get("input", payload.get("arguments")))
        fields = as_record(sent)
        script = as_text(fields.get("code", fields.get("input"))) or text_of(sent)
        call_id = str(id_of(payload))
        self._open_scripts[call_id] = _OpenScript(calls_in(script), noted_before=self._noted_count)

    def _end_script(self, payload: Record) -> None:
        """Tell the calls of a script with their outputs, unless the host notes them itself.

        | the host notes calls itself | the script                         | is told as                                 |
        |-----------------------------|------------------------------------|--------------------------------------------|
        | yes                         | completed, and all calls are noted | nothing more                               |
        | yes                         | any other                          | something that nobody saw                  |
        | no                          | is plain, and ran                  | its calls, each with its output            |
        | no                          | is plain, but could not be parsed  | its calls, and something that nobody saw   |
        | no                          | any other                          | something that nobody saw                  |
        """
        call_id = str(id_of(payload))
        script, noted_before = self._open_scripts.pop(call_id)
        ending, outputs = output_of_script(payload.get("output"))
        if self._noted_count > 0:  # this host notes the commands of scripts
            lacks_some = self._noted_count - noted_before < len(script.calls)
            if lacks_some or not ending.startswith("Script completed"):
                self.listener.unseen()
            return
        has_failed = ending.startswith("Script failed")
        has_run = has_failed or ending.startswith("Script completed") or not ending
        could_not_be_parsed = never_ran("\n".join(outputs))
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
            output = output_of_call(outputs, call.shown, is_only=is_only)
            if output is None:
                self.listener.unseen()
                continue
            id_in_script = f"{call_id}.{number}"
            result = command_result(output)
            self.listener.called(call.tool, call.arguments, id_in_script)
            failed = script_failed and is_only
            self.listener.answered(
                result.printed, id_in_script, failed=failed, exit_code=result.exit_code
            )

    def _add_note(self, item: Record) -> None:
        """Tell what a script did, as the host noted it; the first row that fits decides.

        | the noted item                                        | is told as                              |
        |-------------------------------------------------------|-----------------------------------------|
        | is of a call that the model made itself, or was read  | nothing: that call is told already      |
        | is of a kind that a newer version has, and may run    | something that nobody saw               |
        | is of another kind without calls                      | nothing                                 |
        | was declined                                          | calls that never ran                    |
        | is any other                                          | calls with their answers                |
        """
        note_id = as_text(item.get("id"))
        was_read = note_id in self._read_note_ids or note_id in self.read_elsewhere
        if not note_id or was_read or note_id in self._ids_of_models_calls:
            return
        calls = _calls_of(item)
        if not calls:
            if _MAY_RUN.search(as_text(item.get("type"))):
                self.listener.unseen()
            return
        self._read_note_ids.add(note_id)
        self._noted_count += 1
        status = item.get("status")
        for number, call in enumerate(calls):
            call_id = _numbered(note_id, number)
            self.listener.called(call.tool, call.arguments, call_id)
            if status == "declined":
                self.listener.withdrawn(call_id)
            else:
                code = item.get("exit_code")
                failed = status == "failed"
                self.listener.answered(call.answer, call_id, failed=failed, exit_code=code)


def _numbered(note_id: str, number: int) -> str:
    """The id of a call of a note: the first has the note's own, so that a withdrawal finds it."""
    if number == 0:
        return note_id
    return f"{note_id}.{number}"


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
    """The calls that a note tells: one command, one call of an MCP server, or an edit for each changed file."""
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


def record_key(record: Record) -> str:
    """The key of what a line tells: the id of the host's note, or the key of an item."""
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
