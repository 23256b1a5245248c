"""Ask the agent once for a lesson, when it stops and the session left something open."""

from typing import Final

from mcp_reflect.analysis.corrections import question, told_lessons
from mcp_reflect.analysis.diagnose import diagnose
from mcp_reflect.analysis.transcripts import read_transcript
from mcp_reflect.errors import InputError
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.run import ReflectArguments, plain_run, trace_from
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.services.warnings import session_state

_ASKED: Final = "asked"  # stands among the ids that the session was shown


async def ask_once(context: Context, session: str, transcript: str) -> str | None:
    """The question, or None where nothing is open, the agent told a lesson, or the session was asked already.

    A session is also not asked where it is held out for comparison, or where the setting `ask` is off.
    """
    if not context.settings.ask or not transcript.strip():
        return None
    scope = context.scopes.own
    state = await session_state(context, scope, session)
    if state.held_out or _ASKED in state.shown:
        return None
    text = question(_open_points(context, transcript))
    if not text:
        return None
    await context.bank.warnings.note_shown(scope, state, [_ASKED])  # unwritable: not asked, or it would be asked again
    context.log("lesson_asked", session=session)
    return text


def _open_points(context: Context, transcript: str) -> list[str]:
    """The open points of a session, in its order; none where it tells a lesson in any of its parts."""
    try:
        found = read_transcript(transcript)
    except InputError:
        return []
    points: list[str] = []
    for _, run in found.runs:
        trace = trace_from(
            clean(plain_run(read(ReflectArguments, run, context.settings), context.settings, clean_text))
        )
        if told_lessons(trace):
            return []
        points += diagnose(trace).open_points
    return points
