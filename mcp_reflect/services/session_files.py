"""The transcripts that were read last, each with the offset up to which it was read.

A server reads a transcript while its agent works, so that only the last lines are left to read at the agent's stop.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_reflect.sessions.session_file import SessionFile

_MOST_FILES: Final = 4  # that stay in memory, as far as they were read


@dataclass(slots=True)
class OpenSession:
    """A file that was read, and the lock of whoever reads on."""

    file: "SessionFile"
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class SessionFiles:
    """The transcripts that were read last, by their paths: each knows the offset from which to read on."""

    def __init__(self) -> None:
        self._by_path: dict[str, OpenSession] = {}  # the one that was used last comes last
        self._following: dict[str, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def reading(
        self, path: str, new: "Callable[[], SessionFile]"
    ) -> AsyncGenerator[OpenSession]:
        """Give a file to one reader at a time: as far as it was read before, or unread, as `new` makes it.

        A file without a path is a text that was sent; it does not stay in memory.
        """
        session = self._by_path.pop(path, None)
        if session is None:
            session = OpenSession(new())
        if path:
            self._by_path[path] = session
        while len(self._by_path) > _MOST_FILES:
            oldest_path = next(iter(self._by_path))
            self._by_path.pop(oldest_path)
        async with session.lock:
            yield session

    def follow(self, path: str, new: "Callable[[], SessionFile]") -> None:
        """Begin to read in the background what is new in a file, unless that is being done already."""
        task = self._following.get(path)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._read_along(path, new))
            self._following[path] = task
            task.add_done_callback(lambda _: self._following.pop(path, None))

    async def _read_along(self, path: str, new: "Callable[[], SessionFile]") -> None:
        """Read the new part of a file, some lines at a time: an agent that stops meanwhile waits for these alone."""
        has_more = True
        while has_more:
            async with self.reading(path, new) as session:
                has_more = await asyncio.to_thread(session.file.read_on)
