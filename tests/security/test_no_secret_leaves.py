"""Secrets through every argument of every tool, an import and every language model: none is found anywhere after."""

import functools
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from mcp import Client

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import NOTHING_USED, Reply, Request, Role, Stop, reply_of
from mcp_reflect.projects import stored_name
from mcp_reflect.schemas.events import EventArguments
from mcp_reflect.schemas.fields import Arguments
from mcp_reflect.schemas.run import ErrorArguments
from mcp_reflect.schemas.search import ProposalArguments, QueryArguments, TableArguments
from mcp_reflect.security.redact import clean_text
from mcp_reflect.server.app import build
from mcp_reflect.server.catalog import TOOLS
from mcp_reflect.services.engine import Engine
from tests.imported import imported
from tests.secrets import SECRETS, TELLING, found_in
from tests.security.corpus import cases
from tests.security.disguise import survives
from tests.services.test_sequels import sequel_of

Case = dict[str, Any]


def _is_cut(case: Case) -> bool:
    """True if the secret is cut out in a text and in JSON: how many are is measured elsewhere."""
    text = case["text"]
    wrapped = (
        text,
        f"Then came\n{text}\n\nThen came\n{text}",
        json.dumps({"a": text}),
        f"Error: refused\n{text}",
    )
    return not any(survives(clean_text(one), case["secret"]) for one in wrapped)


@functools.cache
def cut_cases() -> tuple[Case, ...]:
    return tuple(case for case in cases("secrets") if _is_cut(case))


ANSWERS: dict[Role, Any] = {
    Role.REFLECTOR: {"reflection": "It used $SECRET.", "strategy": "Do not use $SECRET", "mistake": "Sent $SECRET",
                     "correction": "Leave out $SECRET", "importance": 0.5, "confidence": 0.5},
    Role.CRITIC: {"quality_score": 0.3, "issues": ["Step 1: it shows $SECRET"], "suggested_fix": "Drop $SECRET"},
    Role.CORRECTOR: {"corrected_steps": ["It printed $SECRET once"]},
    Role.PLANNER: {"reasoning": "It holds $SECRET", "strategy": "rewrite", "user_message": "I search for $SECRET",
                     "new_queries": [{"table": "t", "search_mode": "m", "query_text": "x $SECRET"}]},
}  # fmt: skip


def batches(among: tuple[Case, ...], most: int = 4500) -> Iterator[list[Case]]:
    """The cases in texts that every argument has room for."""
    batch: list[Case] = []
    for case in among:
        if batch and sum(len(one["text"]) + 20 for one in (*batch, case)) > most:
            yield batch
            batch = []
        batch.append(case)
    yield batch


def text_of(batch: list[Case]) -> str:
    return "\n\n".join(f"Then came\n{case['text']}" for case in batch)


def telling(case: Case) -> set[str]:
    """The beginning, middle and end of a case's secret, where they stand in no other case."""
    secret = case["secret"]
    middle = len(secret) // 2
    parts = (secret[:12], secret[max(middle - 6, 0) : middle + 6], secret[-12:])
    others = "".join(one["text"] for one in cut_cases() if one is not case)
    return {part for part in parts if len(part) >= 7 and part not in others}


@functools.cache
def telling_parts(among: tuple[int, ...]) -> dict[bytes, str]:
    """By each part that tells of a case, the case's text: of the cases at those places."""
    told = [cut_cases()[at] for at in among]
    return {part.lower().encode(): case["text"] for case in told for part in telling(case)}


def leaks(content: bytes, among: range | None = None) -> list[str]:
    """The texts whose secrets stand in the content: of the cases at those places, or of all."""
    folded = content.lower()
    parts = telling_parts(tuple(among or range(len(cut_cases()))))
    return [text for part, text in parts.items() if part in folded]


class Talkative:
    """A language model that repeats the secrets it must not have been told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.secret = ""

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        said = json.dumps(ANSWERS[request.role]).replace("$SECRET", json.dumps(self.secret)[1:-1])
        return reply_of("talkative:model", said, Stop.END, NOTHING_USED)


async def drive(engine: Engine, text: str) -> list[object]:
    """Every tool with the text in its arguments of words; what they return. Other tests try each argument."""
    events = [
        {"type": "tool_call", "tool": "bash", "arguments": {"command": text}},
        {"type": "tool_response", "tool": "bash", "content": f"Error: refused\n{text}"},
    ]
    done: list[object] = [
        await engine.store_lesson(mistake=text[:5000], correction=f"Do it otherwise. {text}"[:5000], context=text),
        await engine.recall(task=text, symptoms=[text[:2000]], context=text),
        await engine.reflect(
            task=text, goal=text, outcome="failure", events=events, error={"message": text, "context": {"a": text}}
        ),
        await engine.critique(goal=text, steps=[text], tool_results=[{"tool": "bash", "content": text}]),
        await engine.replan(
            user_message=text, suggestions=[text[:2000]],
            queries=[{"table": "t", "search_mode": "m", "query_text": text}],
            catalog=[{"table": "t", "description": text, "search_modes": ["m"], "vocabulary": [text]}],
        ),
    ]  # fmt: skip
    stored, recalled = done[0], done[1]
    named = await engine.record_outcome(
        success=True, lesson_ids=[stored.lesson_id], note=text[:2000],  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        tool_results=[{"tool": "bash", "content": text}],
    )  # fmt: skip
    await engine.forget_lesson(lesson_id=stored.lesson_id, reason=text[:2000])  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    return [*done, recalled, named]


def everything(folder: Path, among: range) -> dict[str, list[str]]:
    """What of the secrets is in which file, in its pages, its log, and in a backup that is written anew."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.name: found for path in files if (found := leaks(path.read_bytes(), among))}


async def test_no_secret_reaches_a_file_a_model_or_the_log(
    bank_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A third of the cases: test_secrets.py shows that each is recognized, this that every way is guarded."""
    assert len(cut_cases()) >= 120
    among = range(0, len(cut_cases()), 3)
    third = tuple(cut_cases()[at] for at in among)
    llm = Talkative()
    settings = Settings(bank=bank_path, project="app", log_level="debug", critique="always")
    told: list[object] = []
    async with Engine(settings, llm=llm) as engine:
        for batch in batches(third):
            llm.secret = text_of(batch)[:4000]
            told += await drive(engine, text_of(batch))
        texts = [text_of(batch)[:4000] for batch in batches(third, most=3500)]
        await imported(
            engine, *({"mistake": text, "correction": text, "why": text} for text in texts)
        )
        exported = json.dumps([line async for line in engine.bank.transfer.export("local", None)])
        with (
            closing(sqlite3.connect(bank_path)) as source,
            closing(sqlite3.connect(bank_path.with_suffix(".copy"))) as to,
        ):
            source.backup(to)
        assert (
            everything(bank_path.parent, among) == {}
        )  # with the bank open: the log of SQLite is there too
    assert everything(bank_path.parent, among) == {}
    assert {request.role for request in llm.asked} == set(ANSWERS)
    assert (
        leaks("".join(request.system + request.user for request in llm.asked).encode(), among) == []
    )
    assert leaks(exported.encode(), among) == []
    assert leaks(repr(told).encode(), among) == []
    out, err = capfd.readouterr()
    assert "reflection_stored" in err
    assert leaks((out + err).encode(), among) == []


async def test_no_error_repeats_a_secret(engine: Engine) -> None:
    """Errors quote what cannot be used: an unknown name, a bad value, an id that is not there.

    So do the whole results of calls that ignore it.
    """
    sent: list[tuple[str, dict[str, Any]]] = []
    ignoring: list[tuple[str, dict[str, Any]]] = []
    for case in cut_cases()[::12]:
        text = case["text"]
        sent += [
            ("store_lesson", {"mistake": "a", "correction": "b", text: "x"}),
            ("store_lesson", {"mistake": "a", "correction": "b", "visibility": text}),
            ("reflect", {"task": "t", "outcome": text}),
            ("critique", {"goal": "g", "response": "r", "analysis": {text: 1}}),
            ("forget_lesson", {"lesson_id": text[:200], "reason": "r"}),
            ("record_outcome", {"success": True, "recall_id": text[:200]}),
            ("replan_search", {"search_id": text[:200]}),
            ("recall_lessons", {"task": "t", "project": text[:200]}),
            (text, {}),
        ]
        failed = {"task": "t", "outcome": "failure", "detail": True}
        ignoring += [
            ("reflect", {**failed, "analysis": {"reflection": "r", "importance": text}}),
            ("reflect", {**failed, "events": [{"type": text, "content": "x"}]}),
            ("recall_lessons", {"task": "t", "kinds": [text], "detail": True}),
        ]
    said: list[str] = []
    async with Client(build(engine=engine)) as client:
        for tool, arguments in sent:
            result = await client.call_tool(tool, arguments)
            assert result.is_error, (tool, arguments)
            said.append(str(result.content))
        for tool, arguments in ignoring:
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, (tool, arguments)
            said.append(str(result.content) + str(result.structured_content))
        for case in cut_cases()[::12]:
            said += [
                await _refusal(client, f"{kind}://{quote(case['text'])}")
                for kind in ("lesson", "reflection", "x")
            ]
    assert leaks("\n".join(said).encode()) == []


async def _refusal(client: Client, uri: str) -> str:
    try:
        return str(await client.read_resource(uri))
    except Exception as error:  # noqa: BLE001 - whatever it says is what the caller sees
        return str(error)


TEXT = f"The log said {SECRETS['github_token']} and {SECRETS['password']}"
OBJECTS: dict[str, tuple[type[Arguments], dict[str, Any]]] = {
    "events": (
        EventArguments,
        {"type": "tool_response", "tool": "bash", "content": "Error: refused"},
    ),
    "tool_results": (EventArguments, {"type": "tool_response", "tool": "bash", "content": "ok"}),
    "queries": (QueryArguments, {"table": "t", "query_text": "x"}),
    "catalog": (TableArguments, {"table": "t"}),
    "error": (ErrorArguments, {"message": "refused"}),
}


def values(name: str) -> list[Any]:
    """Values for an argument: the text, in a list and an object, and in each field of its own objects."""
    found: list[Any] = [TEXT, [TEXT], {"text": TEXT}]
    if name in OBJECTS:
        shape, item = OBJECTS[name]
        items = [
            {**item, field: value}
            for field in shape.model_fields
            for value in (TEXT, [TEXT], {"text": TEXT})
        ]
        found += items if name == "error" else [[item] for item in items]
    if name == "analysis":
        fields = (
            *ProposalArguments.model_fields,
            "reflection",
            "mistake",
            "correction",
            "symptoms",
            "quality_score",
        )
        found += [{"reflection": "It failed", field: TEXT} for field in fields]
    return found


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
async def test_no_argument_brings_a_secret_into_the_bank_or_an_answer(
    engine: Engine, bank_path: Path, capfd: pytest.CaptureFixture[str], tool: Any
) -> None:
    stored = await engine.store_lesson(
        mistake="The gateway timed out", correction="Raise its timeout"
    )
    ids = {
        "record_outcome": {"recall_id": None, "lesson_ids": [stored.lesson_id]},
        "forget_lesson": {"lesson_id": stored.lesson_id},
    }
    base = {**tool.examples[0], **ids.get(tool.name, {})}
    answers: list[str] = []
    accepted = 0
    async with Client(build(engine=engine)) as client:
        for name in tool.shape.model_fields:
            for value in values(name):
                result = await client.call_tool(tool.name, {**base, name: value})
                accepted += not result.is_error
                answers.append(str(result.content) + str(result.structured_content))
    assert accepted
    parts = [part for kind in ("github_token", "password") for part in TELLING[kind]]
    assert [answer for answer in answers if any(part in answer for part in parts)] == []
    assert found_in(bank_path.parent) == {}
    assert not any(part in "".join(capfd.readouterr()) for part in parts)


NAMES = (f"nightly {SECRETS['github_token']}", "night\u200bly", SECRETS["password"])
REFUSED = "remote: error: GH006: Protected branch update failed for refs/heads/main."


@pytest.mark.parametrize("name", NAMES)
async def test_a_run_is_found_by_the_name_it_was_reflected_under(engine: Engine, name: str) -> None:
    found = await engine.reflect(
        task="Push the branch", outcome="failure", error=REFUSED, run_id=name
    )
    assert (
        await engine.bank.reflections.of_run(engine.scopes.own, clean_text(name))
        == found.reflection_id
    )
    assert await engine.bank.reflections.of_run(engine.scopes.own, "another") is None


@pytest.mark.parametrize("name", NAMES)
async def test_a_run_s_steps_are_given_back_by_its_name(engine: Engine, name: str) -> None:
    left = [
        (await engine.should_reflect(confidence=0.1, run_id=name)).reflections_left
        for _ in range(2)
    ]
    await engine.reset_step_counts(name)
    assert (
        (await engine.should_reflect(confidence=0.1, run_id=name)).reflections_left
        == left[0]
        != left[1]
    )


@pytest.mark.parametrize("name", NAMES)
async def test_a_lesson_is_found_by_its_tag_and_its_task_type(engine: Engine, name: str) -> None:
    stored = await engine.store_lesson(
        mistake="Pushed to the protected branch",
        correction="Open a pull request",
        tags=[name],
        task_type=name,
    )
    for asked in ({"tags": [name]}, {"task_type": name}):
        (hit,) = (await engine.recall(task="push to the protected branch", **asked)).lessons
        assert hit.id == stored.lesson_id


@pytest.mark.parametrize("name", NAMES)
async def test_a_session_goes_on_under_its_name(engine: Engine, name: str) -> None:
    await engine.store_lesson(
        mistake="Pushed to the protected branch", correction="Open a pull request"
    )
    for failed_in in ("before", "before that"):
        await engine.after_call(
            "Bash", {"command": "git push origin main"}, error=REFUSED, session=failed_in
        )
    assert await engine.before_call("Bash", {"command": "git push origin main"}, session=name)
    await engine.after_call("Bash", {"command": "git push origin topic"}, "ok", session=name)
    assert await sequel_of(engine, clean_text(name)) == "heeded"
    assert await services.reminders.at_prompt(engine.context, name, "push the branch") is not None
    assert await services.reminders.at_prompt(engine.context, name, "push the branch") is None, (
        "it was shown in this session"
    )


@pytest.mark.parametrize(
    "name", [f"work {SECRETS['github_token']}", "/home/a/👨\u200d👩\u200d👧", "soft\u00adware"]
)
async def test_what_a_project_learnt_is_found_under_its_name_which_holds_no_secret(
    settings: Settings, bank_path: Path, name: str
) -> None:
    one, other = (
        replace(settings, project=name),
        replace(settings, project=name.replace("a", "b") + "!", projects=(name,)),
    )
    lesson = {"mistake": "Left the gateway open", "correction": "Close the gateway"}
    async with Engine(one) as engine:
        stored = await engine.store_lesson(**lesson)
        found = await engine.recall(task="the gateway is open")
        assert [hit.id for hit in found.lessons] == [stored.lesson_id]
        said = stored.scope + found.scope
    async with Engine(other) as engine:
        assert not (await engine.recall(task="the gateway is open")).lessons
        assert (await engine.recall(task="the gateway is open", project=name)).lessons
        await imported(engine, {**lesson, "project": name})
    async with Engine(one) as engine:
        assert [hit.id for hit in (await engine.recall(task="the gateway is open")).lessons] == [
            stored.lesson_id
        ]
    assert SECRETS["github_token"] not in said
    assert found_in(bank_path.parent) == {}


def test_the_stored_name_of_a_project_is_stable() -> None:
    name = stored_name(f"work {SECRETS['github_token']}")
    assert stored_name(name) == name
    assert stored_name("/home/a/project") == "/home/a/project"
