"""A process of its own that sends marked arguments everywhere, and prints what the interpreter then saw of them.

`sys.addaudithook` is told of every file, process, socket, import and library that is used, and cannot be taken off
again; SQLite's connections are made by a class here, which sees the text of each statement. Prints one JSON object.
"""

import asyncio
import copy
import json
import sqlite3
import sys
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

from mcp import Client, MCPError

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.fuzz.random_calls import GOOD

MARK = "zqxmark"
HOSTILE = (
    f"../../{MARK}/passwd",
    f"$(touch /tmp/{MARK}); `{MARK}` && {MARK} | {MARK}",
    f"http://{MARK}.example/{MARK}?q={MARK}",
    f"'); DROP TABLE {MARK}; -- \" OR 1=1 NEAR({MARK}*",
    f"file:{MARK}.db?mode=rw",
)
FIXED = {
    "type",
    "outcome",
    "success",
    "evidence",
    "visibility",
    "search_mode",
    "table",
    "lesson_id",
    "lesson_ids",
}

reached: list[str] = []
statements: Counter[str] = Counter()
events: Counter[str] = Counter()
watching = [False]


def seen(event: str, arguments: tuple[Any, ...]) -> None:
    if not watching[0]:
        return
    events[event] += 1
    # Text that is parsed, and never run, is what a checker of code is for: `compile` makes a tree of it alone.
    if event != "compile" and any(MARK in told(argument) for argument in arguments):
        reached.append(f"{event}: {arguments!r:.200}")


def told(argument: object) -> str:
    if isinstance(argument, bytes):
        return argument.decode("utf-8", "replace")
    return str(cast("Any", argument)) if isinstance(argument, str | list | tuple) else ""


class Seen(sqlite3.Connection):
    """A connection that notes the text of each statement, without what is bound to it."""

    def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
        statements[sql] += 1
        return super().execute(sql, *rest)

    def executemany(self, sql: str, *rest: Any) -> sqlite3.Cursor:
        statements[sql] += 1
        return super().executemany(sql, *rest)

    def executescript(self, sql: str) -> sqlite3.Cursor:
        statements[sql] += 1
        return super().executescript(sql)

    def cursor(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("a cursor would hide its statements from this")


def connected(
    connect: Any, *args: Any, factory: type[sqlite3.Connection] = sqlite3.Connection, **options: Any
) -> Any:
    """Connect with what is seen added to the class of the connection."""
    kind = Seen if factory is sqlite3.Connection else type("SeenToo", (Seen, factory), {})
    return connect(*args, factory=kind, **options)


def marked(value: Any, hostile: str, name: str = "") -> Any:
    """`value` with the hostile text in every text of it but the words of closed sets."""
    match value:
        case str():
            return value if name in FIXED else f"{value} {hostile}"
        case dict():
            return {key: marked(item, hostile, key) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case list():
            return [marked(item, hostile, name) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


async def calls(bank: Path) -> int:
    """Every tool, resource, prompt and completion with each hostile text; how many calls of tools were answered."""
    answered = 0
    async with (
        Engine(Settings(bank=bank, project="app")) as engine,
        Client(build(engine=engine)) as client,
    ):
        for sent in GOOD.values():  # what is imported with the first calls is imported now
            for arguments in sent:
                await client.call_tool(
                    next(name for name, made in GOOD.items() if made is sent), arguments
                )
        watching[0] = True
        for hostile in HOSTILE:
            known: dict[str, str] = {}
            for tool, sent in GOOD.items():
                for arguments in sent:
                    given = marked(copy.deepcopy(arguments), hostile)
                    given |= (
                        {"lesson_ids": [known["lesson_id"]]}
                        if tool == "record_outcome" and known
                        else {}
                    )
                    result = await client.call_tool(tool, given)
                    answered += not result.is_error
                    fresh: dict[str, Any] = result.structured_content or {}
                    known |= {
                        name: fresh[name] for name in ("lesson_id", "recall_id") if name in fresh
                    }
            await client.call_tool(hostile, {})
            for uri in (
                hostile,
                f"lesson://{hostile}",
                f"graph://tool/{hostile}",
                f"prompt://{hostile}",
            ):
                with suppress(MCPError):
                    await client.read_resource(uri)
            for prompt, argument in (
                ("start_task", "task"),
                (hostile, "x"),
                ("distill_lessons", "reflection_id"),
            ):
                with suppress(MCPError):
                    await client.get_prompt(prompt, {argument: hostile})
            await engine.before_call("bash", {"command": hostile})
            await engine.after_call("bash", {"command": hostile}, error=hostile)
            await services.reminders.at_prompt(engine.context, "session", hostile)
        watching[0] = False
    return answered


def main() -> None:
    sqlite3.connect = partial(connected, sqlite3.connect)  # type: ignore[assignment]
    sys.addaudithook(seen)
    answered = asyncio.run(calls(Path(sys.argv[1])))
    marked_statements = [sql for sql in statements if MARK in sql]
    found = {
        "reached": reached,
        "statements": marked_statements,
        "answered": answered,
        "different": len(statements),
    }
    print(json.dumps({**found, "events": events}))  # noqa: T201 - what it is for


if __name__ == "__main__":
    main()
