"""Fences, markdown inside strings, thinking tags."""

from tests.llm.messy import Case

CASES = [
    Case("json_fence", 'Here:\n```json\n{"a": 1}\n```\nDone.', {"a": 1}),
    Case("upper_case_tag", '```JSON\n{"a": 1}\n```', {"a": 1}),
    Case("json5_tag", "```json5\n{a: 1, /* two */ b: 2}\n```", {"a": 1, "b": 2}),
    Case("plain_fence_and_braces_after", '```\n{"a": 1}\n```\nHope this {helps}!', {"a": 1}),
    Case("fence_never_closed", 'Result:\n```json\n{"a": 1, "b": [1, 2]}\n', {"a": 1, "b": [1, 2]}),
    Case("fence_cut_off", '```json\n{"a": 1, "b": ["x", "y', {"a": 1, "b": ["x", "y"]}),
    Case("tilde_fence", '~~~json\n{"a": "~"}\n~~~', {"a": "~"}),
    Case("fence_on_one_line", 'Use ```json {"a": 1} ``` please.', {"a": 1}),
    Case("inline_code", 'The result is `{"a": 1}` as computed.', {"a": 1}),
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
        "raw_fence_inside_a_fence",
        '```json\n{"code": "```python\nprint(1)\n```", "ok": true}\n```\nBye',
        {"code": "```python\nprint(1)\n```", "ok": True},
    ),
    Case(
        "markdown_in_a_string",
        '{"text": "## Title\\n\\n- **bold** `code`\\n- [link](http://x.y)"}',
        {"text": "## Title\n\n- **bold** `code`\n- [link](http://x.y)"},
    ),
    Case(
        "raw_newlines_in_a_string",
        'Here:\n```json\n{"text": "# Title\n\n1. one\n2. two", "n": 2}\n```',
        {"text": "# Title\n\n1. one\n2. two", "n": 2},
    ),
    Case(
        "table_in_a_string",
        '```json\n{"table": "| a | b |\n|---|---|\n| 1 | 2 |"}\n```',
        {"table": "| a | b |\n|---|---|\n| 1 | 2 |"},
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
    Case("two_fences_two_items", '```json\n{"id": 1}\n```\nand\n```json\n{"id": 2}\n```', [{"id": 1}, {"id": 2}]),
    Case("fence_with_indent", '1. Result:\n\n    ```json\n    {\n      "a": 1\n    }\n    ```\n2. Done', {"a": 1}),
    Case("fence_with_title_line", '```json title="out.json"\n{"a": 1}\n```', {"a": 1}),
    Case("fence_with_prose_in_it", '```\nHere is the JSON:\n{"a": 1, "b": "c"}\n```', {"a": 1, "b": "c"}),
    Case("fence_within_a_fence", '````markdown\n# Report\n```json\n{"a": 1}\n```\n````', {"a": 1}),
    Case("single_quotes_in_fence", "```python\n{'a': True, 'b': None}\n```", {"a": True, "b": None}),
    Case("thinking_then_object", '<think>Maybe {"a": 0}? No.</think>\n{"a": 1}', {"a": 1}),
    Case(
        "thinking_with_fence",
        '<thinking>\n```json\n{"draft": true}\n```\n</thinking>\n\n```json\n{"final": true}\n```',
        {"final": True},
    ),
    Case("thinking_without_start", 'I should return {"a": 0} or so.\n</think>\n{"a": 1}', {"a": 1}),
    Case("thinking_never_closed", '<think>The answer is {"a": 1}', {"a": 1}),
    Case("reasoning_tag", '<reasoning>{"x": 1} is wrong</reasoning>{"x": 2}', {"x": 2}),
    Case(
        "think_tag_in_a_string",
        '{"text": "use <think>x</think> tags", "n": 1}',
        {"text": "use <think>x</think> tags", "n": 1},
    ),
    Case("bold_in_fence_line", '**JSON**\n```\n[{"a": 1}, {"a": 2}]\n```', [{"a": 1}, {"a": 2}]),
    Case("quoted_block", '> {"a": 1,\n>  "b": 2}\n', {"a": 1, "b": 2}),
    Case(
        "raw_inner_json_fence",
        '{"answer": "```json\n{\\"x\\": 1}\n```", "ok": true}',
        {"answer": '```json\n{"x": 1}\n```', "ok": True},
    ),
    Case(
        "shell_fence_then_object",
        '```bash\nfor i in {1..3}; do echo "${i}"; done\n```\n\n{"command": "loop", "exit": 0}',
        {"command": "loop", "exit": 0},
    ),
]
