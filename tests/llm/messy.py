# ruff: noqa: E501 - a reply is easier to read unbroken
"""Replies as language models write them, each with the object that a careful person would read in it."""

from typing import NamedTuple

from mcp_reflect.models.common import Json


class Case(NamedTuple):
    """A reply, and the object in it."""

    name: str
    text: str
    value: dict[str, Json]


CASES = [
    Case(
        "plain_after_a_sentence",
        'Sure! Here is the analysis: {"reflection": "ok", "n": 1}',
        {"reflection": "ok", "n": 1},
    ),
    Case(
        "placeholder_before",
        'I filled the {placeholder} field:\n\n{"field": "value", "ok": true}',
        {"field": "value", "ok": True},
    ),
    Case(
        "placeholder_after",
        '{"greeting": "Hello {name}", "lang": "en"}\n\nReplace {name} before use.',
        {"greeting": "Hello {name}", "lang": "en"},
    ),
    Case(
        "apostrophe_before",
        "Here's what I'd suggest: {'tool': 'search', 'args': {'q': \"it's\"}}",
        {"tool": "search", "args": {"q": "it's"}},
    ),
    Case(
        "function_body_before",
        'function f() { return true; }\n\nOutput:\n{"value": true, "line": 1}',
        {"value": True, "line": 1},
    ),
    Case("empty_then_real", 'Before: {} After: {"k": "v"}', {"k": "v"}),
    Case(
        "cut_off_after_prose",
        'Here is the object you asked for:\n{"reflection": "The call timed out", "tags": ["timeout", "net',
        {"reflection": "The call timed out", "tags": ["timeout", "net"]},
    ),
    Case("fence_cut_off", '```json\n{"a": 1, "b": ["x", "y', {"a": 1, "b": ["x", "y"]}),
    Case(
        "fence_inside_a_string",
        '```json\n{"code": "```python\\nprint(1)\\n```", "ok": true}\n```',
        {"code": "```python\nprint(1)\n```", "ok": True},
    ),
    Case(
        "raw_fence_inside_a_string",
        '{"code": "```python\nprint({1: 2})\n```", "ok": true}',
        {"code": "```python\nprint({1: 2})\n```", "ok": True},
    ),
    Case(
        "raw_newlines_in_a_string",
        'Here:\n```json\n{"text": "# Title\n\n1. one\n2. two", "n": 2}\n```',
        {"text": "# Title\n\n1. one\n2. two", "n": 2},
    ),
    Case(
        "python_fence_then_json_fence",
        'Run:\n```python\nd = {"x": [1, 2]}\nprint(d)\n```\nOutput:\n```json\n{"x": [1, 2], "ok": true}\n```',
        {"x": [1, 2], "ok": True},
    ),
    Case(
        "json_fence_then_python_fence",
        '```json\n{"x": 1}\n```\nand to use it:\n```python\njson.loads(s)["x"] == {"y": 2}\n```',
        {"x": 1},
    ),
    Case(
        "fence_beats_prose_object",
        'I would not use {"a": 0}.\n```json\n{"a": 1}\n```\nSee [1].',
        {"a": 1},
    ),
    Case("fence_within_a_fence", '````markdown\n# Report\n```json\n{"a": 1}\n```\n````', {"a": 1}),
    Case("thinking_then_object", '<think>Maybe {"a": 0}? No.</think>\n{"a": 1}', {"a": 1}),
    Case("thinking_without_start", 'I should return {"a": 0} or so.\n</think>\n{"a": 1}', {"a": 1}),
    Case("thinking_never_closed", '<think>The answer is {"a": 1}', {"a": 1}),
    Case(
        "think_tag_in_a_string",
        '{"text": "use <think>x</think> tags", "n": 1}',
        {"text": "use <think>x</think> tags", "n": 1},
    ),
    Case(
        "long_reply_with_a_quoted_error",
        'Looking at the trace, the agent called `get_user` twice.\n\n{"reflection": "The agent ignored the error "user not found" and retried", "strategy": "Check the id first, then call "get_user" once", "importance": 0.8}\n\nI hope this is useful; the key point is {id} handling.',
        {
            "reflection": 'The agent ignored the error "user not found" and retried',
            "strategy": 'Check the id first, then call "get_user" once',
            "importance": 0.8,
        },
    ),
    Case(
        "json_in_a_string_unescaped",
        '{"cmd": "curl -d \'{"a": 1}\' http://x", "n": 1}',
        {"cmd": "curl -d '{\"a\": 1}' http://x", "n": 1},
    ),
    Case(
        "headless", '"reflection": "x", "importance": 0.5}', {"reflection": "x", "importance": 0.5}
    ),
    Case(
        "missing_closing_braces_then_prose",
        '{"a": {"b": [1, 2], "c": "d"}\n\nLet me know if this works.',
        {"a": {"b": [1, 2], "c": "d"}},
    ),
    Case(
        "string_with_brace",
        '{"a": "x } y", "b": "{", "c": ["]"]}',
        {"a": "x } y", "b": "{", "c": ["]"]},
    ),
    Case(
        "quoted_list_in_prose_after",
        "{\"steps\": 12, \"ok\": true}\n\nCould not find [tea]. Similar: ['Tea', 'Tea (meal)']",
        {"steps": 12, "ok": True},
    ),
    Case(
        "cut_in_nesting",
        '{"a": [{"b": 1}, {"b": 2, "c": {"d": "e"',
        {"a": [{"b": 1}, {"b": 2, "c": {"d": "e"}}]},
    ),
    Case("string_of_json", '"{\\"a\\": 1, \\"b\\": [2]}"', {"a": 1, "b": [2]}),
    Case("byte_order_mark", '\ufeff{"a": 1}', {"a": 1}),
]
