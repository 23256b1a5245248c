"""The files of sessions that were read last; a server reads them along, so that a stop reads only what is new."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_reflect.sessions.session_file import SessionFile

_MOST_FILES: Final = 4  # whose place is kept


@dataclass(slots=True)
class OpenSession:
    """A file that was read, and the lock of whoever reads on."""

    file: "SessionFile"
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class SessionFiles:
    """Files by their path, each with the place to go on from."""

    def __init__(self) -> None:
        self._by_path: dict[str, OpenSession] = {}
        self._following: dict[str, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def reading(
        self, path: str, new: "Callable[[], SessionFile]"
    ) -> AsyncGenerator[OpenSession]:
        """Give a file to one reader at a time: as far as it was read before, or a new one. Without a path none is kept."""
        session = self._by_path.pop(path, None) or OpenSession(new())
        if path:
            self._by_path[path] = session
        while len(self._by_path) > _MOST_FILES:
            self._by_path.pop(next(iter(self._by_path)))
        async with session.lock:
            yield session

    def follow(self, path: str, new: "Callable[[], SessionFile]") -> None:
        """Begin to read what is new in a file, a stretch at a time, unless that is being done."""
        task = self._following.get(path)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._read_along(path, new))
            self._following[path] = task
            task.add_done_callback(lambda _: self._following.pop(path, None))

    async def _read_along(self, path: str, new: "Callable[[], SessionFile]") -> None:
        has_more = True
        while has_more:  # who stops now waits for one stretch, not for all of them
            async with self.reading(path, new) as session:
                has_more = await asyncio.to_thread(session.file.read_on)
