"""Messages of chat models: OpenAI's, Anthropic's, LangChain's, and Claude Code's sessions, which hold Anthropic's."""

from collections.abc import Mapping
from typing import Any

from mcp_reflect.transcripts.events import Gathered, as_list, as_record, text_of

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
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            run.called(values.get("name"), values.get("input"), values.get("id"))
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
