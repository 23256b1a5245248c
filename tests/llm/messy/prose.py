"""Prose around one object or several."""

from tests.llm.messy import Case

CASES = [
    Case(
        "plain_after_a_sentence",
        'Sure! Here is the analysis: {"reflection": "ok", "n": 1}',
        {"reflection": "ok", "n": 1},
    ),
    Case("sentence_on_both_sides", 'Result: {"a": 1}. Let me know if you need more!', {"a": 1}),
    Case(
        "set_notation_before",
        'For all x in the set {x} we get {"answer": 42, "unit": "m"} as wanted.',
        {"answer": 42, "unit": "m"},
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
    Case("footnote_list_after", '{"verdict": "fail"}\n\n[1] Smith 2020\n[2] Jones 2021', {"verdict": "fail"}),
    Case(
        "markdown_link_before",
        'See [the docs](https://example.org/a{b}) for details.\n{"page": 3, "title": "x"}',
        {"page": 3, "title": "x"},
    ),
    Case("checkbox_list_before", '- [ ] todo\n- [x] done\n\n{"done": 1, "open": 1}', {"done": 1, "open": 1}),
    Case("emoticon_before", 'Happy to help :-{ \n{"mood": "fine"}', {"mood": "fine"}),
    Case(
        "apostrophe_before",
        "Here's what I'd suggest: {'tool': 'search', 'args': {'q': \"it's\"}}",
        {"tool": "search", "args": {"q": "it's"}},
    ),
    Case("quoted_word_before", 'The "answer" is: {"answer": "yes"}', {"answer": "yes"}),
    Case(
        "function_body_before",
        'function f() { return true; }\n\nOutput:\n{"value": true, "line": 1}',
        {"value": True, "line": 1},
    ),
    Case(
        "numbered_objects",
        '1. {"id": 1, "name": "a"}\n2. {"id": 2, "name": "b"}\n3. {"id": 3, "name": "c"}',
        [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"}],
    ),
    Case("bulleted_objects", 'I found two:\n- {"id": 1}\n- {"id": 2}\nThat is all.', [{"id": 1}, {"id": 2}]),
    Case(
        "object_a_line",
        '{"id": 1, "ok": true}\n{"id": 2, "ok": false}\n{"id": 3, "ok": true}',
        [{"id": 1, "ok": True}, {"id": 2, "ok": False}, {"id": 3, "ok": True}],
    ),
    Case(
        "two_people_in_prose",
        'The first person is {"name": "Ann"} and the second is {"name": "Bob"}.',
        [{"name": "Ann"}, {"name": "Bob"}],
    ),
    Case(
        "and_another",
        'I recorded {"kind": "lesson", "n": 1} and also {"tool": "grep"}.',
        [{"kind": "lesson", "n": 1}, {"tool": "grep"}],
    ),
    Case("empty_then_real", 'Before: {} After: {"k": "v"}', {"k": "v"}),
    Case("list_of_objects_in_prose", 'The steps are [{"s": 1}, {"s": 2}] in that order.', [{"s": 1}, {"s": 2}]),
    Case("list_of_words_in_prose", 'Tags: ["timeout", "search"]. Done.', ["timeout", "search"]),
    Case("range_before", 'Scores are in [0, 1]. Mine: {"score": 0.5}', {"score": 0.5}),
    Case("question_mark_after", '{"ok": true} — does that help? I can also {explain} it.', {"ok": True}),
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
    Case("bold_label", '**Answer:** {"choice": "C"}\n\n**Confidence:** high', {"choice": "C"}),
    Case(
        "trailing_comma_and_prose",
        'Here: {"a": [1, 2, 3,], "b": {"c": 1,},}\nHope this helps.',
        {"a": [1, 2, 3], "b": {"c": 1}},
    ),
    Case("role_prefix", 'assistant: {"a": 1, "b": "x"}\nuser: thanks', {"a": 1, "b": "x"}),
]
