# ruff: noqa: E501 - a reply is easier to read unbroken
"""Written after the reader, to see what it had not been made for."""

from tests.llm.messy import Case

CASES = [
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
        "quote_at_start", '{"title": ""Dune" by Herbert", "year": 1965}', {"title": '"Dune" by Herbert', "year": 1965}
    ),
    Case(
        "quote_list_in_string",
        '{"note": "accepts "a", "b" and "c"", "n": 3}',
        {"note": 'accepts "a", "b" and "c"', "n": 3},
    ),
    Case("inch_marks", '{"size": "a 5" pipe", "n": 1}', {"size": 'a 5" pipe', "n": 1}),
    Case(
        "json_in_a_string_unescaped",
        '{"cmd": "curl -d \'{"a": 1}\' http://x", "n": 1}',
        {"cmd": "curl -d '{\"a\": 1}' http://x", "n": 1},
    ),
    Case("list_with_quotes", '["he said "yes"", "she said "no""]', ['he said "yes"', 'she said "no"']),
    Case(
        "nested_broken_in_prose",
        'Plan:\n{"steps": [{"do": "open "a.txt"", "n": 1}, {"do": "close", "n": 2}]}\nThanks',
        {"steps": [{"do": 'open "a.txt"', "n": 1}, {"do": "close", "n": 2}]},
    ),
    Case(
        "fence_with_broken_quotes",
        '```json\n{\n  "issue": "The word "always" is too strong",\n  "fix": "say "often" instead"\n}\n```\nDone',
        {"issue": 'The word "always" is too strong', "fix": 'say "often" instead'},
    ),
    Case(
        "fence_text_tag",
        '```text\nsome log {x}\n```\n\nThe JSON is:\n\n{"parsed": true, "n": 0}',
        {"parsed": True, "n": 0},
    ),
    Case(
        "yaml_fence_then_json",
        '```yaml\na: [1, 2]\nb: {c: d}\n```\nAs JSON:\n```json\n{"a": [1, 2], "b": {"c": "d"}}\n```',
        {"a": [1, 2], "b": {"c": "d"}},
    ),
    Case("markdown_doc_in_fence", '```markdown\n# Notes\n- item [x](y)\n\n{"meta": {"v": 1}}\n```', {"meta": {"v": 1}}),
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
        "three_sections_of_objects",
        '## Alice\n{"name": "Alice", "age": 30}\n\n## Bob\n{"name": "Bob", "age": 40}\n',
        [{"name": "Alice", "age": 30}, {"name": "Bob", "age": 40}],
    ),
    Case(
        "broken_objects_in_prose",
        "Item one: {'id': 1, 'label': 'first',}\nItem two: {'id': 2, 'label': 'second',}",
        [{"id": 1, "label": "first"}, {"id": 2, "label": "second"}],
    ),
    Case(
        "one_good_one_broken",
        'A: {"id": 1, "t": "x"} B: {"id": 2, "t": "say "y""}',
        [{"id": 1, "t": "x"}, {"id": 2, "t": 'say "y"'}],
    ),
    Case(
        "list_then_comment",
        'Queries: ["solar panels", "wind power"]\n\n(These are broader than before.)',
        ["solar panels", "wind power"],
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
    Case("function_tag", '<function=search>{"q": "x"}</function>', {"q": "x"}),
    Case("double_braces", 'Output: {{"a": 1, "b": {{"c": 2}}}}', {"a": 1, "b": {"c": 2}}),
    Case("headless", '"reflection": "x", "importance": 0.5}', {"reflection": "x", "importance": 0.5}),
    Case("json_label", 'JSON: {"a": 1}', {"a": 1}),
    Case("json_label_line", 'json\n{"a": 1, "b": "c"}', {"a": 1, "b": "c"}),
    Case(
        "missing_closing_braces_then_prose",
        '{"a": {"b": [1, 2], "c": "d"}\n\nLet me know if this works.',
        {"a": {"b": [1, 2], "c": "d"}},
    ),
    Case(
        "cut_in_fence_string",
        '```json\n{"reflection": "The run failed because the API',
        {"reflection": "The run failed because the API"},
    ),
    Case("cut_list_of_objects", 'Here:\n[{"q": "a", "n": 1}, {"q": "b", "n"', [{"q": "a", "n": 1}, {"q": "b"}]),
    Case(
        "newlines_in_quotes",
        '{"text": "line 1\nline "two"\nline 3", "ok": true}',
        {"text": 'line 1\nline "two"\nline 3', "ok": True},
    ),
    Case("escaped_single", "{'a': 'don\\'t', 'b': \"it's\"}", {"a": "don't", "b": "it's"}),
    Case("numbers_as_words", '{"n": 1e3, "m": 1E-2, "k": 007}', {"n": 1000.0, "m": 0.01, "k": 7}),
    Case("date_unquoted", '{"when": 2024-05-01, "n": 1}', {"when": "2024-05-01", "n": 1}),
    Case("emoji_and_cjk", '结果如下：{"名": "值", "数": 1}。谢谢', {"名": "值", "数": 1}),
    Case("math_interval_after", 'So {"p": 0.25}, which lies in [0, 1].', {"p": 0.25}),
    Case("comma_list_of_objects", '{"a": 1}, {"a": 2}, {"a": 3}', [{"a": 1}, {"a": 2}, {"a": 3}]),
    Case(
        "colon_prose_object",
        'Note: the field "tags" is optional. {"text": "hi", "tags": []}',
        {"text": "hi", "tags": []},
    ),
    Case(
        "single_then_apostrophes",
        "{'msg': 'I can't say what's wrong', 'n': 1}",
        {"msg": "I can't say what's wrong", "n": 1},
    ),
    Case("possessive_before_quote_end", "{'owner': 'James'', 'n': 1}", {"owner": "James'", "n": 1}),
    Case("string_with_brace", '{"a": "x } y", "b": "{", "c": ["]"]}', {"a": "x } y", "b": "{", "c": ["]"]}),
    Case("address_without_quotes", '{"url": http://x.y/z, "n": 1}', {"url": "http://x.y/z", "n": 1}),
    Case("words_without_quotes", "{ key: some value here, other: 2 }", {"key": "some value here", "other": 2}),
    Case("two_in_one_fence", '```\n{"a": 1}\n\n{"b": 2}\n```', [{"a": 1}, {"b": 2}]),
    Case("server_sent_events", 'data: {"id": 1}\n\ndata: {"id": 2}\n\ndata: [DONE]', [{"id": 1}, {"id": 2}]),
    Case(
        "sql_with_quotes",
        '{"q": "SELECT * FROM t WHERE a = "x" AND b = "y"", "n": 1}',
        {"q": 'SELECT * FROM t WHERE a = "x" AND b = "y"', "n": 1},
    ),
    Case(
        "backticked_json_in_a_string",
        '{"text": "Use `{"x": 1}` here", "n": 2}',
        {"text": 'Use `{"x": 1}` here', "n": 2},
    ),
    Case("explanation_after_a_fence", '```\n{"a": "b"}\n```\n\n- `a`: the {letter}\n- [link](x)', {"a": "b"}),
    Case(
        "quoted_list_in_prose_after",
        "{\"steps\": 12, \"ok\": true}\n\nCould not find [tea]. Similar: ['Tea', 'Tea (meal)']",
        {"steps": 12, "ok": True},
    ),
]
