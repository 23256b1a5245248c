"""The lesson that a request names, and whether its speaker may read or change it; `curation` and `reviews` ask here."""

from collections.abc import Mapping
from typing import Any

from mcp_reflect.errors import NotFoundError
from mcp_reflect.models.common import GLOBAL
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker

Sent = Mapping[str, Any]
"""The values of a request by their names, as the command line or the board sends them."""


async def lesson_to_read(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Return the lesson whose id is `sent["id"]`, or begins or ends with it; InputError if there is not just one.

    To an agent, a lesson in quarantine does not exist.
    """
    own, lessons = engine.scopes.own, engine.bank.lessons
    lesson_id = await lessons.resolve_id(own, str(sent["id"]))
    lesson = await lessons.get(own, lesson_id, "id")
    if lesson.held and speaker is not Speaker.PERSON:
        fault = "it is in quarantine, and waits for a person"
        raise NotFoundError("id", fault, "Ask one to run mcp-reflect lessons review.")
    return lesson


async def lesson_to_change(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Return the lesson as `lesson_to_read` does; InputError if it is for all projects, and this caller's are not."""
    lesson = await lesson_to_read(engine, sent, speaker=speaker)
    if lesson.project == GLOBAL:
        engine.scopes.refuse_shared("id")
    return lesson
