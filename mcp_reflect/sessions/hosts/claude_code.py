"""Sessions of Claude Code: `~/.claude/projects/FOLDER/SESSION.jsonl`, and those of its subagents beside them."""

import re
from typing import Final

from mcp_reflect.sessions.hosts.messages import MessagesReader, id_of, is_record, message_in
from mcp_reflect.sessions.records import (
    Listener,
    PromptAuthor,
    Record,
    as_record,
    as_records,
    as_text,
    text_of,
)

_SENT_TO_MODEL: Final = "api-request"  # copies of what it sends: the conversation, once more
_BY_PERSON: Final = ("human", "user", "keyboard")  # kinds of origin
# Answers to calls that were sent beside another one, which failed: the host did not run them.
_CANCELLED: Final = re.compile(
    r"\s*(?:<\w{1,20}>\s*)?(?:Error: )?\[?(?:Sibling tool call errored|Cancelled: |Canceled: "
    r"|Tool (?:call|use|execution) (?:was )?(?:cancell?ed|skipped))",
    re.IGNORECASE,
)
_NOTIFIED: Final = re.compile(
    r"<task-notification>.{0,400}?<task-id>([\w-]{1,80})</task-id>", re.DOTALL
)
_STATUS: Final = re.compile(r"<status>(\w{1,20})</status>")
_OPENING: Final = 200  # characters of a message by which it is told from another one of its id
_CODE: Final = re.compile(r"exit code:? (-?\d{1,4})\b")


def is_of_claude_code(record: Record) -> bool:
    """True for a line of a session of Claude Code."""
    if record.get("type") in ("user", "assistant"):
        return "message" in record
    return "sessionId" in record and not {"projectHash", "messages", "payload"} & record.keys()


def record_id(record: Record) -> str:
    """The id of a record, the same in every copy of it; empty without one."""
    copied = as_record(record.get("forkedFrom")).get("messageUuid")
    return as_text(copied) or as_text(record.get("uuid"))


class ClaudeCodeReader(MessagesReader):
    """Reads the lines of a session. A line that is there twice is read once.

    `read_elsewhere` has the ids of lines that were read in the session from which this one was forked or resumed.
    """

    def __init__(self, listener: Listener, read_elsewhere: frozenset[str] = frozenset()) -> None:
        """Tell `listener` what is read, without the lines in `read_elsewhere`."""
        super().__init__(listener, read_elsewhere)
        self._content_of_id: dict[str, int] = {}  # a hash of what the first line of an id says
        self._ambiguous_ids: set[str] = (
            set()
        )  # those that stand on lines which say different things

    def add(self, record: Record) -> None:
        """Read a line of a session, unless it says nothing new.

        | a line                                  | is read as                                                   |
        |-----------------------------------------|--------------------------------------------------------------|
        | of what was sent to the model           | nothing: the conversation stands on the other lines          |
        | that was read, here or in another file  | nothing: a session that goes on begins with a copy           |
        | `attachment`                            | what was queued while the agent worked                       |
        | with `isMeta`                           | nothing: the host wrote it for the model, no person did      |
        | any other one                           | a message                                                    |
        """
        self.name_session(record.get("sessionId"))
        if str(record.get("type")).startswith(_SENT_TO_MODEL) or self._is_known(record):
            return
        if record.get("type") == "attachment":
            self._add_attachment(record)
        elif not record.get("isMeta"):
            self._add_line(record, _speaker_of(record))

    def _add_line(self, record: Record, speaker: PromptAuthor) -> None:
        """Read a message; one by the host may be the end of a task in the background."""
        if speaker is PromptAuthor.HOST:
            note = text_of(message_in(record).get("content"))
            ended = _NOTIFIED.match(note.lstrip())
            if ended is not None:
                self._add_ending(ended[1], note)
                return
        self.add_message(record, speaker)

    def _is_known(self, record: Record) -> bool:
        """Return whether a line was read, here or in another session, and note it.

        Some versions wrote one id on lines that say different things: such an id tells nothing.
        """
        name = record_id(record)
        if not name or not is_record(record):
            return False
        if name in self.read_elsewhere:
            return True
        content = hash(_opening_of(message_in(record).get("content")))
        was_read_before = name in self._content_of_id
        if self._content_of_id.setdefault(name, content) != content:
            self._ambiguous_ids.add(name)
        return was_read_before and name not in self._ambiguous_ids

    def add_answer(self, values: Record) -> None:
        """Read an answer; a call that the host cancelled was none."""
        if values.get("is_error") is True and _CANCELLED.match(text_of(values.get("content"))):
            self.listener.withdrawn(id_of(values))
        else:
            super().add_answer(values)

    def _add_attachment(self, record: Record) -> None:
        """Read what was queued while the agent worked: a person's words, or the end of a task in the background."""
        queued = as_record(record.get("attachment"))
        if queued.get("type") != "queued_command":
            return
        text = text_of(queued.get("prompt"))
        ended = _NOTIFIED.match(text.lstrip())
        if ended is not None:
            self._add_ending(ended[1], text)
        elif queued.get("commandMode", "prompt") == "prompt" and not queued.get("isMeta"):
            self.listener.prompted(text, _speaker_of_queued(queued, record))

    def _add_ending(self, task: str, text: str) -> None:
        """Tell the end of a task in the background, which the host notes in a text.

        To the listener it is a call that asks for the output of the task, and its answer.
        """
        call_id = f"end of {task}"
        self.listener.called("TaskOutput", {"task_id": task}, call_id)
        status = _STATUS.search(text)
        failed = status is not None and status[1] == "failed"
        self.listener.answered(text, call_id, failed=failed, exit_code=_exit_code_in(text))


def _exit_code_in(text: str) -> int | None:
    """Return the exit code that a notification tells, None where it tells none."""
    code = _CODE.search(text)
    if code is None:
        return None
    return int(code[1])


def _opening_of(content: object) -> str:
    """Return the beginning of a message, enough to tell it from another one that stands under the same id."""
    if isinstance(content, str):
        return content[:_OPENING]
    return " ".join(
        f"{id_of(part)} {str(part.get('text', part.get('content', '')))[:_OPENING]}"
        for part in as_records(content)
    )


def _speaker_of_queued(queued: Record, record: Record) -> PromptAuthor:
    """Return who wrote a prompt that was queued: it tells so itself, or the line around it does."""
    if "origin" in queued:
        return _speaker_of(queued)
    return _speaker_of(record)


def _speaker_of(record: Record) -> PromptAuthor:
    """Return who wrote a prompt; the first row that fits decides.

    | the record                                        | who      |
    |---------------------------------------------------|----------|
    | has an origin that is no person                   | the host |
    | is a summary, or for the transcript alone         | the host |
    | is of a side chain (a subagent), or of the SDK    | PROGRAM  |
    | any other                                         | PERSON   |
    """
    kind = as_record(record.get("origin")).get("kind")
    if kind is not None and kind not in _BY_PERSON:
        return PromptAuthor.HOST
    if record.get("isCompactSummary") or record.get("isVisibleInTranscriptOnly"):
        return PromptAuthor.HOST
    if record.get("isSidechain"):
        return PromptAuthor.PROGRAM
    if any(as_text(record.get(name)).startswith("sdk") for name in ("entrypoint", "promptSource")):
        return PromptAuthor.PROGRAM
    return PromptAuthor.PERSON
