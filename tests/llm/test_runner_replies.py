"""What becomes of a language model's reply: used, asked for again with its fault shown, or read from plain text."""

from pathlib import Path

from mcp_reflect.llm.protocol import Role
from mcp_reflect.models.lesson import Source
from tests.llm.contract import every_dialect
from tests.llm.dialects import Dialect
from tests.llm.loopback import Loopback
from tests.llm.reflect_calls import BAD, GOOD, both_eras, bound_to, reflect, rows, said, serving
from tests.scripted import NAME, Scripted


@both_eras
async def test_a_good_reply_is_the_reflection_and_its_lesson_comes_from_a_model(tmp_path: Path, mode: str) -> None:
    with Scripted(said(GOOD), roles=[Role.REFLECTOR]) as llm:
        async with serving(tmp_path, llm, mode=mode) as (client, engine):
            found = await reflect(client)
            lesson = await engine.bank.lessons.get(engine.scopes.own, found["lessons"][0]["id"])
    assert found["thinker"] == NAME
    assert (found["reflection"], found["strategy"]) == (GOOD["reflection"], GOOD["strategy"])
    assert (found["importance"], found["confidence"]) == (0.8, 0.9)
    assert "note" not in found
    assert "next" not in found
    assert (lesson.source, lesson.mistake) == (Source.MODEL, GOOD["mistake"])


@every_dialect
async def test_a_bad_score_is_asked_for_again_with_the_fault_shown(tmp_path: Path, dialect: Dialect) -> None:
    end = dialect.stops["end"]
    async with (
        Loopback(dialect.say(said(BAD), end), dialect.say(said(GOOD), end)) as server,
        serving(tmp_path, **bound_to(dialect, server.url)) as (client, _),
    ):
        found = await reflect(client)
    first, second = map(dialect.user_of, server.received)
    assert (found["thinker"], found["importance"]) == (f"{dialect.name}:test-model", 0.8)
    assert second.startswith(first)
    assert "analysis.importance" in second.removeprefix(first)
    assert dialect.system_of(server.received[0]) == dialect.system_of(server.received[1])


async def test_the_fault_of_a_reply_is_shown_inside_a_fence(tmp_path: Path) -> None:
    with Scripted(said(BAD), said(GOOD)) as llm:
        async with serving(tmp_path, llm) as (client, _):
            await reflect(client)
    told = llm.asked[1].user.removeprefix(llm.asked[0].user)
    mark = told.split('<data name="fault" seal="')[1][:12]
    assert "analysis.importance" in told.split(f'seal="{mark}">')[1].split(f"</data {mark}>")[0]


async def test_two_replies_that_cannot_be_used_leave_it_to_rules(tmp_path: Path) -> None:
    with Scripted(said(BAD), said(BAD)) as llm:
        async with serving(tmp_path, llm) as (client, _):
            found = await reflect(client)
    assert found["thinker"] == "rules"
    assert found["note"].startswith(f"{NAME} sent nothing that can be used: analysis.importance")
    assert found["next"]["send"].startswith("reflection_id with analysis {mistake, correction, symptoms}")
    assert rows(tmp_path)["reflections"] == 1


async def test_plain_text_is_read_and_marked(tmp_path: Path) -> None:
    text = "## Reflection\nThe namespace was missing.\n\n## Strategy\nCreate the namespace first."
    with Scripted(text, text) as llm:
        async with serving(tmp_path, llm) as (client, _):
            found = await reflect(client)
    assert found["thinker"] == NAME
    assert (found["reflection"], found["strategy"]) == ("The namespace was missing.", "Create the namespace first.")
    assert found["note"] == "read from plain text: the reply was not JSON"


async def test_an_event_that_is_not_in_the_run_cannot_be_cited(tmp_path: Path) -> None:
    with Scripted(said({**GOOD, "reflection": "It failed in [e9]."}), said(GOOD)) as llm:
        async with serving(tmp_path, llm) as (client, _):
            found = await reflect(client)
    assert "e9" in llm.asked[1].user.removeprefix(llm.asked[0].user)
    assert found["source_event_ids"] == ["e2"]
