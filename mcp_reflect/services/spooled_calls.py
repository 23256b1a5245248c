"""Note the calls that hooks had no time for and left in a file, the spool; a later hook or a server does so."""

import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from mcp_reflect.errors import BankError, InputError
from mcp_reflect.project_folders import project_of
from mcp_reflect.projects import Scopes, stored_name
from mcp_reflect.services.context import Context
from mcp_reflect.services.warnings import after_call
from mcp_reflect.storage.spool import Spool

_MOST_SPOOLED: Final = 20  # calls that are taken in at once
_FIELDS: Final = frozenset({"tool", "arguments", "result", "error"})
"""What a line has of a call, beside its session and its project or folder."""


async def note_spooled(context: Context, spool: Spool, seconds: float) -> None:
    """Note calls of the spool for at most `seconds`.

    Each is noted for the project of its hook; what is not noted stays in the file.
    """
    ends = time.monotonic() + seconds
    if seconds <= 0:
        return
    spool.take(_MOST_SPOOLED)
    with suppress(BankError):
        while spool.pending and time.monotonic() < ends:
            await _note_one_spooled(context, dict(spool.pending[0]))
            spool.pending.pop(0)
    spool.keep()


async def _note_one_spooled(context: Context, record: dict[str, Any]) -> None:
    """Note one call, for the project that its line names, else for that of the folder that it names."""
    project, folder = record.pop("project", None), record.pop("folder", None)
    if project is None and folder:
        project = stored_name(project_of(Path(folder), context.settings.subprojects))
    scope = context.scopes.own
    if project is not None:
        scope = replace(scope, project=project)
    session = record.pop("session", None) or context.clock.new_id("ses")
    if record.keys() != _FIELDS or not isinstance(record["tool"], str):  # a line of another release
        return
    with suppress(InputError):  # a call that cannot be kept, such as one without a name
        context_of_call = replace(context, scopes=Scopes(scope))
        await after_call(context_of_call, session=session, reaches_agent=False, **record)
