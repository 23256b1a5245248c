"""The choice of the past sessions that are replayed: all of the project, those of some days, or one by its name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mcp_reflect.clock import DAY
from mcp_reflect.errors import InputError
from mcp_reflect.security.redact import clean_text, quoted
from mcp_reflect.services.context import Context
from mcp_reflect.services.learn import scopes_of_folders
from mcp_reflect.sessions.session_lines import name_of_session, recorded_name_of_session
from mcp_reflect.sessions.session_sources import HOSTS, SessionSource, sessions_of
from mcp_reflect.sessions.session_times import last_worked

READ_ERRORS: Final = (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What the reading of a session may raise: its file may be of another version of its host."""

_MOST_NAMED: Final = 10  # sessions that an error lists
_MAX_QUOTED_CHARS: Final = 60  # of the name that was not found


def places_of(
    context: Context, *, session: str | None, days: float | None, faults: list[tuple[str, str]]
) -> list[SessionSource]:
    """Return the files of the project's past sessions in all hosts, the latest first.

    | `session`                                          | the files                                |
    |----------------------------------------------------|------------------------------------------|
    | the path of a file, wherever it is                 | this one                                 |
    | the beginning of a session's name, or of a file's  | those of the project with such a name    |
    | None                                               | all of the project                       |

    Without a path, `days` leaves out those in which nobody worked since.
    """
    if session is not None and Path(session).expanduser().is_file():
        return [_place_of_file(Path(session).expanduser())]
    all_places = [place for host in HOSTS for place in sessions_of(host, faults)]
    scope_of = scopes_of_folders(context, [place.folder for place in all_places])
    places = [place for place in all_places if scope_of(place.folder) == context.scopes.own]
    if session is not None:
        places = _with_name(places, session)
    if days is None:
        return places
    oldest_time = context.clock.now() - days * DAY
    return [place for place in places if last_worked(place) >= oldest_time]


def _place_of_file(file: Path) -> SessionSource:
    """Return a session's file that a person names; its host is known by a folder such as `.claude` in its path."""
    host_of_file = "file"
    for host in HOSTS:
        host_folder = f".{host.partition('-')[0]}"
        if host_folder in file.as_posix():
            host_of_file = host
            break
    status = file.stat()
    return SessionSource(file, host_of_file, status.st_size, status.st_mtime, None)


def _with_name(places: Sequence[SessionSource], session: str) -> list[SessionSource]:
    """Return the sessions whose name begins so. InputError, which names the latest sessions, where there is none."""
    name_by_path = {place.path: _shown_name(place) for place in places}
    matching = [
        place
        for place in places
        if place.path.name.startswith(session) or name_by_path[place.path].startswith(session)
    ]
    if matching:
        return matching
    quotation = quoted(session, _MAX_QUOTED_CHARS)
    fault = f"no session of this project has a name that begins with '{quotation}'"
    latest_first = sorted(places, key=lambda place: -place.changed)
    names = [name_by_path[place.path] for place in latest_first]
    raise InputError("--session", fault, _fix_with_names(names))


def _fix_with_names(names: Sequence[str]) -> str:
    """Return the fix of an error about an unknown session: "Give one of a1, b2, and 3 older ones; or …"."""
    if not names:
        return "This project has no past session on this machine."
    listed_names = ", ".join(names[:_MOST_NAMED])
    older_count = len(names) - _MOST_NAMED
    if older_count > 0:
        listed_names += f", and {older_count} older ones"
    return f"Give one of {listed_names}; or the path of a file."


def _shown_name(place: SessionSource) -> str:
    """Return the name by which a session is shown: the one in its file, else the name of the file."""
    try:
        name = recorded_name_of_session(place.path)
    except READ_ERRORS:
        name = name_of_session(place.path)
    return clean_text(name)
