"""Any endpoint that speaks OpenAI's chat completions, by plain HTTP: OpenAI, Ollama, vLLM, LM Studio and more."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from mcp_reflect.llm.endpoint import ChatModel, Endpoint, Spec, count, open_endpoint, section
from mcp_reflect.llm.json_replies import is_closed
from mcp_reflect.llm.protocol import LLM, Request, Stop, Usage
from mcp_reflect.models.common import Json

URL = "https://api.openai.com/v1"
KEY_NAME = "OPENAI_API_KEY"
URL_SETTING = "OPENAI_BASE_URL"
_STOPS = {
    "length": Stop.LENGTH,
    "content_filter": Stop.REFUSAL,
    "tool_calls": Stop.TOOL_USE,
    "function_call": Stop.TOOL_USE,
}
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)


def open_llm(spec: Spec, settings: Mapping[str, str]) -> LLM:
    """Return the model of `spec`. Raises `LLMSettingError` for an unusable address or a missing key of OpenAI."""
    return OpenAI(spec.model, open_endpoint(spec, settings, URL, URL_SETTING, (KEY_NAME,), key_name=KEY_NAME))


class OpenAI(ChatModel):
    """One model behind one address. It learns the newer name of the token limit."""

    PATH = "/chat/completions"
    KEY_OF = "choices"
    SCHEMA_WORDS = ("response_format", "json_schema", "structured output", "guided", "grammar")
    STREAM = MappingProxyType({"stream": True, "stream_options": {"include_usage": True}})

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        super().__init__(model, endpoint)
        self._limit_name = "max_completion_tokens" if endpoint.url == URL else "max_tokens"

    def adapts(self, fault: str, schema: Mapping[str, Json] | None) -> bool:
        """True if another form of the request avoids the fault: a schema in words, the newer name of the limit."""
        renamed = self._limit_name == "max_tokens" and "max_completion_tokens" in fault
        self._limit_name = "max_completion_tokens" if renamed else self._limit_name
        return super().adapts(fault, schema) or renamed

    def body(self, request: Request, system: str, user: str, schema: dict[str, Json] | None) -> dict[str, Json]:
        """Return the body of a request, with the schema in its strict form where it leaves no names free."""
        messages: list[Json] = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": user})
        body: dict[str, Json] = {"model": self._model, "messages": messages, self._limit_name: request.max_tokens}
        if schema is not None:
            named: dict[str, Json] = {"name": f"{request.role.value}_reply", "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": {**named, "strict": is_closed(schema)}}
        return body

    def reply(self, answer: Mapping[str, Json]) -> tuple[str, Stop, Usage]:
        """Return the text of the first choice without thoughts at its start, the end, and the tokens."""
        choices = answer.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise self._endpoint.garbled("a body without choices")
        text, refusal = _text(message.get("content")), _text(message.get("refusal"))
        stop = _STOPS.get(str(choice.get("finish_reason")), Stop.END)
        if stop is Stop.END and message.get("tool_calls"):
            stop = Stop.TOOL_USE
        if refusal:
            text, stop = text or refusal, Stop.REFUSAL
        usage = section(answer, "usage")
        cached = count(section(usage, "prompt_tokens_details"), "cached_tokens")
        tokens = Usage(count(usage, "prompt_tokens"), count(usage, "completion_tokens"), cached)
        return _THOUGHT.sub("", text), stop, tokens


def _text(content: Json) -> str:
    """Return the words of a message, which are a string or a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
