"""Sessions of Gemini CLI: one JSON value, or lines that change what earlier lines said.

In lines, a message that is there again replaces the earlier one, `{"$set": {"messages": [...]}}` replaces them all, and
`{"$rewindTo": ID}` takes back that message and what followed it. So the messages are read at the end.
"""

import re
from typing import Any, Final

from mcp_reflect.sessions.hosts.messages import FAILED, MessageKind, MessagesReader, ShellOutput
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

_FRAME: Final = ("<untrusted_context>\n", "\n</untrusted_context>")
# The lines that its shell tool writes around what a command printed.
_SHELL: Final = re.compile(
    r"\A(?:Command: .{0,2000}\n)?(?:Directory: .{0,400}\n)?(?:Output|Stdout): ", re.DOTALL
)
_CODE: Final = re.compile(r"^Exit Code: (-?\d{1,4})$", re.MULTILINE)
_AFTER: Final = re.compile(
    r"\n(?:Exit Code|Signal|Background PIDs|Process Group PGID): .{0,400}$", re.MULTILINE
)
_NOTES: Final = 1_000  # characters at the end of an output in which its shell says how it ended
_UNENDED: Final = ("validating", "scheduled", "awaiting_approval", "executing")
# Its own tools, and the agents among them that only read. A tool of another name may be an agent of the person's.
_OWN_TOOLS: Final = frozenset(
    """run_shell_command read_file read_many_files write_file replace list_directory glob search_file_content grep_search
    google_web_search web_fetch save_memory write_todos ask_user activate_skill get_internal_docs enter_plan_mode
    exit_plan_mode codebase_investigator cli_help complete_task invoke_agent delegate_to_agent read_background_output
    list_background_processes update_topic""".split()
)
_SURROUNDINGS: Final = "<session_context>"


def is_of_gemini(record: Record) -> bool:
    """True for a session of Gemini CLI in one value, or for a line of one."""
    return (
        "projectHash" in record
        or {"sessionId", "messages"} <= record.keys()
        or "$set" in record
        or "$rewindTo" in record
        or (record.get("type") == "gemini" and "message" not in record)
    )


class GeminiReader(MessagesReader):
    """Gathers the messages of a session, and reads them at the end, since later lines change earlier ones.

    `_messages` has them by their ids. `_is_rewound`: messages were taken back. `_is_unsure`: a line changed them in a way
    that this reader does not follow.
    """

    def __init__(self, listener: Listener, read_elsewhere: frozenset[str] = frozenset()) -> None:
        """Tell `listener` what is read, without the messages in `read_elsewhere`."""
        super().__init__(listener, read_elsewhere)
        self._messages: dict[str, Record] = {}
        self._speaker = PromptAuthor.PERSON
        self._is_rewound = False
        self._is_unsure = False

    def add(self, record: Record) -> None:
        """Take a line, or a whole session, as older versions write it; what it says is read at the `end`.

        A later line may take messages back (`$rewindTo`) or replace them (`$set`), so that none is sure before.
        """
        self.name_session(record.get("sessionId"))
        if record.get("kind") == "subagent":
            self._speaker = PromptAuthor.PROGRAM
        if "$rewindTo" in record:
            self._rewind(as_text(record["$rewindTo"]))
        elif "$set" in record:
            self._set(as_record(record["$set"]))
        elif "messages" in record:
            self._set(record)
        elif any(name.startswith("$") for name in record):  # a change of a newer version
            self._is_unsure = True
        elif "type" in record:
            self._put(record)

    def end(self) -> None:
        """Read the messages that are left when all lines have changed them.

        Messages that were taken back may have changed files before those that are left. What a line changed that this
        reader does not follow is not known, so that it counts as the last that was done.
        """
        if self._is_rewound:
            self.listener.unseen()
        for number, message in enumerate(self._messages.values(), start=1):
            if message_id(message) not in self.read_elsewhere:
                self.listener.begin_record(number, message)
                self.add_message(message, self._speaker_of(message))
        if self._is_unsure:
            self.listener.unseen()

    def _speaker_of(self, message: Record) -> PromptAuthor:
        """Return who wrote a prompt: the host, where it tells the agent's surroundings; else whoever began the session."""
        if text_of(message.get("content")).lstrip().startswith(_SURROUNDINGS):
            return PromptAuthor.HOST
        return self._speaker

    def _put(self, message: Record) -> None:
        """Keep a message, in place of an earlier one of its id."""
        name = as_text(message.get("id")) or f"message {len(self._messages)}"
        self._messages[name] = message

    def _set(self, values: Record) -> None:
        """Replace all messages, where the values have them. A change within one message is not followed."""
        if any(name.startswith("messages.") for name in values):  # a part of one
            self._is_unsure = True
        if "messages" in values:
            self._messages.clear()
            for message in as_records(values["messages"]):
                self._put(message)

    def _rewind(self, name: str) -> None:
        """Take back a message and what followed it; all of them where it is not known."""
        self._is_rewound = True
        if name not in self._messages:
            self._messages.clear()
            return
        names = list(self._messages)
        for later in names[names.index(name) :]:
            del self._messages[later]

    def add_call(self, values: Record) -> None:
        """Read a call with the answer beside it. A tool that is not Gemini's own may be an agent, which does anything."""
        super().add_call(values)
        call_id, status = values.get("id"), values.get("status")
        if status == "cancelled":  # a person stopped it, perhaps in its middle
            self.listener.withdrawn(call_id)
            self.listener.unseen()
        elif status not in _UNENDED and ("result" in values or "resultDisplay" in values):
            self._add_result(values, call_id)
        tool = as_text(values.get("name"))
        if tool not in _OWN_TOOLS and "mcp" not in tool and "__" not in tool:
            self.listener.unseen()

    def _add_result(self, values: Record, call_id: Any) -> None:
        """Read the answer beside a call: the text that the model was given, else the one that the host showed."""
        result = values.get("result")
        response = _response_in(result)
        framed = (
            text_of(response.get("output", response.get("error")))
            or as_text(result)
            or text_of(values.get("resultDisplay"))
        )
        text, code = shell_output_of(framed.removeprefix(_FRAME[0]).removesuffix(_FRAME[1]))
        failed = str(values.get("status")) in FAILED or "error" in response
        self.listener.answered(text, call_id, failed=failed, exit_code=code)

    def _add_parts(self, parts: Any, writer: MessageKind, speaker: PromptAuthor) -> None:
        """Read the parts of a message, but for answers: each stands beside its call already."""
        others = [
            part for part in as_list(list(parts)) if "functionResponse" not in as_record(part)
        ]
        super()._add_parts(others, writer, speaker)


def _response_in(result: object) -> Record:
    """The response in a result: of [{"functionResponse": {"response": {…}}}], also in a second list; else empty."""
    parts = as_list(result)
    if parts and as_list(parts[0]):
        parts = as_list(parts[0])
    for part in as_records(list(parts)):
        return as_record(as_record(part.get("functionResponse")).get("response"))
    return {}


def message_id(record: Record) -> str:
    """The id of a message, the same in every copy of it."""
    return as_text(record.get("id"))


def shell_output_of(text: str) -> ShellOutput:
    """What a command printed, without the lines that the shell tool wrote around it ("Directory: …", "Exit Code: 1")."""
    head = _SHELL.match(text)
    if head is None:
        return ShellOutput(text, None)
    printed = text[head.end() :]
    notes = _AFTER.search(printed, max(0, len(printed) - _NOTES))
    if notes is not None:
        printed = printed[: notes.start()]
    code = _CODE.search(text[-_NOTES:])
    if code is None:
        return ShellOutput(printed, None)
    return ShellOutput(printed, int(code[1]))
