"""Agents that write into one bank: each call is a write by another tool, and what was acknowledged is remembered.

After the storm `lost` looks into the file itself, past the server, for every acknowledged write.
"""

import random
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.clients.stdio import RawClient

_FOUND: Final = {
    # Answers have the end of a lesson's id.
    "lesson": "SELECT 1 FROM lessons WHERE substr(id, -6) = substr(?, -6)",
    "forgotten": "SELECT 1 FROM lessons WHERE substr(id, -6) = substr(?, -6) AND state = 'retired'",
    "reflection": "SELECT 1 FROM reflections WHERE id = ?",
    "search": "SELECT 1 FROM searches WHERE id = ?",
    "working": "SELECT 1 FROM critique_sessions WHERE id = ?",
    "outcome": "SELECT 1 FROM outcomes WHERE recall_id = ? AND substr(lesson_id, -6) = substr(?, -6)",
}


class Written(NamedTuple):
    """A write that a server acknowledged: what it was, and the ids that find it."""

    kind: str
    ids: tuple[str, ...]


class RefusedError(Exception):
    """A server answered a write with an error."""


class Writer:
    """One agent on one server. `seconds` holds how long each write took, as the agent saw it."""

    def __init__(self, running: RawClient, name: str) -> None:
        self._running = running
        self._name = name
        self._chance = random.Random(name)
        self._count = 0
        self._lessons: list[str] = []
        self.written: list[Written] = []
        self.seconds: list[float] = []

    def write(self) -> None:
        """One write by a tool of the mix; RefusedError where it is refused."""
        self._count += 1
        tools = [
            self._store,
            self._store,
            self._reflect,
            self._record,
            self._replan,
            self._critique,
            self._forget,
        ]
        write = self._chance.choice(tools if self._lessons else [self._store])
        start = time.perf_counter()
        written = write(f"{self._name}-{self._count}")
        self.seconds.append(time.perf_counter() - start)
        self.written.append(written)

    def _store(self, word: str) -> Written:
        told = self._call(
            "store_lesson",
            mistake=f"Task {word} failed with code {word}",
            correction=f"Use {word}.toml",
        )
        self._lessons.append(told["lesson_id"])
        return Written("lesson", (told["lesson_id"],))

    def _reflect(self, word: str) -> Written:
        event = {
            "type": "tool_response",
            "tool": "shell",
            "content": f"Error: no such table run_{word}",
        }
        analysis = {
            "reflection": f"The table run_{word} was missing",
            "strategy": f"Make run_{word} first",
        }
        told = self._call(
            "reflect", task=f"Run {word}", outcome="failure", events=[event], analysis=analysis
        )
        return Written("reflection", (told["reflection_id"],))

    def _record(self, word: str) -> Written:
        found = self._call(
            "recall_lessons",
            task=f"Task {self._chance.choice(self._lessons)} failed with code {word}",
        )
        if not found.get("lessons"):
            return self._store(word)
        recall_id, lesson = found["recall_id"], found["lessons"][0]["id"]
        self._call("record_outcome", success=True, recall_id=recall_id, lesson_ids=[lesson])
        return Written("outcome", (recall_id, lesson))

    def _replan(self, word: str) -> Written:
        query = {
            "table": "orders",
            "search_mode": "hybrid",
            "query_text": f"late {word}",
            "limit": 5,
        }
        told = self._call("replan_search", user_message=f"Where is {word}?", queries=[query])
        return Written("search", (told["search_id"],))

    def _critique(self, word: str) -> Written:
        told = self._call(
            "critique", goal=f"Add up {word}", steps=["2 + 2 = 5", "So it is 5"], max_iterations=1
        )
        return Written("working", (told["critique_id"],))

    def _forget(self, word: str) -> Written:
        lesson = self._lessons.pop(self._chance.randrange(len(self._lessons)))
        self._call("forget_lesson", lesson_id=lesson, reason=f"Wrong, says {word}")
        return Written("forgotten", (lesson,))

    def _call(self, tool: str, **arguments: Any) -> Any:
        result = self._running.call_tool(tool, arguments)
        if result.get("isError"):
            raise RefusedError(f"{tool}: {result['content']}")
        return result["structuredContent"]


def lost(bank: Path, written: Iterable[Written]) -> list[Written]:
    """The acknowledged writes that are not in the file."""
    with closing(sqlite3.connect(f"{bank.as_uri()}?mode=ro", uri=True)) as looking:
        return [
            one for one in written if looking.execute(_FOUND[one.kind], one.ids).fetchone() is None
        ]


def sound(bank: Path) -> bool:
    """Whether SQLite's integrity check, the foreign keys' check and the word index's own find nothing."""
    with closing(sqlite3.connect(bank)) as looking:
        checked = looking.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return checked and not looking.execute("PRAGMA foreign_key_check").fetchall()
