"""The two APIs as a server speaks them, so that one suite can play every provider against them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mcp_reflect.llm.protocol import LLM
from mcp_reflect.llm.providers import Endpoint
from mcp_reflect.llm.sdk import Anthropic, OpenAIModel
from mcp_reflect.models.common import Json
from tests.llm.loopback import Answer, Received

KEY = "0123456789abcdefNoKeyHasThisShape"

Say = Callable[[str, str], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one provider is opened, and how its server says things.

    `stops` are the words for the ends of a reply: end, length, refusal, tool_use. `say` makes a reply of
    a text and one of these words (11 tokens read, 7 written), `stream` one of pieces and a word that is
    streamed, without an end where the word is empty, `tool_call` one that calls a tool, `fail`
    the body of an error.
    """

    name: str
    path: str
    key_name: str
    stops: Mapping[str, str]
    say: Say
    stream: Callable[..., Answer]
    tool_call: Answer
    fail: Callable[[str, str], Json]
    schema_of: Callable[[Received], Json]
    system_of: Callable[[Received], str]
    user_of: Callable[[Received], str]
    schema_fault: str

    def open(self, url: str) -> LLM:
        """The provider, for a server at `url`; it asks once."""
        endpoint = Endpoint(f"{self.name}:test-model", url, KEY, self.key_name, retries=0)
        return {"anthropic": Anthropic, "openai": OpenAIModel}[self.name]("test-model", endpoint)


def _say_anthropic(text: str, stop: str) -> Answer:
    return _anthropic([{"type": "text", "text": text}] if text else [], stop)


def _anthropic(content: list[Json], stop: str) -> Answer:
    usage: Json = {
        "input_tokens": 4,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 2,
        "output_tokens": 7,
    }
    message: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": "test-model"}
    assert isinstance(message, dict)
    return Answer(
        body={
            **message,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
    )


def _say_openai(text: str, stop: str) -> Answer:
    return _openai({"role": "assistant", "content": text or None}, stop)


def _openai(message: Json, stop: str) -> Answer:
    details: Json = {"cached_tokens": 5}
    usage: Json = {
        "prompt_tokens": 11,
        "completion_tokens": 7,
        "total_tokens": 18,
        "prompt_tokens_details": details,
    }
    choice: Json = {"index": 0, "message": message, "finish_reason": stop}
    return Answer(
        body={"id": "c1", "object": "chat.completion", "choices": [choice], "usage": usage}
    )


def events(*events: Json) -> Answer:
    """Server-sent events, with what else a stream may hold."""
    data = b""
    for event in events:
        kind = event.get("type") if isinstance(event, dict) else None
        data += f"event: {kind}\r\n".encode() if isinstance(kind, str) else b""
        data += b"data: %s\r\n\r\n" % json.dumps(event).encode()
    return Answer(
        body=b": a comment\n\n" + data + b"data: [DONE]\n\n",
        headers={"content-type": "text/event-stream"},
    )


def _stream_anthropic(*pieces: str, stop: str) -> Answer:
    counts: Json = {
        "input_tokens": 4,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 2,
        "output_tokens": 1,
    }
    message: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": counts,
    }
    told: list[Json] = [
        {"type": "message_start", "message": message},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "Hm"},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    ]
    for piece in pieces:
        delta: Json = {"type": "text_delta", "text": piece}
        told.append({"type": "content_block_delta", "index": 1, "delta": delta})
    if stop:
        told.append({"type": "content_block_stop", "index": 1})
        told.append(
            {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 7}}
        )
        told.append({"type": "message_stop"})
    return events(*told)


def _stream_openai(*pieces: str, stop: str, name: str = "content") -> Answer:
    details: Json = {"cached_tokens": 5}
    usage: Json = {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": details}
    deltas: list[Json] = [
        {"role": "assistant", "content": ""},
        *({name: piece} for piece in pieces),
    ]
    chunks: list[Json] = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    end: list[Json] = [[{"index": 0, "delta": {}, "finish_reason": stop}], []] if stop else []
    kind = "chat.completion.chunk"
    return events(
        *(
            {"object": kind, "choices": choices, "usage": usage if not choices else None}
            for choices in [*chunks, *end]
        )
    )


REFUSED = _stream_openai("I can", "not", stop="stop", name="refusal")


def at(value: Json, *path: str | int) -> Json:
    """What stands under a path of names and positions in JSON; null where the path ends early."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


ANTHROPIC = Dialect(
    name="anthropic",
    path="/v1/messages",
    key_name="ANTHROPIC_API_KEY",
    stops={"end": "end_turn", "length": "max_tokens", "refusal": "refusal", "tool_use": "tool_use"},
    say=_say_anthropic,
    stream=_stream_anthropic,
    tool_call=_anthropic(
        [{"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "x"}}], "tool_use"
    ),
    fail=lambda kind, message: {"type": "error", "error": {"type": kind, "message": message}},
    schema_of=lambda received: at(received.body, "output_config", "format", "schema"),
    system_of=lambda received: str(at(received.body, "system", 0, "text")),
    user_of=lambda received: str(at(received.body, "messages", 0, "content")),
    schema_fault="output_config: this model does not support structured outputs",
)

OPENAI = Dialect(
    name="openai",
    path="/chat/completions",
    key_name="OPENAI_API_KEY",
    stops={
        "end": "stop",
        "length": "length",
        "refusal": "content_filter",
        "tool_use": "tool_calls",
    },
    say=_say_openai,
    stream=_stream_openai,
    tool_call=_openai(
        {"role": "assistant", "content": None, "tool_calls": [{"id": "t1"}]}, "tool_calls"
    ),
    fail=lambda kind, message: {"error": {"message": message, "type": kind, "code": kind}},
    schema_of=lambda received: at(received.body, "response_format", "json_schema", "schema"),
    system_of=lambda received: str(at(received.body, "messages", 0, "content")),
    user_of=lambda received: str(at(received.body, "messages", 1, "content")),
    schema_fault="This response_format type is unavailable now",
)

DIALECTS = (ANTHROPIC, OPENAI)
