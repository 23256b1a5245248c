"""How the arguments of calls are read: odd values in each field, lists of events, and analyses of agents."""

import json
from functools import partial
from typing import Any

from mcp_reflect.analysis.agent_analysis import read_analysis
from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import from_json, plain
from mcp_reflect.models.lesson import Source
from mcp_reflect.models.run import Trace
from mcp_reflect.schemas.critique import CritiqueArguments
from mcp_reflect.schemas.fields import Arguments, read
from mcp_reflect.schemas.lessons import (
    ForgetArguments,
    ImportArguments,
    LessonArguments,
    OutcomeArguments,
    OwnExportArguments,
    RecallArguments,
)
from mcp_reflect.schemas.run import ReflectArguments, plain_run
from mcp_reflect.schemas.search import ReplanArguments, read_catalog, read_proposal, read_queries, read_results
from mcp_reflect.schemas.triggers import StepArguments

DAY = "2026-01-02T03:04:05Z"
WORDS: dict[str, Any] = {"mistake": "Ran it in the root", "correction": "Run it in services/api"}
GOOD: dict[type[Arguments], dict[str, Any]] = {
    RecallArguments: {"task": "read the settings"},
    LessonArguments: WORDS,
    ImportArguments: WORDS,
    OwnExportArguments: {**WORDS, "id": "les_0123456789", "created_at": DAY, "updated_at": DAY},
    OutcomeArguments: {"success": True, "recall_id": "rec_1"},
    ForgetArguments: {"lesson_id": "les_1"},
    CritiqueArguments: {"goal": "add", "response": "1 + 1 = 3"},
    ReplanArguments: {"user_message": "heron?", "queries": ["grey heron"]},
    ReflectArguments: {"task": "t", "outcome": "failure"},
    StepArguments: {"confidence": 0.3},
}  # fmt: skip
ODD: tuple[Any, ...] = (
    None, "", " ", "x", "a, b", "- a\n- b", "1. a\n2. b\n3. c", '["a", "b"]', "('a', 'b')", '{"a": 1}', "[broken",
    0, 1, 2, 3, 5, 6, 10, 11, 50, 51, 100, 101, 1000, 1001, 100_000, 100_001, -1, 0.0, 0.5, 1.0, 1.5, 2.0, 99.5,
    "0.8", "0,8", "80%", "80 percent", "8/10", "8/0", "high", " Low ", "critical", "3 times", "3.5", "yes", "no",
    "True", True, False, "helped", "not relevant", "Partially", "wrong", "reflection", "Lesson", "stratgy", "global",
    "user", "tests", "retired", "quarantined", "success", "timed out", "gave up", [], ["a"], ["a", None, "", "b"],
    [1, 2.5, True], [["a"], {"b": 1}], {}, {"a": 1}, {"content": "1 failed", "exit_code": "1"}, {"table": "talks"},
    [{"tool": "pytest", "stdout": "1 passed", "code": 0}, "text", None], "x" * 200, "x" * 201, "x" * 300, ["x"] * 20,
    ["x"] * 21, [f"x{number}" for number in range(51)], "- a", "a:\n- b",
)  # fmt: skip
_SHARED = ("detail", "project")
EVENTS: tuple[Any, ...] = (
    "$ make\nerror: no rule\n$ make all\nok", "plain text", ["$ ls", "a.txt", "note"], [{}], [None], [{"x": 1}],
    [{"tool": "bash", "args": {"command": "ls"}}], [{"tool": "bash", "args": '{"command": "ls"}', "output": "a"}],
    [{"command": "ls", "stdout": "a", "exit_code": "0"}], [{"cmd": "ls", "exit_code": "1"}],
    [{"cmd": "ls", "returncode": 2, "stderr": "no"}], [{"role": "user", "content": "do it"}, {"role": "tool"}],
    [{"role": "assistant", "content": "I look"}, {"role": "tool", "content": "a", "tool_call_id": "c1"}],
    [{"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}, {"type": "output", "call_id": "c"}],
    [{"function": {"name": "f", "arguments": '{"a": 1}'}}, {"result": [1, 2]}],
    [{"type": "strange", "content": "x", "timestamp": [1]}], [{"error": True, "content": "bad"}], [{"error": "None"}],
    [{"error": False, "content": "fine", "tool": "f"}], [{"id": "a", "content": "1"}, {"id": "a", "content": "2"}],
    [{"type": "Tool-Call", "tool": "f", "arguments": {}, "error": "no"}], [{"exit_code": "1234567890", "content": "x"}],
    [{"tool": "f", "arguments": {"a": 1}}, {"content": "later"}, {"content": "last"}, {"exit_code": 3, "content": "e"}],
    [{"metadata": "text", "content": "x", "own": 1}], '[{"tool": "f"}]', {"tool": "f", "error": "one object"}, 7,
)  # fmt: skip
ANALYSES: tuple[Any, ...] = (
    "It looked in the wrong place.", "", [], 7, True, {}, {"reflection": ""}, {"reflection": "r [e1], event e9"},
    {"analysis": {"reflection": "inner", "importance": "80%"}}, {"lesson": {"mistake": "m", "correction": "c"}},
    {"Reflection Text": "r", "importance_score": "0.8 (high)", "tags": "a, #b; c"}, {"relfection": "r"}, {"odd": 1},
    {"root_cause": "r", "next_time": ["s"], "other": {"a": 1}, "empty": ""}, {"mistake": ["m", "n"], "fix": 5},
    {"reflection": "r", "importance": 2}, {"reflection": "r", "importance": "1/1"},
    {"reflection": "r", "confidence": -0.1},
    {"reflection": "r", "importance": 10**15}, {"reflection": "r", "importance": float(10**15)}, {"reflection": 5},
    {"reflection": "r", "scores": {"safety": 0.9, "speed": {"score": None, "reason": "why"}}},
    {"reflection": "r", "scores": [{"criterion": "safety", "score": "70%"}]}, {"reflection": "r", "scores": 3},
    {"reflection": "r", "source_event_ids": ["e1", "e7"]},
    {"reflection": "r", "symptoms": "one, text", "keywords": "a, b"},
    {"reflection": "r", "keywords": [1, None, "x", "x"]}, [{"reflection": "one"}],
    [{"reflection": "a"}, {"reflection": "b"}],
    ["a", "b"], '{"reflection": "json", "strategy": "s"}', 'Sure:\n```json\n{"reflection": "fenced"}\n```',
    "<think>hm</think>{'reflection': 'quoted'}", "## Mistake\nm\n## Correction\nc\n## Odd\no",
    "# Reflection\nr\n\nmore",
    "## What went wrong\nw\n## Recommendation\nn\n## Importance\n0.9", "Intro.\n## Strategy\ns", "a\x00b",
    "half \ud800",
    {"reflection": "The decision was right. Execution failed.", "strategy": ["a", "b"]}, '{"odd": 1}', "{broken",
)  # fmt: skip


def readings() -> dict[str, Any]:
    """What is read of each odd value in each field, by what comes of it."""
    recording: dict[str, Any] = {}
    for shape, good in GOOD.items():
        for name in [name for name in shape.model_fields if name in shape.__annotations__ and name not in _SHARED]:
            outcomes: dict[str, list[str]] = {}
            for value in ODD:
                outcomes.setdefault(_outcome(shape, {**good, name: value}, name), []).append(_short(value))
            recording[f"{shape.__name__} {name}"] = {
                outcome: " | ".join(values[:3]) + f" … {len(values)}" * (len(values) > 3)
                for outcome, values in outcomes.items()
            }
    return recording


def _outcome(shape: type[Arguments], sent: dict[str, Any], name: str) -> str:
    try:
        found = read(shape, sent)
    except InputError as error:
        return f"refused: {error}"
    text = _short(found.model_dump(mode="json", exclude_unset=True).get(name))
    text = "as it is" if text == _short(sent[name]) else text
    return f"{text} ({'; '.join(found.ignored)})" if found.ignored else text


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:40]}… {len(text)}"


def traces() -> dict[str, Any]:
    """The run that is made of each list of events, whole and cut to small limits."""
    recording: dict[str, Any] = {}
    small = Limits(max_events=3, max_event_chars=20, max_trace_chars=60)
    for at, events in enumerate(EVENTS):
        for name, limits in (("whole", Limits()), ("cut", small)):
            try:
                sent = read(ReflectArguments, {"events": events}, Limits())
                recording[f"{at} {name}"] = [plain(from_json(Trace, plain_run(sent, limits))), [*sent.ignored]]
            except InputError as error:
                recording[f"{at} {name}"] = str(error)
    for most in range(8):
        long = {"task": "t", "outcome": "error", "events": [f"{number} {'x' * 28}" for number in range(7)]}
        by_size = Limits(max_trace_chars=45 * most), Limits(max_event_chars=most + 24)
        for limits in (Limits(max_events=most), *by_size):
            trace = from_json(Trace, plain_run(read(ReflectArguments, {**long, "error": "e" * 27}), limits))
            case = f"{limits.max_events} {limits.max_trace_chars} {limits.max_event_chars}"
            recording[case] = [[event.content for event in trace.events], str(trace.cut), str(trace.error)]
    return recording


def analyses() -> dict[str, Any]:
    """What is read of each analysis: strictly, as of a model, and leniently, as of an agent."""
    recording: dict[str, Any] = {}
    for at, value in enumerate(ANALYSES):
        for lenient in (False, True):
            try:
                found = plain(read_analysis(value, ("e1", "e2"), lenient=lenient))
                recording[f"{at} {'lenient' if lenient else 'strict'}"] = {k: v for k, v in found.items() if v}
            except InputError as error:
                recording[f"{at} {'lenient' if lenient else 'strict'}"] = str(error)
    for number in (3, 4, 5, 6):
        ids = [f"e{at}" for at in range(number)]
        try:
            read_analysis({"reflection": "see [e9]"}, ids)
        except InputError as error:
            recording[f"{number} events"] = str(error)
    return recording


def drafts() -> dict[str, Any]:
    """The lessons that are made of one text, of its parts, and of what was sent beside them."""
    texts = (
        "Mistake: ran it in the root. Correction: run it in services/api.",
        "problem - x: y", "What went wrong: no token\nFix: set TOKEN", "Short. No.",
        "It failed there! Run it elsewhere.",
        "Just one sentence", "No stop but long enough to be two", "甲乙丙丁戊己庚辛壬癸。应该这样做", "ab", "a b c",
    )  # fmt: skip
    sent: list[dict[str, Any]] = [{"lesson": text} for text in texts]
    sent += [{"lesson": texts[5], name: text} for name, text in WORDS.items()]
    sent += [{name: text} for name, text in WORDS.items()]
    sent += [{**WORDS, "task_type": "api", "tags": ["api", "x"], "importance": share} for share in (None, 0, 0.5, 1)]
    recording: dict[str, Any] = {}
    for at, values in enumerate(sent):
        for shape in (LessonArguments, ImportArguments):
            try:
                draft = plain(read(shape, values).draft(Source.AGENT))
                recording[f"{shape.__name__} {at}"] = {name: value for name, value in draft.items() if value}
            except InputError as error:
                recording[f"{shape.__name__} {at}"] = str(error)
    return recording


def searched() -> dict[str, Any]:
    """What is read of queries, catalogs, plans and results as they come from search tools."""
    query = {"table": "talks", "query_text": "heron", "limit": 5, "score_threshold": 0.5}
    sent: dict[str, list[Any]] = {
        "queries": [
            "heron", ["heron"], [query], [{"q": "x"}], [{"engine": "web", "q": "x"}], [{**query, "limit": 0}],
            [{**query, "limit": 1_000_001}], [{**query, "score_threshold": 1.01}], [{**query, "score_threshold": 1}],
            [{**query, "filters": {"a": [1, "b"]}}], [{"table": " talks ", "k": 1}], [7], {}, [], [query] * 50,
            [query] * 51, [{**query, "query_text": "x" * 4000}], [{**query, "query_text": "x" * 4001}],
        ],
        "catalog": [
            [{"table": "a", "fields": ["x"], "search_modes": "exact"}], [{"table": ""}], [{}], 7, [[]],
            [
                {"table": "a", "description": "one", "vocabulary": ["x", "y"]},
                {"table": "a", "description": "two", "vocabulary": ["y"], "fields": {"f": [1, 2], "g": "x"}},
            ],
        ],
        "small catalog": [
            [{"table": "a", "vocabulary": ["abc", "de", "f"]}, {"table": "b", "vocabulary": ["gh", "i"]}],
            [{"table": "a", "vocabulary": ["abcd", "efg", "h"]}], [{"table": "a", "vocabulary": ["a", "b", "c", "d"]}],
        ],
        "plan": [
            {"new_queries": [query]}, {"new_queries": []}, {"new_queries": [query], "strategy": "relax"}, {}, 7,
            {"new_queries": [query], "strategy": "reformulate", "reasoning": " r "}, {"new_queries": ["x"]},
            {"new_queries": [query], "strategy": "none of these"},
        ],
        "results": [
            {"a": 3}, {"a": -1}, {"a": []}, {"a": [1, 2]}, {"a": None}, {"a": {"x": 1}}, {"a": True}, {"a": "x"},
            {"a": 1.5}, [], [1], "none", 0, {},
        ],
    }  # fmt: skip
    small = Limits(max_catalog_words=3, max_catalog_chars=7)
    readers: dict[str, Any] = {
        "queries": partial(read_queries, table="search"),
        "catalog": read_catalog,
        "small catalog": partial(read_catalog, limits=small),
        "plan": read_proposal,
        "results": read_results,
    }
    recording: dict[str, Any] = {}
    for name, values in sent.items():
        for at, value in enumerate(values):
            try:
                recording[f"{name} {at}"] = str(readers[name](value))[:600]
            except InputError as error:
                recording[f"{name} {at}"] = str(error)
    return recording
