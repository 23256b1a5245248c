"""The lesson that a request names, for `curation` and `reviews`, if its speaker may read or change it."""

from collections.abc import Mapping
from typing import Any

from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.common import GLOBAL
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.shown_digest import NOTHING_SEEN, Seen
from mcp_reflect.security.redact import quoted
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker

Sent = Mapping[str, Any]
"""The values of a request by their names, as the command line or the board sends them."""


async def lesson_to_read(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Return the lesson whose id is `sent["id"]`, or begins or ends with it; InputError if there is not just one.

    To an agent, a lesson in quarantine does not exist.
    """
    own_scope = engine.scopes.own
    lessons = engine.bank.lessons
    lesson_id = await lessons.resolve_id(own_scope, str(sent["id"]))
    lesson = await lessons.get(own_scope, lesson_id, "id")
    if lesson.held and speaker is not Speaker.PERSON:
        fault = "it is in quarantine, and waits for a person"
        raise NotFoundError("id", fault, "Ask one to run mcp-reflect lessons review.")
    return lesson


async def lesson_to_change(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Return the lesson as `lesson_to_read` does; InputError for a lesson of all projects that this caller may not change."""
    lesson = await lesson_to_read(engine, sent, speaker=speaker)
    if lesson.project == GLOBAL:
        engine.scopes.refuse_shared("id")
    return lesson


def seen_by_speaker(sent: Sent, speaker: Speaker, *ids: str) -> Seen:
    """Return the digests of the records, as a person was shown them, on which they act; none for an agent.

    The act is refused later where a record has changed, so that a person decides about words that they read. InputError
    where the person's request does not say what was shown: the act would count for the record as it is now.
    """
    if speaker is not Speaker.PERSON:
        return NOTHING_SEEN
    seen: Seen = sent.get("seen") or NOTHING_SEEN
    for record_id in ids:
        if record_id not in seen:
            fault = f"it does not say what was shown of '{quoted(record_id)}'"
            raise InputError("seen", fault, "Use the page and the command line of this version.")
    return {record_id: str(seen[record_id]) for record_id in ids}
