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
        "citations_around",
        'As shown in [1] and [2], the verdict is {"verdict": "pass", "score": 0.9} (see also [3]).',
        {"verdict": "pass", "score": 0.9},
    ),
    Case(
        "markdown_link_before",
        'See [the docs](https://example.org/a{b}) for details.\n{"page": 3, "title": "x"}',
        {"page": 3, "title": "x"},
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
    Case(
        "latex_before",
        r'We have $\frac{a}{b}$ and \text{so}: {"ratio": "a/b", "ok": true}',
        {"ratio": "a/b", "ok": True},
    ),
    Case(
        "template_literal_before",
        'Use `${user.name}` there.\n\n{"fixed": true, "file": "a.ts"}',
        {"fixed": True, "file": "a.ts"},
    ),
    Case(
        "log_lines_before",
        '[2024-05-01 10:00:00] INFO start\n[2024-05-01 10:00:01] ERROR failed\n{"error": "failed", "line": 2}',
        {"error": "failed", "line": 2},
    ),
    Case("xml_wrapper", '<answer>{"choice": "B", "why": "x < y"}</answer>', {"choice": "B", "why": "x < y"}),
    Case(
        "trailing_comma_and_prose",
        'Here: {"a": [1, 2, 3,], "b": {"c": 1,},}\nHope this helps.',
        {"a": [1, 2, 3], "b": {"c": 1}},
    ),
    Case("json_fence", 'Here:\n```json\n{"a": 1}\n```\nDone.', {"a": 1}),
    Case("fence_never_closed", 'Result:\n```json\n{"a": 1, "b": [1, 2]}\n', {"a": 1, "b": [1, 2]}),
    Case("fence_cut_off", '```json\n{"a": 1, "b": ["x", "y', {"a": 1, "b": ["x", "y"]}),
    Case("fence_on_one_line", 'Use ```json {"a": 1} ``` please.', {"a": 1}),
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
    Case("fence_beats_prose_object", 'I would not use {"a": 0}.\n```json\n{"a": 1}\n```\nSee [1].', {"a": 1}),
    Case("fence_within_a_fence", '````markdown\n# Report\n```json\n{"a": 1}\n```\n````', {"a": 1}),
    Case("thinking_then_object", '<think>Maybe {"a": 0}? No.</think>\n{"a": 1}', {"a": 1}),
    Case(
        "thinking_with_fence",
        '<thinking>\n```json\n{"draft": true}\n```\n</thinking>\n\n```json\n{"final": true}\n```',
        {"final": True},
    ),
    Case("thinking_without_start", 'I should return {"a": 0} or so.\n</think>\n{"a": 1}', {"a": 1}),
    Case("thinking_never_closed", '<think>The answer is {"a": 1}', {"a": 1}),
    Case(
        "think_tag_in_a_string",
        '{"text": "use <think>x</think> tags", "n": 1}',
        {"text": "use <think>x</think> tags", "n": 1},
    ),
    Case("quoted_block", '> {"a": 1,\n>  "b": 2}\n', {"a": 1, "b": 2}),
    Case(
        "shell_fence_then_object",
        '```bash\nfor i in {1..3}; do echo "${i}"; done\n```\n\n{"command": "loop", "exit": 0}',
        {"command": "loop", "exit": 0},
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
        "fence_with_broken_quotes",
        '```json\n{\n  "issue": "The word "always" is too strong",\n  "fix": "say "often" instead"\n}\n```\nDone',
        {"issue": 'The word "always" is too strong', "fix": 'say "often" instead'},
    ),
    Case(
        "yaml_fence_then_json",
        '```yaml\na: [1, 2]\nb: {c: d}\n```\nAs JSON:\n```json\n{"a": [1, 2], "b": {"c": "d"}}\n```',
        {"a": [1, 2], "b": {"c": "d"}},
    ),
    Case(
        "js_fence_object",
        '```js\nconst config = {\n  name: "app", // the name\n  ports: [80, 443],\n};\n```',
        {"name": "app", "ports": [80, 443]},
    ),
    Case(
        "answer_after_code",
        'I ran:\n```python\nresult = compute({"x": 1}, [1, 2])\n```\nand so the result is {"x": 2, "y": [3]}.',
        {"x": 2, "y": [3]},
    ),
    Case(
        "thinks_aloud",
        'Okay, so the user wants {name, age}. Let me produce it.\n\n{"name": "Zoë", "age": 7}\n\nThat\'s it.',
        {"name": "Zoë", "age": 7},
    ),
    Case(
        "tool_call_tag",
        '<tool_call>\n{"name": "search", "arguments": {"q": "x"}}\n</tool_call>',
        {"name": "search", "arguments": {"q": "x"}},
    ),
    Case("double_braces", 'Output: {{"a": 1, "b": {{"c": 2}}}}', {"a": 1, "b": {"c": 2}}),
    Case("headless", '"reflection": "x", "importance": 0.5}', {"reflection": "x", "importance": 0.5}),
    Case(
        "missing_closing_braces_then_prose",
        '{"a": {"b": [1, 2], "c": "d"}\n\nLet me know if this works.',
        {"a": {"b": [1, 2], "c": "d"}},
    ),
    Case("emoji_and_cjk", '结果如下：{"名": "值", "数": 1}。谢谢', {"名": "值", "数": 1}),
    Case("string_with_brace", '{"a": "x } y", "b": "{", "c": ["]"]}', {"a": "x } y", "b": "{", "c": ["]"]}),
    Case("words_without_quotes", "{ key: some value here, other: 2 }", {"key": "some value here", "other": 2}),
    Case(
        "quoted_list_in_prose_after",
        "{\"steps\": 12, \"ok\": true}\n\nCould not find [tea]. Similar: ['Tea', 'Tea (meal)']",
        {"steps": 12, "ok": True},
    ),
    Case("single_quotes", "{'a': 'b', 'c': ['d', 'e']}", {"a": "b", "c": ["d", "e"]}),
    Case(
        "smart_quotes_inside", '{"say": "she said “hi” and ‘bye’", "n": 1}', {"say": "she said “hi” and ‘bye’", "n": 1}
    ),
    Case("unescaped_code", '{"code": "print("hi")", "lang": "python"}', {"code": 'print("hi")', "lang": "python"}),
    Case("python_literals", "{'a': True, 'b': False, 'c': None}", {"a": True, "b": False, "c": None}),
    Case(
        "line_comments",
        '{\n  "a": 1, // the first\n  "b": "http://x.y" // don\'t touch\n}',
        {"a": 1, "b": "http://x.y"},
    ),
    Case("trailing_commas", '{"a": [1, 2,], "b": 3,}', {"a": [1, 2], "b": 3}),
    Case("cut_in_nesting", '{"a": [{"b": 1}, {"b": 2, "c": {"d": "e"', {"a": [{"b": 1}, {"b": 2, "c": {"d": "e"}}]}),
    Case("extra_closing_brace", '{"a": {"b": 1}}}', {"a": {"b": 1}}),
    Case("string_of_json", '"{\\"a\\": 1, \\"b\\": [2]}"', {"a": 1, "b": [2]}),
    Case("byte_order_mark", '\ufeff{"a": 1}', {"a": 1}),
]
