"""A copy on this machine of the guards that a person enforces in a bank elsewhere, for when that does not answer.

Such a bank is a team's service, or PostgreSQL. The copy is written at the start of a session and at each prompt. A call
that the bank does not answer is compared with it as the bank would: only what goes against a guard is refused.
"""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import parse_guard
from mcp_reflect.guards.matching import matches, may_be_met
from mcp_reflect.models.warning import EnforcedGuard
from mcp_reflect.places import BANK, GUARDS, PROJECT, bank_file, data_folder
from mcp_reflect.storage.hook_projects import SESSION_FOLDER
from mcp_reflect.whole_files import open_regular, replace_whole

_MOST_BYTES: Final = 1 << 19
"""Bytes of the file that are read: it has at most MOST_CHARS of guards (`services/enforced.py`)."""

_DIGITS: Final = 24  # of the hash in the file's name
_UNANSWERED: Final = "mcp-reflect: the bank does not answer. This is what it said last, on {}.\n{}"
"""What is said of a refused call, with the date of the copy and the text of the lesson."""


def keep_guards_of_bank(
    url: str | None, folder: str | None, guards: tuple[EnforcedGuard, ...] | None
) -> None:
    """Keep the guards that a bank elsewhere just sent; nothing for None, which an older service sends.

    `url` is that of a service, None for PostgreSQL; `folder` is that of the session.
    """
    file = kept_file(url, folder)
    if file is not None and guards is not None:
        keep_guards(file, guards)


def kept_file(url: str | None, folder: str | None) -> Path | None:
    """Return the file with the copy for the bank that a hook asks; None for a bank in a file, which is always there.

    `url` is that of a service, None for PostgreSQL. The file's name is a hash of the bank's address with the project.
    For PostgreSQL the folder of the session stands for the project where no setting names it, since only the bank knows
    the project's name, and it does not answer.
    """
    bank = os.environ.get(BANK) or ""
    project = os.environ.get(PROJECT) or ""
    file_of_bank = bank_file(bank)
    if url is None and file_of_bank is not None:
        return None
    if url is None and not project:
        project = os.environ.get(SESSION_FOLDER) or folder or ""
    bank_and_project = "\n".join((url or bank, project))
    digest = sha256(bank_and_project.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    name = f"guards-{digest}.json"
    if file_of_bank:
        return Path(file_of_bank).with_name(name)
    return Path(data_folder(), name)


def keep_guards(file: Path, guards: Iterable[EnforcedGuard]) -> None:
    """Write the guards of a bank that answered into the file, unless it has them already."""
    records = [asdict(guard) for guard in guards]
    if _read(file).get("guards", []) == records:  # no file is made for no guards
        return
    value = {"date": datetime.now(UTC).date().isoformat(), "guards": records}
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_whole(str(file), json.dumps(value, ensure_ascii=False).encode())


def guards_from(sent: object) -> tuple[EnforcedGuard, ...] | None:
    """Return the guards that a service sent; None from an older one, which sends none."""
    if not isinstance(sent, list):
        return None
    guards = [_guard_of(item) for item in cast("list[Any]", sent)]
    return tuple(guard for guard in guards if guard is not None)


def refusal_text(file: Path, tool: str, arguments: Any) -> str | None:
    """Return why a call is refused that goes against a kept guard; None where it goes against none.

    A call that cannot be read whole, and may go against one, is refused as well, as the bank would refuse it.
    """
    if os.environ.get(GUARDS) == "off":
        return None
    content = _read(file)
    guards = guards_from(content.get("guards")) or ()
    if not guards:
        return None
    call = Call(tool, arguments)
    for guard in guards:
        with suppress(InputError):  # another release wrote it, in a form that this one cannot read
            parsed = parse_guard(guard.guard)
            if matches(parsed, call) or may_be_met(parsed, call):
                return _UNANSWERED.format(content.get("date"), guard.text)
    return None


def _guard_of(item: object) -> EnforcedGuard | None:
    """Return the guard of a JSON object with the three texts of one, None for anything else."""
    if not isinstance(item, dict):
        return None
    fields = cast("Mapping[str, Any]", item)
    values = {name: fields.get(name) for name in ("lesson_id", "guard", "text")}
    if not all(isinstance(value, str) for value in values.values()):
        return None
    return EnforcedGuard(**cast("dict[str, str]", values))


def _read(file: Path) -> dict[str, Any]:
    """Return what the file holds, empty where there is none or it cannot be read."""
    with suppress(OSError, ValueError, RecursionError), open_regular(file) as opened:
        value = json.loads(opened.read(_MOST_BYTES))
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
    return {}
