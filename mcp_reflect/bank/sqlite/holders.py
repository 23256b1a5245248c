"""Who holds the bank's write lock, where the system tells (Linux)."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from mcp_reflect.bank.sqlite.identity import beside, identity

_LOCKS: Final = Path("/proc/locks")
_WRITE_LOCK: Final = {"-shm": ("120", "120"), "": ("1073741824", "1073741825")}
"""The bytes that SQLite locks to write: in the shared memory of a log, or in the file itself
(sqlite.org/walformat.html and fileformat2.html, the lock-byte page)."""


def holder(path: Path) -> str:
    """The process that is writing the bank at `path`, and whether it is suspended; empty where nobody tells."""
    with suppress(OSError, ValueError, IndexError):
        for ending, (first, last) in _WRITE_LOCK.items():
            found = identity(beside(path, ending))
            if found is None:
                continue
            for line in _LOCKS.read_text().splitlines():
                if "WRITE" not in line:
                    continue
                pid, file, begin, end = line[line.index("WRITE") :].split()[1:5]
                if int(file.split(":")[2]) == found[1] and begin >= first and end <= last and len(begin) == len(first):
                    return _named(pid)
    return ""


def _named(pid: str) -> str:
    name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    suspended = ", which is suspended" if rest.split()[0] in ("T", "t") else ""
    return f"process {pid} ({name}{suspended})"
