"""Sessions of Gemini CLI: one JSON value, or lines that change what earlier lines said.

In lines, a message that is there again replaces the earlier one, `{"$set": {"messages": [...]}}` replaces them all, and
`{"$rewindTo": ID}` takes back that message and what followed it. So the messages are read at the end.
"""

import re
from typing import Any, Final

from mcp_reflect.sessions.hosts.messages import FAILED, MessagesReader
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
    """True for the session, or a line of it."""
    return (
        "projectHash" in record
        or {"sessionId", "messages"} <= record.keys()
        or "$set" in record
        or "$rewindTo" in record
        or (record.get("type") == "gemini" and "message" not in record)
    )


class GeminiReader(MessagesReader):
    """Gathers the messages of a session, and reads them at the end."""

    def __init__(self, listener: Listener, known: frozenset[str] = frozenset()) -> None:
        super().__init__(listener, known)
        self._messages: dict[str, Record] = {}
        self._speaker = PromptAuthor.PERSON
        self._is_rewound = False
        self._is_unsure = False

    def add(self, record: Record) -> None:
        """Take a line, or a whole session."""
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
        """Read the messages that are left."""
        if self._is_rewound:  # files may be other than the messages that are left tell
            self.listener.unseen()
        for place, message in enumerate(self._messages.values(), start=1):
            if message_id(message) in self.known:
                continue
            self.listener.begin(place, message)
            opens = text_of(message.get("content")).lstrip().startswith(_SURROUNDINGS)
            self.add_message(message, PromptAuthor.HOST if opens else self._speaker)
        if self._is_unsure:  # messages may be other than those that were read
            self.listener.unseen()

    def _put(self, message: Record) -> None:
        name = as_text(message.get("id")) or f"message {len(self._messages)}"
        self._messages[name] = message

    def _set(self, values: Record) -> None:
        if any(name.startswith("messages.") for name in values):  # a part of one
            self._is_unsure = True
        if "messages" in values:
            self._messages.clear()
            for message in as_records(values["messages"]):
                self._put(message)

    def _rewind(self, name: str) -> None:
        """Take back a message and what followed it; all of them where it is not known."""
        names = list(self._messages)
        first = names.index(name) if name in self._messages else 0
        for later in names[first:]:
            del self._messages[later]
        self._is_rewound = True

    def add_call(self, values: Record) -> None:
        """Read a call, with its answer beside it."""
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
        result = values.get("result")
        said = _response_in(result)
        text = text_of(said.get("output", said.get("error")))
        text = text or as_text(result) or text_of(values.get("resultDisplay"))
        text, code = printed_by_shell(text.removeprefix(_FRAME[0]).removesuffix(_FRAME[1]))
        failed = str(values.get("status")) in FAILED or "error" in said
        self.listener.answered(text, call_id, failed=failed, exit_code=code)

    def _add_parts(self, parts: Any, what: str, speaker: PromptAuthor) -> None:
        # The answers of calls stand in the message with the calls as well.
        kept = [part for part in as_list(list(parts)) if "functionResponse" not in as_record(part)]
        super()._add_parts(kept, what, speaker)


def _response_in(result: object) -> Record:
    """The response among the parts of a result, which may stand in a list of their own."""
    parts = as_list(result)
    if parts and as_list(parts[0]):
        parts = as_list(parts[0])
    for part in as_records(list(parts)):
        return as_record(as_record(part.get("functionResponse")).get("response"))
    return {}


def message_id(record: Record) -> str:
    """The id of a message, the same in every copy of it."""
    return as_text(record.get("id"))


def printed_by_shell(text: str) -> tuple[str, int | None]:
    """What a command printed, and its exit code where the answer tells one."""
    head = _SHELL.match(text)
    if head is None:
        return text, None
    code = _CODE.search(text[-1_000:])
    rest = text[head.end() :]
    last = _AFTER.search(rest, max(0, len(rest) - 1_000))
    printed = rest[: last.start()] if last else rest
    return printed, int(code[1]) if code else None
