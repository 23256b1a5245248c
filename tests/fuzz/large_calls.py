"""The largest calls that each tool takes, filled with texts that cost much to read; benchmarks measure them too."""

from collections.abc import Iterator
from typing import Any, Final

WARM: Final[dict[str, dict[str, Any]]] = {
    "reflect": {
        "task": "Read the settings",
        "outcome": "failure",
        "events": [{"tool": "cat", "arguments": {}}, {"content": "gone", "exit_code": 1}],
    },
    "critique": {
        "goal": "add",
        "response": "1 + 1 = 3. All tests pass.",
        "tool_results": [{"tool": "pytest", "content": "1 failed", "exit_code": 1}],
    },
    "replan_search": {"user_message": "qubits", "queries": [{"query_text": "a b"}]},
    "recall_lessons": {"task": "read the settings", "symptoms": ["No such file"]},
    "store_lesson": {"mistake": "Pushed with force", "correction": "Push with lease"},
    "record_outcome": {"success": "helped", "lesson_ids": ["les_none"], "note": "x"},
    "should_reflect": {"confidence": 0.3, "run_id": "run"},
    "forget_lesson": {"lesson_id": "les_none", "reason": "outdated"},
}
"""A small call of each tool: what is imported and compiled at the first call is not counted."""

_KEY: Final = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI"
TEXTS: Final[dict[str, str]] = {
    "labels": "token: ",
    "labels with values": f"api_key={_KEY}\n",
    "passwords in sentences": "the password is Kelp4Dune and ",
    "labels without signs": "password token ",
    "labels in JSON": '{"password": "Kelp4Dune7", "id": 12}, ',
    "labels behind prefixes": "+ api_key: none\n",
    "foreign labels": "Passwort: ändern, contraseña: año, 密码 ",
    "other script": "不要在这里写密码，先看说明。",
    "accents": "déjà vu à la crème brûlée, ",
    "quotes": '"a" "b" ',
    "joined literals": '"ab" + "cd" + ',
    "JSON": '{"name": "orders", "count": 12, "path": "/srv/app/a.py", "ok": true}, ',
    "JSON with accents": '{"name": "Müller", "count": 12, "city": "Köln"}, ',
    "JSON in JSON": '{\\"name\\": \\"orders\\", \\"text\\": \\"line\\\\n\\"}, ',
    "backslashes": "\\",
    "escaped lines": "one\\ntwo\\n",
    "base64": "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd29y" * 2 + "\n",
    "base64 in one line": "aGVsbG8gd29ybGQ3",
    "base64 by its name": "base64 aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ= ",
    "percent codes": "%41%42 ",
    "mail codes": "quoted=3Dprintable ",
    "tags": "<em>a</em> ",
    "colors": "\x1b[31mred\x1b[0m ",
    "addresses": "http://user:pass@host.example/a?token=b ",
    "hashes": "8f14e45fceea167a5a36dedd4bea2543 ",
    "wrapped lines": "x9y" * 26 + "ab\n",
    "log": "2026-11-28 10:00:01 INFO app.orders: request 8f14e45f took 3.5 ms\n",
    "tests": "test_shop.py::test_price[7] PASSED 12 rows, 3.5 ms, checksum 8f14e45f\n",
    "tracebacks": '  File "/srv/app/orders.py", line 12, in read\n    raise KeyError(name)\nKeyError: 7\n',
    "equations": "1 + 1 = 3. ",
    "claims": "All 40 tests pass, and the build takes 3 seconds. ",
    "one word": "a",
    "brackets": "[",
    "blanks": " ",
    "line ends": "\n",
    "commands": "cd /srv && git push --force; ",
    "nested commands": '$(" ',
    "numbers": "1,111.5 ",
    "seed phrases": "seed phrase abandon ability able ",
    "cues": "use password hunter2 to login with key ",
    "overstrikes": "a\b",
    "stops": "a. ",
    "tables": "| order | 12 | paid | 3.5 |\n",
    "lists": "- **Done**: `a.py` is [fixed](http://x.y/z)\n",
    "short lines": "ok\n",
    "sentences of another script": "所有测试都通过了。",
    "private keys": "-----BEGIN PRIVATE KEY-----\nMIIE\n",
}
"""What a text repeats."""


def repeated(unit: str, length: int) -> str:
    """Return a text of at most `length` characters."""
    return unit * (length // len(unit))


def numbered(unit: str, length: int, place: int) -> str:
    """Return such a text that differs from others in its first line, and so is in no cache."""
    return f"case {place}\n{repeated(unit, length)}"


def shapes(unit: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the ways to send much of a text, each up to what the tools take."""
    task = repeated(unit, 20_000)
    lesson = repeated(unit, 5_000)
    phrase = repeated(unit, 2_000)
    run = {"task": "Read the settings", "outcome": "failure"}
    work = {"goal": "Repair the shop", "response": "All 40 tests pass."}

    def results(count: int, length: int) -> list[dict[str, Any]]:
        return [
            {"tool": f"pytest {place}", "content": numbered(unit, length, place), "exit_code": 0}
            for place in range(count)
        ]

    def events(count: int, length: int) -> list[dict[str, Any]]:
        pairs = (
            (
                {"tool": "Bash", "arguments": {"command": f"make {place}"}},
                {"content": numbered(unit, length, place), "exit_code": place % 2},
            )
            for place in range(count)
        )
        return [event for pair in pairs for event in pair]

    yield "a long task", "reflect", {**run, "task": task}
    yield "a long analysis", "reflect", {**run, "analysis": {"mistake": lesson, "why": lesson}}
    yield "an analysis as text", "reflect", {**run, "analysis": repeated(unit, 190_000)}
    for count, length in ((1, 3_900_000), (200, 19_000), (1_000, 3_500), (20, 190_000)):
        yield f"{count} outputs", "reflect", {**run, "events": events(count, length)}
    yield "an analysis and an output", "reflect", {
        **run, "events": events(1, 100_000), "analysis": repeated(unit, 90_000)
    }  # fmt: skip
    command = {"tool": "Bash", "arguments": {"command": repeated(unit, 190_000)}}
    yield "a long command", "reflect", {**run, "events": [command, {"content": "x"}]}

    yield "a long goal", "critique", {**work, "goal": task}
    yield "long work", "critique", {**work, "response": repeated(unit, 190_000)}
    yield "many steps", "critique", {
        "goal": "x", "steps": [numbered(unit, 900, place) for place in range(200)]
    }  # fmt: skip
    for count, length in ((1, 990_000), (4, 950_000), (200, 19_000), (4_000, 900)):
        yield f"{count} outputs", "critique", {**work, "tool_results": results(count, length)}
    yield "work and outputs", "critique", {
        "goal": "x", "response": repeated(unit, 100_000), "tool_results": results(1, 90_000)
    }  # fmt: skip
    yield "verdicts", "critique", {
        **work, "verdicts": [{"claim": 1, "verdict": "wrong", "correction": lesson}] * 20
    }  # fmt: skip

    yield "a long message", "replan_search", {"user_message": task, "queries": ["a"]}
    yield "long queries", "replan_search", {
        "user_message": "x", "queries": [numbered(unit, 3_900, place) for place in range(50)]
    }  # fmt: skip
    yield "a large catalog", "replan_search", {
        "user_message": "qubits",
        "queries": ["a"],
        "catalog": [
            {
                "table": f"table {place}",
                "description": numbered(unit, 3_000, place),
                "vocabulary": [numbered(unit, 150, word) for word in range(30)],
            }
            for place in range(100)
        ],
    }  # fmt: skip

    yield "a long task", "recall_lessons", {
        "task": task, "symptoms": [numbered(unit, 1_900, place) for place in range(20)]
    }  # fmt: skip
    yield "long texts", "store_lesson", {
        "mistake": lesson,
        "correction": f"Do not: {lesson}"[:5_000],
        "why": lesson,
        "symptoms": [numbered(unit, 1_900, place) for place in range(20)],
        "wrong_call": {"tool": "Bash", "arguments": {"command": lesson}},
        "right_call": {"tool": "Bash", "arguments": {"command": f"ls {lesson}"}},
    }  # fmt: skip
    yield "outputs", "record_outcome", {
        "success": "helped",
        "lesson_ids": ["les_none"],
        "note": phrase,
        "evidence": "test",
        "tool_results": results(4, 950_000),
    }  # fmt: skip
    yield "a long reason", "forget_lesson", {"lesson_id": "les_none", "reason": phrase}
    yield "a long name", "should_reflect", {"confidence": 0.3, "run_id": repeated(unit, 200)}
    for tool, good in WARM.items():
        yield "an unknown argument", tool, {**good, "extra": repeated(unit, 3_900_000)}
        yield "unknown values", tool, {
            **good, "extra": [numbered(unit, 200, place) for place in range(900)]
        }  # fmt: skip
