"""The projects of the folders in which hooks ran, in a file beside the bank: a hook has no time to find one out.

The file has also the project in whose folder each session began.
"""

import json
import os
from contextlib import suppress
from typing import Final

from mcp_reflect.storage.spool import open_beside_bank
from mcp_reflect.whole_files import replace_whole

_FILE_ENDING: Final = ".folders"
SESSION_FOLDER: Final = "CLAUDE_PROJECT_DIR"
"""The variable in which Claude Code and Gemini CLI tell a hook's command the folder where its session began."""

_SUBPROJECTS: Final = "MCP_REFLECT_SUBPROJECTS"
_MOST_FOLDERS: Final = 500  # in the file, the latest ones
_MOST_SESSIONS: Final = 100  # in the file, the latest ones
_SESSION_PREFIX: Final = "session "
"""Begins the key of a session, which is kept with the project that it began in."""


def folder_key(folder: str) -> str:
    """Return the key under which the project of a hook's folder is stored: all that this project depends on.

    | part of the key                                    | as in                                |
    |----------------------------------------------------|--------------------------------------|
    | the folder                                         | `/work/shop`                         |
    | the folder where the session began, if another one | `/work/shop in /work`                |
    | the setting of subprojects, if there is one        | `/work/shop in /work by services/*`  |

    An agent's shell may set the last: the name that it causes counts for hooks with the same setting alone.
    """
    key = folder
    session_folder = os.environ.get(SESSION_FOLDER)
    if session_folder not in (None, "", folder):
        key += f" in {session_folder}"
    subprojects = os.environ.get(_SUBPROJECTS)
    if subprojects:
        key += f" by {subprojects}"
    return key


def project_in(bank: str, folder: str) -> str | None:
    """Return the project of a folder, None if no hook found it out yet."""
    return _project_by_key(bank).get(folder)


def note_project(bank: str, folder: str, project: str) -> None:
    """Store the project of a folder; the oldest folder goes if there are too many. OSError if it cannot be written."""
    project_by_key = _project_by_key(bank)
    if project_by_key.get(folder) == project:
        return
    # A key that was taken out comes last when it is put in again, so that the first key is the oldest.
    project_by_key.pop(folder, None)
    project_by_key[folder] = project
    sessions = [key for key in project_by_key if key.startswith(_SESSION_PREFIX)]
    folders = [key for key in project_by_key if not key.startswith(_SESSION_PREFIX)]
    for key in (*folders[:-_MOST_FOLDERS], *sessions[:-_MOST_SESSIONS]):
        del project_by_key[key]
    replace_whole(bank + _FILE_ENDING, json.dumps(project_by_key).encode())


def note_session(bank: str, session: str, project: str, *, anew: bool) -> None:
    """Store the project in whose folder a session began. OSError if it cannot be written.

    A session that begins `anew`, after its context was cleared, may be in another folder by now: its first project stays.
    """
    key = _SESSION_PREFIX + session
    if not (anew and project_in(bank, key)):
        note_project(bank, key, project)


def project_of_session(bank: str, session: str) -> str | None:
    """Return the project in whose folder a session began, None where no hook saw its start."""
    return project_in(bank, _SESSION_PREFIX + session)


def forget_projects(bank: str) -> None:
    """Forget the projects of all folders, since names of projects have changed.

    The projects in which sessions began stay: the guards of such a project hold wherever its session works.
    """
    sessions = {
        key: project
        for key, project in _project_by_key(bank).items()
        if key.startswith(_SESSION_PREFIX)
    }
    with suppress(OSError):
        if sessions:
            replace_whole(bank + _FILE_ENDING, json.dumps(sessions).encode())
        else:
            os.unlink(bank + _FILE_ENDING)  # noqa: PTH108 - pathlib takes as long to import as all of this


def _project_by_key(bank: str) -> dict[str, str]:
    """Return the project of each folder that is kept, the oldest first; none if the file cannot be read."""
    try:
        with os.fdopen(
            open_beside_bank(bank + _FILE_ENDING, os.O_RDONLY), encoding="utf-8"
        ) as file:
            return dict(json.load(file))
    except (OSError, ValueError, TypeError):
        return {}
