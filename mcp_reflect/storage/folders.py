"""The project of each folder in which hooks ran, beside the bank: to find it out takes longer than a hook may."""

import json
import os
from contextlib import suppress
from typing import Final

_ENDING: Final = ".folders"
_MOST: Final = 500  # folders that are kept, the last ones


def project_in(bank: str, folder: str) -> str | None:
    """Return the project of a folder, None where no hook found it out yet."""
    return _read(bank).get(folder)


def note_project(bank: str, folder: str, project: str) -> None:
    """Keep the project of a folder. Raises OSError if that cannot be written."""
    known = _read(bank)
    if known.get(folder) == project:
        return
    known.pop(folder, None)
    kept = dict([*known.items(), (folder, project)][-_MOST:])
    draft = f"{bank}{_ENDING}.{os.getpid()}"
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(kept, file, ensure_ascii=False)
    os.replace(draft, bank + _ENDING)  # noqa: PTH105 - pathlib takes as long to import as all of this


def forget_projects(bank: str) -> None:
    """Forget the projects of all folders: names have changed."""
    with suppress(OSError):
        os.unlink(bank + _ENDING)  # noqa: PTH108 - pathlib takes as long to import as all of this


def _read(bank: str) -> dict[str, str]:
    try:
        with open(bank + _ENDING, encoding="utf-8") as file:  # noqa: PTH123 - same
            return dict(json.load(file))
    except (OSError, ValueError, TypeError):
        return {}
