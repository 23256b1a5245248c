"""What one project learnt is for another as if it were not there: no text, no id, no count, no error tells of it."""

import json

from mcp import Client

from mcp_reflect.engine import Engine
from mcp_reflect.server.app import build
from mcp_reflect.settings import Settings

MARK = "zebrafish quokka"  # rare words by which a record would be found
ASKED = "Feed the zebrafish"


async def test_another_projects_lessons_are_as_if_they_were_not_there(engine: Engine, settings: Settings) -> None:
    """The other project's ids, texts and counts, on every surface; an error says the same as for no such id."""
    async with Engine(Settings(bank=settings.bank_path, project="elsewhere")) as other:
        stored = await other.store_lesson(mistake=f"The {MARK} failed", correction="Mend it", task_type="zebrafish")
        reflected = await other.reflect(
            task=f"Feed the {MARK}", outcome="failure", events=[{"type": "observation", "content": MARK}]
        )
        recalled = await other.recall(task=MARK)
        theirs = [stored.lesson_id, reflected.reflection_id, recalled.recall_id]
    said = [repr(await engine.recall(task=ASKED)), json.dumps(dict(await engine.get_stats()))]
    async with Client(build(engine=engine)) as client:
        uris = ("bank://lessons", "bank://reflections", "bank://stats", "bank://board", "ui://mcp-reflect/board")
        said += [str((await client.read_resource(uri)).contents) for uri in uris]
        said.append(str((await client.get_prompt("start_task", {"task": ASKED})).messages))
        said.append(str((await client.get_prompt("distill_lessons", {})).messages))
        for lesson, reflection, recall in (theirs, ["les_nothing", "ref_nothing", "rec_nothing"]):
            for tool, arguments in (
                ("forget_lesson", {"lesson_id": lesson, "reason": "r"}),
                ("record_outcome", {"success": True, "lesson_ids": [lesson]}),
                ("record_outcome", {"success": True, "recall_id": recall}),
                ("reflect", {"reflection_id": reflection, "analysis": {"reflection": "r"}}),
                ("reflect", {"task": "t", "outcome": "failure", "related_ids": [lesson]}),
                ("critique", {"goal": "g", "response": "r", "recall_id": recall}),
            ):
                result = await client.call_tool(tool, arguments)
                assert result.is_error
                text = str(result.content)
                for name in (lesson, reflection, recall):
                    text = text.replace(name, "ID")
                said.append(text)
    assert said[-6:] == said[-12:-6]
    assert [
        text
        for text in said
        if "quokka" in text and "lessons=()" not in text and "No lesson" not in text and "data name" not in text
    ] == []
    stats = await engine.get_stats()
    assert (stats["total_reflections"], stats["lessons_stored"], stats["failures"]) == (0, 0, 0)
