"""Records of transcripts as events: chat messages, Codex rollouts, ReAct text."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

# A run as it is gathered from records: the arguments of `reflect`, in the order in which things happened.


MOST_EVENTS: Final = 1_000  # of one run; a longer session is several, cut where the person said something
MOST_TASK: Final = 2_000  # characters of what was asked that name the run
_HOST_WORDS: Final = re.compile(
    r"\s*<(?:command-|local-command|system-reminder|environment_context|user_instructions|permissions|task-notification)"
)


@dataclass(slots=True)
class Gathered:
    """What one conversation holds so far. A person's first words are the task."""

    session: str | None = None
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _tools: dict[str, str] = field(default_factory=dict[str, str])

    def asked(self, text: str) -> None:
        """A person's words; what a host puts into their mouth is left out."""
        if text.strip() and not _HOST_WORDS.match(text):
            self.events.append({"type": "user_feedback", "content": text})

    def told(self, text: str) -> None:
        """The agent's words."""
        if text.strip():
            self.events.append({"type": "llm_call", "content": text})

    def called(self, tool: object, arguments: object, call_id: object = None) -> None:
        """A call. Arguments that are JSON in a text are taken out of it."""
        name = tool if isinstance(tool, str) and tool.strip() else "tool"
        event: dict[str, Any] = {"type": "tool_call", "tool": name, "arguments": unpacked(arguments)}
        if isinstance(call_id, str) and call_id:
            self._tools[call_id] = name
            event["metadata"] = {"tool_call_id": call_id}
        self.events.append(event)

    def answered(
        self, content: str, call_id: object = None, *, error: str | None = None, exit_code: object = None
    ) -> None:
        """What came of a call; `error` where the record itself calls it one."""
        event: dict[str, Any] = {"type": "tool_response", "content": content or "(empty)"}
        facts: dict[str, Any] = {}
        if isinstance(call_id, str) and call_id:
            facts["tool_call_id"] = call_id
            if call_id in self._tools:
                event["tool"] = self._tools[call_id]
        if isinstance(exit_code, int) and not isinstance(exit_code, bool):
            facts["exit_code"] = exit_code
        if error is not None:
            event["error"] = error or "error"
        if facts:
            event["metadata"] = facts
        self.events.append(event)

    def runs(self, outcome: str) -> Iterator[dict[str, Any]]:
        """The arguments of `reflect` for each part of at most MOST_EVENTS events that holds a call."""
        for part in _parts(self.events):
            if any(event["type"] == "tool_call" for event in part):
                asked = next((event["content"] for event in part if event["type"] == "user_feedback"), None)
                task = " ".join((asked or "A run without a task in its record").split())[:MOST_TASK]
                yield {"task": task, "outcome": outcome, "events": part}


def as_record(value: object) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> Sequence[Any]:
    """The value where it is a list, else an empty one."""
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def unpacked(value: object) -> Any:
    """JSON out of a text, where it is an object or a list; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def text_of(content: object) -> str:
    """The text of a message's content: a string, or its parts that hold text."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        values = cast("dict[str, Any]", content)
        inner = values.get("text", values.get("content"))
        return text_of(inner) if inner is not None else ""
    if isinstance(content, list):
        return "\n".join(filter(None, (text_of(part) for part in cast("list[object]", content))))
    return ""


def _parts(events: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The events in parts of at most MOST_EVENTS, cut before what a person said where that is in the later half."""
    rest = events
    while len(rest) > MOST_EVENTS:
        marks = [at for at in range(MOST_EVENTS // 2, MOST_EVENTS) if rest[at]["type"] == "user_feedback"]
        cut = marks[-1] if marks else MOST_EVENTS
        yield rest[:cut]
        rest = rest[cut:]
    if rest:
        yield rest


# Messages of chat models: OpenAI's, Anthropic's, LangChain's, and Claude Code's sessions, which hold Anthropic's.


Record = Mapping[str, Any]
_LANGCHAIN = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "AIMessageChunk": "assistant"}
_CLASSES = {"HumanMessage": "human", "AIMessage": "ai", "SystemMessage": "system", "ToolMessage": "tool"}


def is_message(record: Record) -> bool:
    """Whether a record is a message of one of these forms."""
    return isinstance(record.get("role"), str) or _from_langchain(record) is not None


def is_claude_line(record: Record) -> bool:
    """Whether a record is a line of a Claude Code session."""
    return "type" in record and ("sessionId" in record or "uuid" in record or "leafUuid" in record)


def add_claude_line(run: Gathered, record: Record) -> None:
    """A line of a Claude Code session; what is not part of the conversation is passed over."""
    session = record.get("sessionId")
    if run.session is None and isinstance(session, str):
        run.session = session
    message = as_record(record.get("message"))
    if record.get("type") in ("user", "assistant") and message and not record.get("isMeta"):
        add_message(run, message)


def add_message(run: Gathered, record: Record) -> None:
    """One message, with the calls and answers in it."""
    values = _from_langchain(record) or record
    role, content = values.get("role"), values.get("content")
    if role in ("tool", "function"):
        failed = values.get("status") == "error" or values.get("is_error") is True
        text = text_of(content)
        run.answered(text, values.get("tool_call_id"), error=text if failed else None)
        return
    for block in as_list(content) or [content]:
        _add_block(run, str(role), block)
    for call in _calls(values):
        run.called(*call)


def _add_block(run: Gathered, role: str, block: object) -> None:
    """A part of a message: text, a call, the answer of a call."""
    values = as_record(block)
    match values.get("type"):
        case "tool_use" | "server_tool_use" | "mcp_tool_use" | "toolCall":
            run.called(values.get("name"), values.get("input", values.get("arguments")), values.get("id"))
        case "tool_result" | "mcp_tool_result":
            text = text_of(values.get("content"))
            run.answered(text, values.get("tool_use_id"), error=text if values.get("is_error") is True else None)
        case "thinking" | "redacted_thinking" | "image" | "image_url":
            pass
        case _ if role == "user":
            run.asked(text_of(block))
        case _ if role == "assistant":
            run.told(text_of(block))
        case _:
            pass  # a system prompt is no event of the run


def _calls(values: Record) -> list[tuple[object, object, object]]:
    """The calls that stand beside the content: OpenAI's tool_calls and function_call, LangChain's tool_calls."""
    found: list[tuple[object, object, object]] = []
    for item in as_list(values.get("tool_calls")):
        call = as_record(item)
        inner = as_record(call.get("function")) or call
        found.append((inner.get("name"), inner.get("arguments", inner.get("args")), call.get("id")))
    call = as_record(values.get("function_call"))
    if call:
        found.append((call.get("name"), call.get("arguments"), None))
    return found


def _from_langchain(record: Record) -> Record | None:
    """A LangChain message with a role, in any of the three ways in which they are written; null for another record."""
    kind, inner = record.get("type"), record
    if kind == "constructor" and as_list(record.get("id")):
        kind = _CLASSES.get(str(as_list(record["id"])[-1]).removesuffix("Chunk"))
        inner = as_record(record.get("kwargs"))
    elif kind in _LANGCHAIN and as_record(record.get("data")):
        inner = as_record(record["data"])
    return {**inner, "role": _LANGCHAIN[kind]} if kind in _LANGCHAIN and "content" in inner else None


# Codex's session files (rollouts) and the items of OpenAI's Responses API that they hold.


_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_ITEMS = frozenset(
    {
        *("function_call", "function_call_output", "local_shell_call", "local_shell_call_output"),
        *("custom_tool_call", "custom_tool_call_output", "reasoning"),
    }
)


# What Codex prints before the output of a command.
_EXEC_HEAD = re.compile(
    r"(?:(?:Chunk ID|Wall time|Original token count|Total output lines): .*\n"
    r"|(?:Exit code:|Process exited with code) (-?\d+)\n){1,6}Output:\n"
)


def is_codex_line(record: Record) -> bool:
    """Whether a record is a line of a Codex session."""
    return record.get("type") in _LINES and isinstance(record.get("payload"), dict)


def is_item(record: Record) -> bool:
    """Whether a record is an item of the Responses API."""
    return record.get("type") in _ITEMS or (record.get("type") == "message" and "role" in record)


def add_codex_line(run: Gathered, record: Record) -> None:
    """A line of a Codex session; the display log repeats what the items say and is passed over."""
    payload = as_record(record["payload"])
    if record["type"] == "session_meta" and isinstance(payload.get("id"), str):
        run.session = payload["id"]
    elif record["type"] == "response_item":
        add_item(run, payload)


def add_item(run: Gathered, item: Record) -> None:
    """A message, a call or its output."""
    match item.get("type"):
        case "message":
            text = text_of(item.get("content"))
            if item.get("role") == "user":
                run.asked(text)
            elif item.get("role") == "assistant":
                run.told(text)
        case "function_call":
            run.called(item.get("name"), item.get("arguments"), item.get("call_id"))
        case "custom_tool_call":
            run.called(item.get("name"), item.get("input"), item.get("call_id"))
        case "local_shell_call":
            run.called("shell", {"command": as_record(item.get("action")).get("command")}, item.get("call_id"))
        case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
            _add_output(run, item)
        case _:
            pass


def _add_output(run: Gathered, item: Record) -> None:
    """An output: text, or JSON with the text and how the program ended."""
    values = as_record(unpacked(item.get("output")))
    code = as_record(values.get("metadata")).get("exit_code", values.get("exit_code"))
    text = text_of(values.get("output", values.get("content"))) if values else text_of(item.get("output"))
    head = _EXEC_HEAD.match(text)
    if head:
        code, text = (int(head[1]) if head[1] else code), text[head.end() :]
    failed = values.get("success") is False
    run.answered(text, item.get("call_id"), error=text if failed else None, exit_code=code)


# ReAct text: Question, ModelResult, Action (with Action Input, or `Search[x]`) and Observation, line by line.


_LABEL: Final = re.compile(
    r"(?im)^[ \t]{0,8}(question|task|thought|action input|action|observation|final answer)[ \t]{0,3}\d{0,4}[ \t]{0,3}:"
)
_BRACKETS: Final = re.compile(r"(?s)\s*([A-Za-z][\w.-]{0,60})\[(.{0,4000})\]\s*")
_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,60}")


def is_react(text: str) -> bool:
    """Whether a text has an action and what was observed."""
    labels = {match[1].lower() for match in _LABEL.finditer(text[:200_000])}
    return {"action", "observation"} <= labels


def runs_in(text: str) -> Iterator[Gathered]:
    """A run for each question; text before the first label is passed over."""
    run = Gathered()
    marks = list(_LABEL.finditer(text))
    waiting: str | None = None
    for place, mark in enumerate(marks):
        end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
        label, content = mark[1].lower(), text[mark.end() : end].strip()
        if waiting is not None and label != "action input":
            _act(run, waiting, None)
            waiting = None
        match label:
            case "question" | "task":
                if run.events:
                    yield run
                    run = Gathered()
                run.asked(content)
            case "thought" | "final answer":
                run.told(content)
            case "action":
                waiting = content
            case "action input":
                _act(run, waiting or "tool", content)
                waiting = None
            case _:
                run.answered(content)
    if waiting is not None:
        _act(run, waiting, None)
    if run.events:
        yield run


def _act(run: Gathered, action: str, given: str | None) -> None:
    match = _BRACKETS.fullmatch(action)
    if given is None and match:
        run.called(match[1], {"query": match[2]})
    elif _NAME.fullmatch(action):
        run.called(action, unpacked(given) if given is not None else None)
    else:
        run.called("action", action if given is None else f"{action} {given}")
