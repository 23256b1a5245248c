"""Runs from the session files of agents.

Read are sessions of Claude Code, Codex, Gemini CLI and pi, messages of OpenAI's and Anthropic's APIs, and the arguments
of `reflect` themselves.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json, unpacked
from mcp_reflect.text.signature import digest

Record = Mapping[str, Any]

MOST_EVENTS: Final = (
    1_000  # of one run; a longer session is several, cut where the person said something
)
MOST_CHARS: Final = (
    800_000  # of one run; an event counts as a fortieth at most, for a longer text is cut
)
NO_ANSWER: Final = "(empty)"
MOST_TASK: Final = 2_000  # characters of the person's first words that name the run
_HOST_WORDS: Final = re.compile(
    r"\s*<(?:command-|local-command|system-reminder|environment_context|user_instructions|permissions|task-notification)"
)


@dataclass(slots=True)
class RunBuilder:
    """The arguments of `reflect` as they are gathered from one conversation. A person's first words are the task."""

    session: str | None = None
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _tools: dict[str, str] = field(default_factory=dict[str, str])

    def asked(self, text: str) -> None:
        """Add a person's words; those that the host adds in their name are left out."""
        if text.strip() and not _HOST_WORDS.match(text):
            self.events.append({"type": "user_feedback", "content": text})

    def told(self, text: str) -> None:
        """Add the agent's words."""
        if text.strip():
            self.events.append({"type": "llm_call", "content": text})

    def called(self, tool: object, arguments: object, call_id: object = None) -> None:
        """Add a call. Arguments may be JSON in a text."""
        name = tool if isinstance(tool, str) and tool.strip() else "tool"
        event: dict[str, Any] = {
            "type": "tool_call",
            "tool": name,
            "arguments": unpacked(arguments),
        }
        if isinstance(call_id, str) and call_id:
            self._tools[call_id] = name
            event["metadata"] = {"tool_call_id": call_id}
        self.events.append(event)

    def answered(
        self,
        content: str,
        call_id: object = None,
        *,
        failed: bool = False,
        exit_code: object = None,
    ) -> None:
        """Add the answer of a call; `failed` where the record itself marks it as an error."""
        event: dict[str, Any] = {"type": "tool_response", "content": content or NO_ANSWER}
        facts: dict[str, Any] = {}
        if isinstance(call_id, str) and call_id:
            facts["tool_call_id"] = call_id
            if call_id in self._tools:
                event["tool"] = self._tools[call_id]
        if isinstance(exit_code, int) and not isinstance(exit_code, bool):
            facts["exit_code"] = exit_code
        if failed:
            event["error"] = content or "error"
        if facts:
            event["metadata"] = facts
        self.events.append(event)

    def runs(self, outcome: str) -> Iterator[dict[str, Any]]:
        """The arguments of `reflect` for each part that holds a call.

        A part has at most MOST_EVENTS events and MOST_CHARS characters, so that no event of it is left out. It is cut
        before a person's words where these are in its later half.
        """
        rest = self.events
        while rest:
            sizes = accumulate(
                min(len(str(event)), MOST_CHARS // 40) for event in rest[:MOST_EVENTS]
            )
            most = max(1, sum(size <= MOST_CHARS for size in sizes))
            said = [at for at, event in enumerate(rest[:most]) if event["type"] == "user_feedback"]
            cut = said[-1] if len(rest) > most and said and said[-1] >= most // 2 else most
            part, rest = rest[:cut], rest[cut:]
            if any(event["type"] == "tool_call" for event in part):
                asked = next(
                    (event["content"] for event in part if event["type"] == "user_feedback"), None
                )
                task = " ".join((asked or "A run without a task in its record").split())[:MOST_TASK]
                yield {"task": task, "outcome": outcome, "events": part}


def as_record(value: object) -> Record:
    """The value where it is an object, else an empty one."""
    return cast("Record", value) if isinstance(value, dict) else {}


def as_list(value: object) -> Sequence[Any]:
    """The value where it is a list, else an empty one."""
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def as_records(value: object) -> list[Record]:
    """The objects in a list, empty ones left out."""
    return [record for item in as_list(value) if (record := as_record(item))]


def text_of(content: object) -> str:
    """The text of a message's content: a string, or its parts that hold text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, (text_of(part) for part in cast("list[object]", content))))
    values = as_record(content)
    inner = values.get("text", values.get("content"))
    return text_of(inner) if inner is not None else ""


# The runs of a file.


@dataclass(frozen=True, slots=True)
class Transcript:
    """The runs of a file, each with its place (`line 3, `), and the lines that could not be read.

    A run that was read off a transcript has a `run_id`, which names the session and the content.
    """

    runs: list[tuple[str, dict[str, Any]]]
    bad: list[str] = field(default_factory=list[str])


def read_transcript(text: str, outcome: str = "partial", session: str | None = None) -> Transcript:
    """The runs of a text.

    Args:
        text: The content of the file.
        outcome: How the runs ended, which no transcript says.
        session: Overrides the session's own name.

    Raises:
        InputError: Nothing can be read, or a line among the arguments of `reflect` is bad.
    """
    transcript = Transcript([])
    numbered = _records(text, transcript.bad)
    if any(is_record(record) for _, record in numbered):
        conversations = [("", [record for _, record in numbered])]
    else:  # one a record
        conversations = [(f"{place}, " if place else "", [record, *as_records(record.get("messages"))])
            for place, record in numbered if "messages" in record]  # fmt: skip
    if not conversations:
        if transcript.bad:
            place, _, fault = transcript.bad[0].partition(": ")
            raise InputError(place, fault, "Give one JSON object a line.")
        transcript.runs.extend(
            (f"{place}, " if place else "", dict(record)) for place, record in numbered
        )
    for place, records in conversations:
        run = RunBuilder()
        for record in records:
            add_record(run, record)
        for part in run.runs(
            outcome
        ):  # an id of session and content, so that the same one is known again
            content = json.dumps(part, sort_keys=True, ensure_ascii=False, default=str)
            name = (session or run.session or "transcript")[:150]
            transcript.runs.append((place, {**part, "run_id": f"{name}#{digest(content)}"}))
    return transcript


def _records(text: str, bad: list[str]) -> list[tuple[str, Record]]:
    """The JSON objects of a text, or of its lines, by their places; anything else is named in `bad`."""
    values: list[tuple[str, object]] = []
    try:
        whole = json.loads(text)
        values = [
            (f"item {number}", item) for number, item in enumerate(as_list(whole), start=1)
        ] or [("", whole)]
    except (ValueError, RecursionError):
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                values += [(f"line {number}", json.loads(line))] if line.strip() else []
            except (ValueError, RecursionError) as error:
                bad.append(f"line {number}: it is not JSON: {str(error)[:80]}")
    fault = "it is not a JSON object"
    bad += [
        f"{place}: {fault}" if place else fault
        for place, value in values
        if not isinstance(value, dict)
    ]
    numbered = [
        (place, as_record(value)) for place, value in values if value == {} or as_record(value)
    ]
    if not numbered:
        fix = "Give reflect's arguments, a session of Claude Code or Codex, or messages."
        raise InputError("file", bad[0] if bad else "it is empty", fix)
    return numbered


# A record of a conversation: a message of a model's API, or a line of a session. Its `type` or `role` tells what it is;
# one thing has many names, of which the first that is there counts.

_WHAT: Final = {
    **dict.fromkeys(("user", "human"), "person"),
    **dict.fromkeys(("assistant", "ai", "gemini"), "agent"),
    **dict.fromkeys(
        "tool_use server_tool_use mcp_tool_use toolCall function_call custom_tool_call local_shell_call".split(),
        "call",
    ),
    **dict.fromkeys(
        "tool function toolResult tool_result mcp_tool_result function_call_output custom_tool_call_output "
        "local_shell_call_output".split(),
        "answer",
    ),
    **dict.fromkeys(("thinking", "redacted_thinking", "image", "image_url", "reasoning"), "silent"),
}
_IDS: Final = ("tool_use_id", "tool_call_id", "toolCallId", "call_id", "id")
_ARGUMENTS: Final = ("input", "arguments", "args", "action")
_FAILED: Final = ("error", "cancelled")  # the status of an answer
# The lines before the output of a command in Codex.
_EXEC_HEAD: Final = re.compile(
    r"(?:(?:Chunk ID|Wall time|Original token count|Total output lines): .*\n"
    r"|(?:Exit code:|Process exited with code) (-?\d+)\n){1,6}Output:\n"
)
_SENT_TO_MODEL: Final = (
    "api-request"  # Claude Code keeps copies of what it sends: the conversation, once more
)


def is_record(record: Record) -> bool:
    """True for a record of a conversation."""
    return bool(_what(_message_in(record)) or _what(record))


def add_record(run: RunBuilder, record: Record) -> None:
    """Add a record with the calls and answers in it; one outside the conversation is skipped."""
    kind = record.get("type")
    if run.session is None:
        own = record.get("id") if kind == "session" else as_record(record.get("payload")).get("id")
        name = own if kind in ("session", "session_meta") else record.get("sessionId")
        run.session = name if isinstance(name, str) and name else None
    if record.get("isMeta") or str(kind).startswith(_SENT_TO_MODEL):
        return
    values = _message_in(record)
    what, content = _what(values) or _what(record), values.get("content")
    if what == "call":
        _add_call(run, values)
    elif what == "answer":
        _add_answer(run, values)
    elif what in ("person", "agent"):
        for part in as_list(content) or [content]:
            inner = as_record(part)
            part_is = _what(inner) if inner else ""
            if part_is in ("call", "answer"):
                add_record(run, inner)
            elif part_is != "silent":
                (run.asked if what == "person" else run.told)(text_of(part))
        for call in as_records(values.get("tool_calls") or values.get("toolCalls")):
            _add_call(run, call)


def _message_in(record: Record) -> Record:
    """The message or item that a line of a session holds, else the record itself."""
    return as_record(record.get("message")) or as_record(record.get("payload")) or record


def _what(values: Record) -> str:
    names = (values.get("type"), values.get("role"))
    return next((_WHAT[name] for name in names if isinstance(name, str) and name in _WHAT), "")


def _first(values: Record, names: Sequence[str]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _add_call(run: RunBuilder, values: Record) -> None:
    """Add a call, and its answer where Gemini CLI keeps it beside."""
    inner, call_id = as_record(values.get("function")) or values, _first(values, _IDS)
    run.called(inner.get("name", "shell"), _first(inner, _ARGUMENTS), call_id)
    if "result" in values or "resultDisplay" in values:
        parts = [
            as_record(part.get("functionResponse")) for part in as_records(values.get("result"))
        ]
        said = as_record(parts[0].get("response") if parts else None)
        text = text_of(said.get("output", said.get("error"))) or text_of(
            values.get("resultDisplay")
        )
        run.answered(text, call_id, failed=str(values.get("status")) in _FAILED or "error" in said)


def _add_answer(run: RunBuilder, values: Record) -> None:
    """Add an answer: text, or JSON with the text and how the program ended."""
    answer = values.get("output", values.get("content"))
    inner = as_record(unpacked(values.get("output")))
    code = as_record(inner.get("metadata")).get("exit_code", inner.get("exit_code"))
    text = text_of(
        _first(inner, ("output", "content")) if {"output", "content"} & inner.keys() else answer
    )
    if head := _EXEC_HEAD.match(text):
        code, text = (int(head[1]) if head[1] else code), text[head.end() :]
    failed = str(values.get("status")) in _FAILED or True in (
        values.get("is_error"),
        values.get("isError"),
    )
    run.answered(
        text, _first(values, _IDS), failed=failed or inner.get("success") is False, exit_code=code
    )


# A session's file, as its host writes it: a JSON object a line, or one JSON value.

LOOKS: Final = frozenset(
    "read grep glob ls webfetch websearch todowrite toolsearch read_file read_many_files list_directory "
    "search_file_content google_web_search notebookread exitplanmode view_image update_plan skill".split()
)
"""Tools whose answers prove nothing and teach nothing, unless they are errors."""

_SAYS_NOTHING: Final = re.compile(
    rb"\A\{[^{]{0,300}\"type\": ?\"(?:progress|file-history-snapshot|queue-operation|event_msg|attachment|system|"
    rb"api-request[a-z-]*|summary|turn_context|compacted|last-prompt|reasoning)\""
)


def record_of(line: bytes) -> Record | None:
    """The record of a line, empty where it is not JSON; None for what a host notes for itself, which is not parsed."""
    if line[:1] != b"{" or _SAYS_NOTHING.match(line):
        return None
    copy = line.find(b',"toolUseResult":')  # what the answer has already
    return (parsed(line[:copy] + b"}") if copy > 0 else None) or parsed(line)


def is_one_value(head: bytes) -> bool:
    """True for the beginning of a session that is one JSON value, as Gemini CLI writes it."""
    first, end, _ = head.lstrip().partition(b"\n")
    record: Record = parsed(first) if end else {}
    return first[:1] == b"{" and (not record or "messages" in record)


def messages_in(session: Record) -> list[Record]:
    """The messages of a session that is one JSON value; none where it is of another form."""
    messages = as_records(session.get("messages"))
    return (
        messages if any(message.get("type") in ("gemini", "user") for message in messages) else []
    )


def records_in(data: bytes) -> Iterator[Record]:
    """The records of a session, or of its end from the beginning of a line."""
    if is_one_value(data):
        yield from messages_in(parsed(data))
    else:
        yield from filter(None, (record_of(line) for line in data.split(b"\n")))


def parsed(text: bytes | str) -> Record:
    """The object that a text holds as JSON, else an empty one."""
    try:
        return as_record(json.loads(text))
    except (ValueError, RecursionError):
        return {}


@dataclass(slots=True)
class CallReader(RunBuilder):
    """Hands over each call of a session with its answer.

    `known`: a record was of a conversation; `worked`: seconds of work until now, and `sent` until the call that was
    just answered.
    """

    known: bool = False
    worked: float = 0.0
    sent: float = 0.0
    _open: dict[str, tuple[str, Json, float]] = field(
        default_factory=dict[str, tuple[str, Json, float]]
    )

    def begin(self, place: int, record: Record) -> None:
        """Note the record that comes next, and its place in the session from 1."""

    def met(
        self, tool: str, arguments: Json, content: str, *, failed: bool, code: int | None
    ) -> None:
        """Note a call with its answer."""

    def called(self, tool: object, arguments: object, call_id: object = None) -> None:
        """Note a call until it is answered."""
        name = tool if isinstance(tool, str) and tool.strip() else "tool"
        self._open[str(call_id)] = name, unpacked(arguments), self.worked

    def answered(
        self,
        content: str,
        call_id: object = None,
        *,
        failed: bool = False,
        exit_code: object = None,
    ) -> None:
        """Hand over a call; one that is not open is left out."""
        tool, arguments, self.sent = self._open.pop(str(call_id), ("", None, 0.0))
        if tool:
            code = (
                exit_code
                if isinstance(exit_code, int) and not isinstance(exit_code, bool)
                else None
            )
            self.met(tool, arguments, content, failed=failed, code=code)

    def read_lines(self, lines: Iterable[bytes]) -> int:
        """Read the lines of a session from the first of a conversation on; return how many are not JSON."""
        bad = 0
        for place, line in enumerate(lines, start=1):
            record = record_of(line)
            bad += record == {}
            self.known = self.known or (record is not None and is_record(record))
            if record and self.known:
                self.begin(place, record)
                add_record(self, record)
        return bad

    def read_messages(self, session: Record) -> None:
        """Read a session that is one JSON value."""
        for place, message in enumerate(messages_in(session), start=1):
            self.known = True
            self.begin(place, message)
            add_record(self, message)
