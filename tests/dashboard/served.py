"""The board's real server on loopback, in a thread of its own, and requests to it."""

import asyncio
import json
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import uvicorn

from mcp_reflect.config import Settings
from mcp_reflect.dashboard.server import OwnBoard
from mcp_reflect.loopback import HOST, listening
from mcp_reflect.services.engine import Engine


@dataclass(frozen=True)
class Answer:
    """What a server said."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """A server that listens, and its application."""

    place: str
    board: OwnBoard

    def ask(
        self, method: str, path: str, sent: Any = None, *, token: str | None = None, **headers: str
    ) -> Answer:
        """A request as the page makes it, unless headers (with _ for -) say otherwise; an empty one is left out."""
        given = {
            "Host": self.place,
            "Authorization": f"Bearer {self.board.token if token is None else token}",
        }
        body = (
            sent if isinstance(sent, bytes) else None if sent is None else json.dumps(sent).encode()
        )
        if body is not None:
            given |= {"Content-Type": "application/json", "Origin": f"http://{self.place}"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(HTTPConnection(self.place, timeout=20)) as connection:
            connection.request(
                method, path, body, {name: value for name, value in given.items() if value}
            )
            answer = connection.getresponse()
            return Answer(
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                answer.read(),
            )

    def act(self, use: str, **values: Any) -> Answer:
        """A use of the bank as the page sends it, with what it shows of what the use is about."""
        ids = [*values.get("ids", ()), values.get("id")]
        return self.ask("POST", f"/api/{use}", {"seen": self.seen(*ids), **values})

    def seen(self, *ids: str | None) -> dict[str, str]:
        """What the page shows now of records with these ids, as digests."""
        board = self.ask("GET", "/api/board").json
        lessons = board["lessons"]
        rows = [dict(zip(lessons["columns"], row, strict=True)) for row in lessons["rows"]]
        shown = [*rows, *board["findings"], *board["doubted"], *board["proposals"]]
        return {one["id"]: one["seen"] for one in shown if one["id"] in ids}


@contextmanager
def serving(settings: Settings) -> Generator[Served]:
    """A server over the bank that settings name; it has ended when the block is left."""
    with listening(0, "--port") as door:
        place = f"{HOST}:{door.getsockname()[1]}"
        made: list[tuple[uvicorn.Server, OwnBoard]] = []
        ready = threading.Event()

        async def work() -> None:
            async with Engine(settings) as engine:
                board = OwnBoard(engine, place)
                config = uvicorn.Config(
                    board.application(), log_level="error", lifespan="off", access_log=False
                )
                made.append((uvicorn.Server(config), board))
                ready.set()
                await made[0][0].serve([door])

        thread = threading.Thread(target=asyncio.run, args=(work(),))
        thread.start()
        assert ready.wait(20)
        try:
            yield Served(place, made[0][1])
        finally:
            made[0][0].should_exit = True
            thread.join(20)
