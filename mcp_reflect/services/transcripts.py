"""Transcripts and messages of hosts: read as the events of a run, and the question for a lesson when an agent stops."""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from mcp_reflect.analysis.diagnose import diagnose, question, told_lessons
from mcp_reflect.analysis.transcripts import read_transcript
from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import from_json
from mcp_reflect.models.run import Trace
from mcp_reflect.schemas.fields import check_values, read
from mcp_reflect.schemas.run import ReflectArguments, plain_run
from mcp_reflect.services.context import Context
from mcp_reflect.services.warnings import session_state

_EVENT_NAMES: Final = ("events", "messages", "transcript", "trace", "history")
_FOREIGN_NAMES: Final = ("role", "sessionId", "payload")  # of a model's message or a line of a host's session
_ASKED: Final = "asked"  # stands among the ids that the session was shown


def with_own_events(arguments: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
    """Return arguments of reflect with messages of OpenAI or Anthropic and lines of a session read as events."""
    name = next((name for name in _EVENT_NAMES if arguments.get(name)), "")
    events = arguments.get(name)
    if isinstance(events, list | tuple):
        items = cast("list[Any]", events)
        if not any(map(_is_foreign, items)):
            return arguments
        check_values({name: items}, limits)  # what is too deep or too large has no JSON text
        events = "\n".join(item.strip() if isinstance(item, str) else json.dumps(item, default=str) for item in items)
    if not isinstance(events, str):
        return arguments
    try:
        runs = [run for _, run in read_transcript(events).runs]
    except InputError:
        return arguments
    own = [event for run in runs for event in run.get("events", ()) if run.get("run_id")]
    return {**{key: value for key, value in arguments.items() if key != name}, "events": own} if own else arguments


def _is_foreign(item: Any) -> bool:
    if isinstance(item, str):
        return item.lstrip().startswith("{") and any(f'"{name}"' in item for name in _FOREIGN_NAMES)
    return isinstance(item, Mapping) and any(name in item for name in _FOREIGN_NAMES)


async def ask_once(context: Context, session: str, transcript: str) -> str | None:
    """Return the question for a lesson about the open points of a session, once a session, else None.

    None also where the agent told a lesson itself, the session is held out, or the setting `ask` is off.
    """
    settings, scope = context.settings, context.scopes.own
    if not settings.ask or not transcript.strip():
        return None
    state = await session_state(context, scope, session)
    if state.held_out or _ASKED in state.shown:
        return None
    try:
        runs = read_transcript(transcript).runs
    except InputError:
        return None
    open_points: list[str] = []
    for _, run in runs:
        trace: Trace = from_json(Trace, plain_run(read(ReflectArguments, run, settings), settings))
        if told_lessons(trace):
            return None
        open_points += diagnose(trace).open_points
    text = question(open_points)
    if not text:
        return None
    await context.bank.warnings.note_shown(scope, state, [_ASKED])  # unwritable: not asked, or it would be asked again
    context.log("lesson_asked", session=session)
    return text
