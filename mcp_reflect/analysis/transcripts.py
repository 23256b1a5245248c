"""Runs from the files that agents leave behind.

Read are the arguments of `reflect` themselves, sessions of Claude Code, Codex, Gemini CLI, SWE-agent and pi, and
message lists (OpenAI, Anthropic, LangChain).
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.models.common import unpacked
from mcp_reflect.signature import digest

Record = Mapping[str, Any]

MOST_EVENTS: Final = 1_000  # of one run; a longer session is several, cut where the person said something
MOST_CHARS: Final = 800_000  # of one run; an event counts as a fortieth at most, for a longer text is cut
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
        event: dict[str, Any] = {"type": "tool_call", "tool": name, "arguments": unpacked(arguments)}
        if isinstance(call_id, str) and call_id:
            self._tools[call_id] = name
            event["metadata"] = {"tool_call_id": call_id}
        self.events.append(event)

    def answered(self, content: str, call_id: object = None, *, failed: bool = False, exit_code: object = None) -> None:
        """Add the answer of a call; `failed` where the record itself marks it as an error."""
        event: dict[str, Any] = {"type": "tool_response", "content": content or "(empty)"}
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
            sizes = accumulate(min(len(str(event)), MOST_CHARS // 40) for event in rest[:MOST_EVENTS])
            most = max(1, sum(size <= MOST_CHARS for size in sizes))
            said = [at for at, event in enumerate(rest[:most]) if event["type"] == "user_feedback"]
            cut = said[-1] if len(rest) > most and said and said[-1] >= most // 2 else most
            part, rest = rest[:cut], rest[cut:]
            if any(event["type"] == "tool_call" for event in part):
                asked = next((event["content"] for event in part if event["type"] == "user_feedback"), None)
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
    for place, run in _runs(numbered, transcript.bad):
        prefix = f"{place}, " if place else ""
        if not isinstance(run, RunBuilder):
            transcript.runs.append((prefix, dict(run)))
            continue
        for part in run.runs(outcome):  # an id of session and content, so that the same one is known again
            content = json.dumps(part, sort_keys=True, ensure_ascii=False, default=str)
            name = (session or run.session or "transcript")[:150]
            transcript.runs.append((prefix, {**part, "run_id": f"{name}#{digest(content)}"}))
    return transcript


def _records(text: str, bad: list[str]) -> list[tuple[str, Record]]:
    """The JSON objects of a text, or of its lines, by their places; what is none is named in `bad`."""
    values: list[tuple[str, object]] = []
    try:
        whole = json.loads(text)
        values = [(f"item {number}", item) for number, item in enumerate(as_list(whole), start=1)] or [("", whole)]
    except (ValueError, RecursionError):
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                values += [(f"line {number}", json.loads(line))] if line.strip() else []
            except (ValueError, RecursionError) as error:
                bad.append(f"line {number}: it is not JSON: {str(error)[:80]}")
    fault = "it is not a JSON object"
    bad += [f"{place}: {fault}" if place else fault for place, value in values if not isinstance(value, dict)]
    numbered = [(place, as_record(value)) for place, value in values if value == {} or as_record(value)]
    if not numbered:
        fix = "Give reflect's arguments, a session of Claude Code or Codex, or messages."
        raise InputError("file", bad[0] if bad else "it is empty", fix)
    return numbered


def _runs(numbered: Sequence[tuple[str, Record]], bad: list[str]) -> Iterator[tuple[str, RunBuilder | Record]]:
    """The runs in the form of the first records, by their places; the arguments of `reflect` as they are."""
    form = next(filter(None, (reader_of(record) for _, record in numbered[:50])), None)
    if len(numbered) == 1 and (run := _session(numbered[0][1])):
        yield "", run
    elif form is not None:
        run = RunBuilder()
        for place, record in numbered:
            if "type" in record or "role" in record:
                form(run, record)
            else:
                bad.append(f"{place}: it is no record of this form")
        yield "", run
    elif any("messages" in record for _, record in numbered):  # one conversation a record
        for place, record in numbered:
            run = RunBuilder()
            for message in as_records(record.get("messages")):
                add_message(run, message)
            bad += [] if run.events else [f"{place}: it holds no messages"]
            yield place, run
    elif bad:
        place, _, fault = bad[0].partition(": ")
        raise InputError(place, fault, "Give one JSON object a line.")
    else:
        yield from numbered


def reader_of(record: Record) -> Callable[[RunBuilder, Record], None] | None:
    """The function that adds a record of this form to a run; None for no record of a conversation."""
    kind, payload, message = record.get("type"), record.get("payload"), record.get("message")
    if kind in _LINES and isinstance(payload, dict):
        return add_codex_line
    if "type" in record and not {"sessionId", "uuid", "leafUuid"}.isdisjoint(record):
        return add_claude_line
    if kind == "session" or (kind == "message" and as_record(message)):
        return add_pi_line
    if kind in _CALLS | _OUTPUTS or kind == "reasoning" or (kind == "message" and "role" in record):
        return add_item
    return add_message if isinstance(record.get("role"), str) or _from_langchain(record) else None


# Messages of OpenAI, Anthropic, LangChain and pi; sessions of Claude Code, which hold Anthropic's.

_LANGCHAIN: Final = {
    "human": "user", "ai": "assistant", "system": "system", "tool": "tool", "AIMessageChunk": "assistant",
    "HumanMessage": "user", "AIMessage": "assistant", "SystemMessage": "system", "ToolMessage": "tool",
}  # fmt: skip


def add_claude_line(run: RunBuilder, record: Record) -> None:
    """Add a line of a Claude Code session; lines outside the conversation are skipped."""
    session = record.get("sessionId")
    if run.session is None and isinstance(session, str):
        run.session = session
    message = as_record(record.get("message"))
    if record.get("type") in ("user", "assistant") and message and not record.get("isMeta"):
        add_message(run, message)


def add_pi_line(run: RunBuilder, record: Record) -> None:
    """Add a line of a session of pi."""
    if record.get("type") == "session" and isinstance(record.get("id"), str):
        run.session = record["id"]
    add_message(run, as_record(record.get("message")))


def add_message(run: RunBuilder, record: Record) -> None:
    """Add a message, with the calls and answers in it."""
    values = _from_langchain(record) or record
    role, content = values.get("role"), values.get("content")
    if role in ("tool", "function", "toolResult"):
        failed = values.get("status") == "error" or True in (values.get("is_error"), values.get("isError"))
        run.answered(text_of(content), values.get("tool_call_id", values.get("toolCallId")), failed=failed)
        return
    for block in as_list(content) or [content]:
        _add_block(run, role, block)
    for call in as_records(values.get("tool_calls")):
        inner = as_record(call.get("function")) or call
        run.called(inner.get("name"), inner.get("arguments", inner.get("args")), call.get("id"))


def _add_block(run: RunBuilder, role: object, block: object) -> None:
    """Add a part of a message: text, a call, the answer of a call. A system prompt is no event of the run."""
    values = as_record(block)
    match values.get("type"):
        case "tool_use" | "server_tool_use" | "mcp_tool_use" | "toolCall" | "tool_call":
            run.called(values.get("name"), values.get("input", values.get("arguments")), values.get("id"))
        case "tool_result" | "mcp_tool_result":
            failed = values.get("is_error") is True
            run.answered(text_of(values.get("content")), values.get("tool_use_id"), failed=failed)
        case "thinking" | "redacted_thinking" | "image" | "image_url":
            pass
        case _ if role == "user":
            run.asked(text_of(block))
        case _ if role == "assistant":
            run.told(text_of(block))
        case _:
            pass


def _from_langchain(record: Record) -> Record | None:
    """A LangChain message with a role, from any of its three forms; None for another record."""
    kind, inner = record.get("type"), record
    if kind == "constructor" and as_list(record.get("id")):
        kind = str(as_list(record["id"])[-1]).removesuffix("Chunk")
        inner = as_record(record.get("kwargs"))
    elif kind in _LANGCHAIN and as_record(record.get("data")):
        inner = as_record(record["data"])
    return {**inner, "role": _LANGCHAIN[kind]} if kind in _LANGCHAIN and "content" in inner else None


# Sessions of Codex (rollouts) and the items of OpenAI's Responses API in them.

_LINES: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUTS: Final = frozenset({f"{kind}_output" for kind in _CALLS})
# The lines before the output of a command.
_EXEC_HEAD: Final = re.compile(
    r"(?:(?:Chunk ID|Wall time|Original token count|Total output lines): .*\n"
    r"|(?:Exit code:|Process exited with code) (-?\d+)\n){1,6}Output:\n"
)


def add_codex_line(run: RunBuilder, record: Record) -> None:
    """Add a line of a Codex session; the display log repeats the items and is skipped."""
    payload = as_record(record.get("payload"))
    if record["type"] == "session_meta" and isinstance(payload.get("id"), str):
        run.session = payload["id"]
    elif record["type"] == "response_item":
        add_item(run, payload)


def add_item(run: RunBuilder, item: Record) -> None:
    """Add a message, a call or its output."""
    kind, call_id = item.get("type"), item.get("call_id")
    if kind == "message":
        _add_block(run, item.get("role"), item.get("content"))
    elif kind == "local_shell_call":
        run.called("shell", {"command": as_record(item.get("action")).get("command")}, call_id)
    elif kind in _CALLS:
        run.called(item.get("name"), item.get("arguments", item.get("input")), call_id)
    elif kind in _OUTPUTS:  # text, or JSON with the text and how the program ended
        values = as_record(unpacked(item.get("output")))
        code = as_record(values.get("metadata")).get("exit_code", values.get("exit_code"))
        text = text_of(values.get("output", values.get("content")) if values else item.get("output"))
        if head := _EXEC_HEAD.match(text):
            code, text = (int(head[1]) if head[1] else code), text[head.end() :]
        run.answered(text, call_id, failed=values.get("success") is False, exit_code=code)


# Sessions in one JSON value: SWE-agent and Gemini CLI.

# Commands that SWE-agent itself provides; anything else runs in its shell.
_SWE_TOOLS: Final = frozenset(
    (
        *("open", "goto", "scroll_up", "scroll_down", "create", "edit", "insert", "submit", "exit_cost"),
        *("search_dir", "search_file", "find_file", "str_replace_editor", "view_image", "filemap"),
    )
)


def _session(whole: Record) -> RunBuilder | None:
    steps, messages = as_records(whole.get("trajectory")), as_records(whole.get("messages"))
    if steps and all("action" in step and "observation" in step for step in steps):
        return _swe_agent(steps, as_records(whole.get("history")))
    if any(message.get("type") == "gemini" for message in messages):
        return _gemini(str(whole.get("sessionId") or "") or None, messages)
    return None


def _swe_agent(steps: Sequence[Record], history: Sequence[Record]) -> RunBuilder:
    run = RunBuilder()
    tasks = [item for item in history if item.get("role") == "user" and not item.get("is_demo")]
    run.asked(text_of(tasks[0].get("content")) if tasks else "")
    for step in steps:
        run.told(str(step.get("thought") or ""))
        action = str(step.get("action") or "").strip()
        tool = action.split(maxsplit=1)[0] if action else "bash"
        run.called(tool if tool in _SWE_TOOLS else "bash", {"command": action})
        run.answered(text_of(step.get("observation")))
    return run


def _gemini(session: str | None, messages: Sequence[Record]) -> RunBuilder:
    run = RunBuilder(session=session)
    for message in messages:
        text = text_of(message.get("content"))
        if message.get("type") == "user":
            run.asked(text)
            continue
        run.told(text)
        for call in as_records(message.get("toolCalls")):
            run.called(call.get("name"), call.get("args"), call.get("id"))
            parts = [as_record(part.get("functionResponse")) for part in as_records(call.get("result"))]
            values = as_record(parts[0].get("response") if parts else None)
            answer = text_of(values.get("output", values.get("error"))) or text_of(call.get("resultDisplay"))
            failed = call.get("status") in ("error", "cancelled") or "error" in values
            run.answered(answer, call.get("id"), failed=failed)
    return run
