"""The guards that a person enforces, for a machine whose bank is elsewhere and may be unreachable one day.

An enforced guard refuses a call each time. A machine keeps a copy of these guards, so that they also refuse calls while
the bank does not answer.
"""

from typing import Final

from mcp_reflect.models.lesson import GuardMode
from mcp_reflect.models.warning import EnforcedGuard
from mcp_reflect.moments.guarded import may_hold, mode_in
from mcp_reflect.moments.texts import guard_text
from mcp_reflect.services.context import Context

MOST_GUARDS: Final = 100
"""That a machine keeps: a person enforces a few."""
MOST_CHARS: Final = 64_000
"""Characters of all of them: a machine reads them before a call that its bank does not answer."""


async def enforced_guards(context: Context) -> tuple[EnforcedGuard, ...]:
    """Return the enforced guards of the project, the newest first, as many as a machine keeps."""
    scope = context.scopes.own
    mode_of_project = await context.bank.guards.mode(scope)
    if mode_in(context.settings.guards, mode_of_project) is GuardMode.OFF:
        return ()
    guards: list[EnforcedGuard] = []
    remaining_chars = MOST_CHARS
    for lesson in await context.bank.guards.enforced(scope, MOST_GUARDS):
        if not may_hold(lesson) or not lesson.guard:
            continue
        text = guard_text(lesson, hold=True, always=True)
        remaining_chars -= len(lesson.guard) + len(text)
        if remaining_chars < 0:
            break
        guards.append(EnforcedGuard(lesson_id=lesson.id, guard=lesson.guard, text=text))
    return tuple(guards)
