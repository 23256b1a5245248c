"""Dreaming: planned by rules, with proposals of others, applied in one transaction, and put back by undo."""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect import services
from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.llm.protocol import Role
from mcp_reflect.models.lesson import Lesson, Source, State
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker
from tests.held_clock import HeldClock
from tests.scripted import Scripted

ROOT = Path(__file__).parent.parent.parent
SAME = (
    "I searched for the wrong page of the orders service and should have looked at the log first",
    "I searched for the wrong page of the orders service and should have looked at the logs first",
)
NEAR = (
    "I searched for the right page of the orders service and should have looked at the wiki instead"
)
FAR = "Tulips want water in the evening"
GOOD: dict[str, Any] = {
    "success": True,
    "evidence": "test",
    "tool_results": [{"content": "1 passed", "exit_code": 0}],
}
BAD: dict[str, Any] = {
    "evidence": "test",
    "tool_results": [{"content": "1 failed", "exit_code": 1}],
}


async def reflections(engine: Engine, *texts: str) -> list[str]:
    """The ids of reflections with these texts."""
    found: list[str] = []
    for number, text in enumerate(texts):
        one = await engine.reflect(
            task=f"Task {number}", outcome="failure", analysis={"reflection": text}
        )
        found.append(one.reflection_id)
    return found


async def everything(engine: Engine) -> list[Lesson]:
    return await engine.bank.lessons.latest(engine.scopes.own, kind=None, state=None, limit=1000)


async def links(engine: Engine, name: str, relation: str) -> list[str]:
    return [
        link["to_id"]
        for link in await engine.bank.lessons.links(engine.scopes.own, name)
        if link["relation"] == relation
    ]


async def test_what_says_the_same_is_merged_and_stays_reachable(engine: Engine) -> None:
    ids = await reflections(engine, *SAME, FAR)
    dream = await engine.dream()
    (merge,) = dream.plan.merges
    assert {merge.keep, *merge.gone} == set(ids[:2])
    gone = await engine.bank.lessons.get(engine.scopes.own, merge.gone[0])
    kept = await engine.bank.lessons.get(engine.scopes.own, merge.keep)
    assert (gone.state, kept.state, kept.strength) == (State.ARCHIVED, State.ACTIVE, 2)
    assert await links(engine, gone.id, "merged_into") == [kept.id]
    assert await links(engine, kept.id, "merged_from") == [gone.id]
    assert gone.text in [
        version["text"] for version in await engine.bank.lessons.history(engine.scopes.own, kept.id)
    ]


async def test_what_became_of_a_merged_record_counts_for_the_one_it_lives_on_in(
    engine: Engine,
) -> None:
    one, other = await reflections(engine, *SAME)
    told = {one: (BAD, BAD), other: (GOOD,)}
    for name, outcomes in told.items():
        for outcome in outcomes:
            await engine.record_outcome(**{"success": False, "lesson_ids": [name], **outcome})
    own = {name: await engine.bank.lessons.get(engine.scopes.own, name) for name in told}
    dream = await engine.dream()
    (merge,) = dream.plan.merges
    gone = await engine.bank.lessons.get(engine.scopes.own, merge.gone[0])
    kept = await engine.bank.lessons.get(engine.scopes.own, merge.keep)
    assert (kept.wins, kept.losses) == (1, 2)
    assert (gone.wins, gone.losses, gone.effectiveness) == (0, 0, None)
    late = await engine.record_outcome(success=False, lesson_ids=[gone.id], **BAD)
    kept = await engine.bank.lessons.get(engine.scopes.own, merge.keep)
    assert (kept.wins, kept.losses) == (1, 3)
    assert late.updated[0].effectiveness == round(kept.effectiveness or 0, 4)
    assert dream.dream_id is not None
    await engine.undo_dream(dream.dream_id)
    for name, before in own.items():
        after = await engine.bank.lessons.get(engine.scopes.own, name)
        assert after.losses == before.losses + (name == gone.id)
        assert after.wins == before.wins


async def test_a_plan_changes_nothing_and_a_second_dream_neither(engine: Engine) -> None:
    await reflections(engine, *SAME, NEAR, FAR)
    before = await everything(engine)
    planned_only = await engine.dream(plan_only=True)
    assert (planned_only.status, await everything(engine)) == ("planned", before)
    first = await engine.dream()
    assert first.plan == planned_only.plan
    after = await everything(engine)
    second = await engine.dream()
    assert (second.status, second.dream_id, await everything(engine)) == (
        "nothing_to_do",
        None,
        after,
    )
    assert second.plan.clusters == first.plan.clusters


async def test_similar_records_are_a_cluster_but_not_merged(engine: Engine) -> None:
    one, other, _ = await reflections(engine, SAME[0], NEAR, FAR)
    dream = await engine.dream()
    assert [set(cluster) for cluster in dream.plan.clusters] == [{one, other}]
    assert (dream.status, dream.plan.merges) == ("nothing_to_do", ())


async def test_undo_puts_back_what_nobody_changed_since(engine: Engine, clock: HeldClock) -> None:
    ids = await reflections(engine, *SAME, NEAR)
    before = {one.id: (one.state, one.text, one.strength) for one in await everything(engine)}
    dream = await engine.dream()
    assert dream.dream_id is not None
    undone = await engine.undo_dream(dream.dream_id)
    assert set(undone.restored) == set(ids[:2])
    assert {
        one.id: (one.state, one.text, one.strength) for one in await everything(engine)
    } == before
    assert (
        await links(engine, ids[0], "merged_from") + await links(engine, ids[0], "merged_into")
        == []
    )
    with pytest.raises(InputError, match="undone already"):
        await engine.undo_dream(dream.dream_id)
    with pytest.raises(NotFoundError, match="no 'drm_none'"):
        await engine.undo_dream("drm_none")
    again = await engine.dream()
    assert again.dream_id is not None
    clock.time += 60
    kept = again.plan.merges[0].keep
    await engine.edit_lesson(kept, {"importance": 0.9}, by=Speaker.PERSON)
    undone = await engine.undo_dream(again.dream_id)
    assert undone.skipped == (kept,)
    assert (await engine.bank.lessons.get(engine.scopes.own, kept)).importance == 0.9


async def test_what_is_proved_useless_is_archived_unless_it_matters_too_much(
    engine: Engine,
) -> None:
    low = await engine.store_lesson(
        mistake="Used the amber lamp", correction="Use the birch lamp", importance=0.7
    )
    high = await engine.store_lesson(
        mistake="Moved the cedar desk", correction="Lift the daisy desk", importance=0.7
    )
    await engine.edit_lesson(high.lesson_id, {"importance": 0.8}, by=Speaker.PERSON)
    for _ in range(5):
        await engine.record_outcome(
            success=False, lesson_ids=[low.lesson_id, high.lesson_id], **BAD
        )
    dream = await engine.dream()
    assert [one.id for one in dream.plan.archivings] == [low.lesson_id]
    assert (await engine.bank.lessons.get(engine.scopes.own, low.lesson_id)).state is State.ARCHIVED


async def test_of_two_dreams_at_once_the_second_finds_nothing_to_do(
    settings: Settings, engine: Engine
) -> None:
    await reflections(engine, *SAME)
    async with Engine(settings) as other:
        dreams = await asyncio.gather(engine.dream(), other.dream())
    assert sorted(dream.status for dream in dreams) == ["applied", "nothing_to_do"]
    assert sorted(one.state for one in await everything(engine)) == [State.ACTIVE, State.ARCHIVED]


async def test_a_dream_that_is_broken_off_is_done_whole_or_not_at_all(engine: Engine) -> None:
    await reflections(engine, *SAME, NEAR)
    before = await everything(engine)
    for turns in range(0, 60, 3):
        dreaming = asyncio.create_task(engine.dream())
        for _ in range(turns):
            await asyncio.sleep(0)
        dreaming.cancel()
        await asyncio.wait([dreaming])
        changed = sum(
            one != other for one, other in zip(await everything(engine), before, strict=True)
        )
        assert changed == 2 * len(await engine.bank.consolidations.latest(engine.scopes.own))
        if changed:
            return


def test_the_command_plans_does_lists_and_undoes(
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv(
        "MCP_REFLECT_BANK",
        settings.bank.whole if isinstance(settings.bank, ServerUrl) else str(settings.bank),
    )
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "app")
    runs = [
        {"task": f"Task {place}", "outcome": "failure", "analysis": text}
        for place, text in enumerate(SAME)
    ]
    (tmp_path / "runs.jsonl").write_text("\n".join(map(json.dumps, runs)))
    assert main(["reflect", str(tmp_path / "runs.jsonl")]) == 0
    capsys.readouterr()

    def said(*words: str) -> str:
        assert main(["dream", *words]) == 0
        return capsys.readouterr().out

    assert "merge into" in said("--plan")
    assert "No dreams" in said("--list")
    dream = json.loads(said("--json"))
    assert dream["status"] == "applied"
    assert dream["dream_id"] in said("--list")
    assert "nothing to do" in said()
    assert "2 records put back" in said("--undo", dream["dream_id"])
    assert "ref_" in said("--prompt")


async def test_dreams_log_their_events_with_the_keys_of_the_page(
    bank_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs/python.md").read_text()
    told = dict(re.findall(r"^- `(dream_\w+)`: ([\w, ]+)$", page, re.MULTILINE))
    async with Engine(Settings(bank=bank_path, project="app", log_level="info")) as engine:
        await reflections(engine, *SAME, FAR)
        dream = await engine.dream()
        assert dream.dream_id is not None
        await engine.undo_dream(dream.dream_id)
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    keys = {
        line["event"]: sorted(key for key in line if key not in ("event", "level", "timestamp"))
        for line in lines
        if line["event"].startswith("dream_")
    }
    assert keys == {
        name: sorted(found.split(", ")) for name, found in told.items() if name != "dream_failed"
    }


LESSONS = (
    ("Sent an empty body to the billing service", "Fill the body before sending"),
    ("Posted nothing to the invoice endpoint", "Check that there is something to post"),
    ("Called the refund endpoint without any fields", "Give every required field"),
)
GENERAL = {
    "mistake": "Called an endpoint with nothing in the request",
    "correction": "Validate requests before they go",
}


async def stored(
    engine: Engine, lessons: Sequence[tuple[str, str]] = LESSONS, **more: Any
) -> list[str]:
    return [
        (
            await engine.store_lesson(
                mistake=mistake, correction=correction, context=f"task {place}", **more
            )
        ).lesson_id
        for place, (mistake, correction) in enumerate(lessons)
    ]


async def test_without_a_model_or_the_host_there_is_no_new_text(engine: Engine) -> None:
    await stored(engine)
    dream = await engine.dream()
    assert (dream.plan.thinker, dream.added) == ("rules", ())


async def test_findings_without_a_lesson_are_shown_to_the_model(engine: Engine) -> None:
    events = [
        {
            "type": "tool_call",
            "tool": "deploy",
            "arguments": {"to": "staging"},
            "error": "quota exceeded",
        }
    ]
    reflection = await engine.reflect(task="Deploy", outcome="failure", events=events)
    await stored(engine)
    prompt = await services.dream_proposals.prompt(engine.context)
    (line,) = [line for line in prompt.splitlines() if reflection.reflection_id in line]
    assert "No lesson yet of: deploy " in line
    assert "quota exceeded" in line


async def test_a_model_generalizes_and_the_lesson_is_tied_to_its_sources(
    settings: Settings,
) -> None:
    async with Engine(settings) as preparing:
        ids = await stored(preparing)
    reply = json.dumps({"merge": [], "generalize": [{"ids": ids, **GENERAL, "importance": 0.6}]})
    with Scripted(reply, roles=[Role.DREAMER]) as llm:
        async with Engine(settings, llm=llm) as engine:
            dream = await engine.dream()
            (made,) = dream.added
            lesson = await engine.bank.lessons.get(engine.scopes.own, made)
            assert (lesson.mistake, lesson.source, lesson.importance) == (
                GENERAL["mistake"],
                Source.MODEL,
                0.6,
            )
            ties = {
                (link["relation"], link["to_id"])
                for link in await engine.bank.lessons.links(engine.scopes.own, made)
            }
            assert {("derived_from", name) for name in ids} <= ties
            assert all(name in llm.asked[0].user for name in ids)
            again = await engine.dream()  # nothing changed since: the model is not asked again
            assert (again.status, again.plan.note) == (
                "nothing_to_do",
                "nothing changed since the last dream",
            )
            assert dream.dream_id is not None
            await engine.undo_dream(dream.dream_id)
            assert (await engine.bank.lessons.get(engine.scopes.own, made)).state is State.ARCHIVED


async def test_the_hosts_answer_is_taken_as_a_models_is(engine: Engine) -> None:
    ids = await stored(engine)
    answer = f"Here it is:\n```json\n{json.dumps({'generalize': [{'ids': ids, **GENERAL}]})}\n```"
    dream = await engine.dream(analysis=answer)
    assert (dream.plan.thinker, len(dream.added)) == ("host", 1)
    with pytest.raises(InputError, match="holds no object"):
        await engine.dream(analysis="Nothing comes to mind.")


async def test_a_merge_in_new_words_is_a_version_and_the_others_stay_tied(engine: Engine) -> None:
    ids = await stored(engine, LESSONS[:2])
    words = {
        "mistake": "Sent nothing to a billing endpoint",
        "correction": "Fill the request first",
    }
    dream = await engine.dream(analysis={"merge": [{"ids": ids, **words, "reason": "the same"}]})
    (merge,) = dream.plan.merges
    kept = await engine.bank.lessons.get(engine.scopes.own, merge.keep)
    assert (kept.mistake, kept.text) == (
        words["mistake"],
        "Sent nothing to a billing endpoint. Fill the request first",
    )
    texts = [
        version["text"] for version in await engine.bank.lessons.history(engine.scopes.own, kept.id)
    ]
    assert {f"{mistake}. {correction}" for mistake, correction in LESSONS[:2]} <= set(texts)
    assert [
        hit.id for hit in (await engine.recall(task="sent nothing to a billing endpoint")).lessons
    ] == [kept.id]


@pytest.mark.parametrize(
    ("proposal", "reason"),
    [
        ({"generalize": [{"ids": ["0", "1"], **GENERAL}]}, "fewer than 3"),
        ({"generalize": [{"ids": ["0", "1", "les_none"], **GENERAL}]}, "not shown"),
        ({"generalize": [{"ids": ["0", "1", "2"], "mistake": "Sent nothing"}]}, "are missing"),
        ({"merge": [{"ids": ["0"], **GENERAL}]}, "fewer than two"),
        (
            {"merge": [{"ids": ["0", "1"], **GENERAL, "correction": "Retry 3 times"}]},
            "differ in a number",
        ),
    ],
)
async def test_what_the_records_do_not_bear_is_refused_with_the_reason(
    engine: Engine, proposal: dict[str, Any], reason: str
) -> None:
    ids = await stored(engine)
    text = json.dumps(proposal)
    for place, name in enumerate(ids):
        text = text.replace(f'"{place}"', f'"{name}"')
    dream = await engine.dream(analysis=json.loads(text))
    assert (dream.status, dream.added) == ("nothing_to_do", ())
    assert reason in dream.plan.refused[0]
