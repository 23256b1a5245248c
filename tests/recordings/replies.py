"""What is read of models' replies and of hosts' hooks, what calls may spend, and how secrets are cut in many places."""

import base64
import json
from typing import Any

from mcp_reflect.cli.hosts.hook_events import EVENTS, hook_answer, read_hook
from mcp_reflect.llm.budget import Price, read_limits, read_prices
from mcp_reflect.llm.json_replies import containers, is_closed, read_json, read_object, schema_of
from mcp_reflect.llm.protocol import LLMSettingError, Usage
from mcp_reflect.security.redact import clean_text
from tests.llm.messy import fences, fresh, prose, syntax
from tests.secrets import SECRETS

HOOKED: tuple[dict[str, Any], ...] = (
    {}, {"session_id": "s"}, {"conversation_id": "c", "workspace_roots": ["/w", "/x"]}, {"sessionId": "x" * 201},
    {"session_id": "s", "is_interrupt": True}, {"session_id": "s", "stop_hook_active": True}, {"session_id": " "},
    {"session_id": "s", "cwd": "/w", "tool_name": "Bash", "tool_use_id": "t", "tool_input": '{"command": "ls"}'},
    {"session_id": "s", "tool_input": "[broken", "tool_response": {"stdout": "a", "stderr": "b"}},
    {"session_id": "s", "tool_response": {"error": "bad"}, "tool_input": [1]},
    {"session_id": "s", "error": {"message": "m"}},
    {"session_id": "s", "tool_response": {"error": {"code": 3}}}, {"session_id": "s", "error_message": "e"},
    {"session_id": "s", "tool_output": [{"text": "a"}, {"text": "b"}]},
    {"session_id": "s", "tool_output": [{"text": "a"}, 1]},
    {"session_id": "s", "tool_response": {"llmContent": [{"text": "a"}]}},
    {"session_id": "s", "tool_output": {"output": "o"}},
    {"session_id": "s", "tool_output": {"content": "c", "error": "e"}},
    {"session_id": "s", "source": "clear", "prompt": "p"},
    {"session_id": "s", "source": "startup", "transcript_path": "/t"}, {"session_id": "s", "workspace_roots": []},
    {"session_id": "s", "tool_response": {"stdout": "", "stderr": ""}}, {"session_id": "s", "tool_output": []},
)  # fmt: skip
AMOUNTS = ("", "0", "1", "1.5", "1_000", "1,000", "-1", "nan", "inf", "many", " 7 ", "1e3")
PRICED = (
    "",
    "a:b=1/2",
    "a:b=1/2/3",
    "a:b=1/2/3/4",
    "a:b=1/2/3/4/5",
    "a:b=1",
    "=1/2",
    "a=b:c=0/0",
    "a:b=1/-2",
    "a:b=1/2,, c:d=3/4",
)
SHAPES: tuple[dict[str, Any], ...] = (
    {}, {"a": "string"}, {"a": "number 0..1", "b": ["string"]}, {"a": "number, or null"}, {"a": {}}, {"a": []},
    {"a": [{"b": "integer or null", "c": "boolean"}]}, {"a": "words"}, {"a": "string, one word"},
)  # fmt: skip


def replies() -> dict[str, Any]:
    """The value that is read of each messy reply: whole, in a longer one, twice, and cut."""
    recording: dict[str, Any] = {}
    for case in (*prose.CASES, *fences.CASES, *syntax.CASES, *fresh.CASES):
        text = case.text
        forms = {
            "alone": text,
            "after thoughts": f'<think>{{"draft": 1}}</think>{text}',
            "before an example": f'{text}\n\nFor example:\n```python\nx = {{"a": 1}}\n```',
            "twice": f"{text}\n{text}",
            "cut": text[: 2 * len(text) // 3],
        }
        recording[case.name] = {form: _in_short(read_json(sent)) for form, sent in forms.items()}
        keys = [*case.value] if isinstance(case.value, dict) else ["a"]
        recording[case.name]["object"] = _in_short(read_object(forms["before an example"], keys))
        recording[case.name]["containers"] = len(containers(forms["before an example"]))
    for depth in (4, 5, 59, 60, 61):
        nested = "[" * depth + '{"a": 1}' + "]" * depth
        recording[f"{depth} deep"] = [
            read_json(nested) is not None,
            read_object(nested, {"a"}),
            len(containers(nested)),
        ]
    return recording


def _in_short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:150]}… {len(text)}"


def hooks() -> dict[str, Any]:
    """What is read of each input of a hook at each event, and the form of the answer."""
    recording: dict[str, Any] = {}
    for event in (*EVENTS, "Unknown", None):
        for at, payload in enumerate(HOOKED):
            for sent in (payload, {**payload, "hook_event_name": "PostToolUseFailure"})[: 1 if event else 2]:
                hook = read_hook(event, sent)
                if hook is None:
                    continue
                read = {
                    name: getattr(hook, name)
                    for name in hook.__slots__
                    if name not in ("event", "moment", "answer_key")
                }
                known = {name: value for name, value in read.items() if value not in (None, False)}
                recording[f"{event} {at}"] = [hook.moment.name, known]
                if at == 1:
                    recording[f"{event} answers"] = [hook_answer(hook, "text"), hook_answer(hook, "text", hold=True)]
    return recording


def spending() -> dict[str, Any]:
    """The limits and prices of settings, what tokens cost, and the schemas of replies."""
    recording: dict[str, Any] = {}
    for name in ("TOKENS_PER_CALL", "COST_PER_DAY"):
        for text in AMOUNTS:
            recording[f"{name} {text}"] = _told(
                lambda text=text, name=name: read_limits({f"MCP_REFLECT_LLM_{name}": text})
            )
    for text in PRICED:
        recording[f"price {text}"] = _told(lambda text=text: read_prices({"MCP_REFLECT_LLM_PRICES": text}))
    for price in (Price(3, 15), Price(3, 15, 0.3), Price(3, 15, 0.3, 3.75), Price(0, 0)):
        for used in (
            (0, 0, 0, 0),
            (10, 0, 0, 0),
            (0, 10, 0, 0),
            (1000, 100, 600, 0),
            (1000, 7, 600, 300),
            (5, 0, 10, 0),
        ):
            usage = Usage(input_tokens=used[0], output_tokens=used[1], cache_read=used[2], cache_write=used[3])
            recording[f"{price} {used}"] = round(1_000_000 * price.of(usage), 6)
    for at, shape in enumerate(SHAPES):
        schema = schema_of(shape)
        recording[f"schema {at}"] = [schema, is_closed(schema), is_closed([schema, {"type": "object"}])]
    return recording


def _told(read: Any) -> str:
    try:
        return str(read())
    except LLMSettingError as error:
        return str(error)


def cut_secrets() -> dict[str, Any]:
    """What is left of a secret of each kind: shorter, in a URL, a setting, a command, JSON, base64, another case."""
    recording: dict[str, Any] = {}
    for kind, secret in SECRETS.items():
        forms = {
            **{f"{gone} less": secret[:-gone] for gone in (1, 2, 4, 8, 12, 16, 20, 24, 30) if gone < len(secret) - 4},
            "after a word": f"x{secret}",
            "before a word": f"{secret}x",
            "in lower case": secret.lower(),
            "in a URL": f"https://api.example.com/v1?key={secret}&page=2",
            "in a setting": f"export APP_TOKEN={secret} && make",
            "in a flag": f"curl --header 'X-Api-Key: {secret}' --max-time 5 https://example.com",
            "in JSON": json.dumps({"auth": {"token": secret, "user": "ada"}}),
            "in base64": base64.b64encode(secret.encode()).decode(),
            "backwards": secret[::-1],
            "on two lines": f"{secret[: len(secret) // 2]}\n{secret[len(secret) // 2 :]}",
            "twice": f"{secret} {secret}",
            "in a list": f"- {secret}\n- ada\n",
        }
        cleaned = {form: clean_text(text) for form, text in forms.items()}
        # A recording holds no form that a scanner could take for a real secret.
        recording[kind] = {form: "as it is" if text == forms[form] else text for form, text in cleaned.items()}
    return recording
