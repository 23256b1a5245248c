"""Which past sessions are replayed: all of the project, those of some days, or one that a person names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mcp_reflect.clock import DAY
from mcp_reflect.errors import InputError
from mcp_reflect.security.redact import clean_text, quoted
from mcp_reflect.services.context import Context
from mcp_reflect.services.learn import scopes_of_folders
from mcp_reflect.sessions.session_lines import name_of_session, told_name_of_session
from mcp_reflect.sessions.session_sources import HOSTS, SessionSource, sessions_of
from mcp_reflect.sessions.session_times import last_worked

READ_ERRORS: Final = (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What the reading of a session may raise: its file may be of another version of its host."""

_MOST_NAMED: Final = 10  # sessions that an error lists


def places_of(
    context: Context, *, session: str | None, days: float | None, faults: list[tuple[str, str]]
) -> list[SessionSource]:
    """Return the files of the project's past sessions in all hosts, the latest first.

    `session` is the path of a file, wherever it is, or the beginning of a session's name: of its file's, or of the one
    that the session tells itself, by which it is shown.
    """
    if session is not None and Path(session).expanduser().is_file():
        return [_place_of_file(Path(session).expanduser())]
    places = [place for host in HOSTS for place in sessions_of(host, faults)]
    scope_of = scopes_of_folders(context, [place.folder for place in places])
    of_project = [place for place in places if scope_of(place.folder) == context.scopes.own]
    if session is not None:
        of_project = _with_name(of_project, session)
    if days is None:
        return of_project
    oldest = context.clock.now() - days * DAY
    return [place for place in of_project if last_worked(place) >= oldest]


def _place_of_file(file: Path) -> SessionSource:
    """Return a session's file that a person names; its host is told by a folder such as `.claude` in its path."""
    named_host = "file"
    for host in HOSTS:
        host_folder = f".{host.partition('-')[0]}"
        if host_folder in file.as_posix():
            named_host = host
            break
    status = file.stat()
    return SessionSource(file, named_host, status.st_size, status.st_mtime, None)


def _with_name(places: Sequence[SessionSource], session: str) -> list[SessionSource]:
    """Return the sessions whose name begins so. InputError, which names the latest sessions, where there is none."""
    names = {place.path: _shown_name(place) for place in places}
    matching = [
        place
        for place in places
        if place.path.name.startswith(session) or names[place.path].startswith(session)
    ]
    if matching:
        return matching
    fault = f"no session of this project has a name that begins with '{quoted(session, 60)}'"
    latest_first = sorted(places, key=lambda place: -place.changed)
    raise InputError("--session", fault, _fix_naming([names[place.path] for place in latest_first]))


def _fix_naming(names: Sequence[str]) -> str:
    """Return the fix of an error about an unknown session: the names of those there are, the latest first."""
    if not names:
        return "This project has no past session on this machine."
    shown = ", ".join(names[:_MOST_NAMED])
    left = len(names) - _MOST_NAMED
    if left > 0:
        shown += f", and {left} older ones"
    return f"Give one of {shown}; or the path of a file."


def _shown_name(place: SessionSource) -> str:
    """Return the name by which a session is shown: its own, or that of a file which tells none."""
    try:
        name = told_name_of_session(place.path)
    except READ_ERRORS:
        name = name_of_session(place.path)
    return clean_text(name)
