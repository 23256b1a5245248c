"""What one project or tenant learnt is for another as if it were not there: no text, id, count or error tells of it."""

import json
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.models.common import GLOBAL, Json, Scope
from mcp_reflect.projects import Scopes
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine

MARK = "zebrafish quokka"  # rare words by which a record would be found
ASKED = "Feed the zebrafish"
CALL: Json = {"command": "feed --all zebrafish"}
OTHERS = (Scope("local", "elsewhere"), Scope("another", "app"), Scope("another", GLOBAL))


@pytest.mark.parametrize("whose", OTHERS, ids=("project", "tenant", "tenant's global"))
async def test_anothers_lessons_are_as_if_they_were_not_there(
    engine: Engine, settings: Settings, whose: Scope
) -> None:
    """The other's ids, texts and counts, on every surface; an error says the same as for no such id."""
    async with Engine(settings) as other:
        other.scopes = Scopes(whose)
        other.context = replace(other.context, scopes=other.scopes)
        for failed_in in ("r", "s"):
            await other.after_call(
                "Bash", CALL, error=f"feed: {MARK}: no such tank", session=failed_in
            )
        stored = await other.store_lesson(
            mistake=f"The {MARK} failed", correction="Mend it", task_type="zebrafish"
        )
        reflected = await other.reflect(
            task=f"Feed the {MARK}",
            outcome="failure",
            events=[{"type": "observation", "content": MARK}],
        )
        recalled = await other.recall(task=MARK)
        theirs = [stored.lesson_id, reflected.reflection_id, recalled.recall_id]
        critique = await other.critique(goal=f"Count the {MARK}", steps=["1 + 1 = 3"])
        plan = await other.replan(
            user_message=MARK, queries=[{"table": "t", "search_mode": "OR", "query_text": MARK}]
        )
        assert await other.before_call("Bash", CALL, session="t"), "it is known where it failed"
    assert await engine.before_call("Bash", CALL, session="s") is None
    assert await services.reminders.at_prompt(engine.context, "s", ASKED) is None
    said = [repr(await engine.recall(task=ASKED)), json.dumps(dict(await engine.get_stats()))]
    async with Client(build(engine=engine)) as client:
        uris = (
            "bank://lessons",
            "bank://reflections",
            "bank://stats",
            "bank://board",
            "ui://mcp-reflect/board",
        )
        said += [str((await client.read_resource(uri)).contents) for uri in uris]
        said.append(str((await client.get_prompt("start_task", {"task": ASKED})).messages))
        said.append(str((await client.get_prompt("distill_lessons", {})).messages))
        graph = await client.read_resource("graph://tool/Bash")
        said.append(str(graph.contents))
        theirs += [critique.critique_id or "", plan.search_id]
        for lesson, reflection, recall, working, search in (
            theirs,
            ["les_nothing", "ref_nothing", "rec_nothing", "crt_nothing", "srch_nothing"],
        ):
            calls: tuple[tuple[str, dict[str, Any]], ...] = (
                ("forget_lesson", {"lesson_id": lesson, "reason": "r"}),
                ("record_outcome", {"success": True, "lesson_ids": [lesson]}),
                ("record_outcome", {"success": True, "recall_id": recall}),
                ("reflect", {"reflection_id": reflection, "analysis": {"reflection": "r"}}),
                ("reflect", {"task": "t", "outcome": "failure", "related_ids": [lesson]}),
                ("critique", {"goal": "g", "response": "r", "recall_id": recall}),
                ("critique", {"critique_id": working, "analysis": {"issues": []}}),
                (
                    "replan_search",
                    {"user_message": "u", "search_id": search, "queries": [{"table": "t"}]},
                ),
            )
            for tool, arguments in calls:
                result = await client.call_tool(tool, arguments)
                assert result.is_error
                text = str(result.content)
                for name in (lesson, reflection, recall, working, search):
                    text = text.replace(name, "ID")
                said.append(text)
    assert said[-8:] == said[-16:-8]
    assert [
        text
        for text in said
        if "quokka" in text
        and "lessons=()" not in text
        and "No lesson" not in text
        and "data name" not in text
    ] == []
    stats = await engine.get_stats()
    assert (stats["total_reflections"], stats["lessons_stored"], stats["failures"]) == (0, 0, 0)
