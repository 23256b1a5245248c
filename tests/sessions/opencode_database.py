"""The database of opencode 1.18.33, as far as sessions are read: its tables, and parts as the program wrote them."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

TABLES = """
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, directory text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
"""
BEGAN = 1_795_898_839_382
"""The time of the first message, in milliseconds since 1970."""

Part = dict[str, Any]


def said(text: str, **more: Any) -> Part:
    return {"type": "text", "text": text, **more}


def ran(call_id: str, command: str, printed: str, code: int, **more: Any) -> Part:
    """A call of its shell that came to an end."""
    seen = {"output": printed, "exit": code, "truncated": False}
    state = {"status": "completed", "input": {"command": command, "description": "Look"}}
    state |= {"output": printed, "metadata": seen, **more}
    return {"type": "tool", "tool": "bash", "callID": call_id, "state": state}


def failed(call_id: str, tool: str, arguments: dict[str, Any], error: str) -> Part:
    state = {"status": "error", "input": arguments, "error": error}
    return {"type": "tool", "tool": tool, "callID": call_id, "state": state}


def keep(
    database: Path,
    folder: Path | str,
    messages: Sequence[tuple[str, Sequence[Part]]],
    *,
    name: str = "ses_1",
    parent: str | None = None,
) -> None:
    """Write a session of messages, each a role and its parts, into the database, which is made if it is not there."""
    is_new = not database.exists()
    database.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(database)) as bank, bank:
        if is_new:
            bank.execute("PRAGMA journal_mode = WAL")
            bank.executescript(TABLES)
        end = BEGAN + len(messages)
        bank.execute(
            "INSERT INTO session VALUES (?, 'global', ?, ?, ?, ?)",
            (name, parent, str(folder), BEGAN, end),
        )
        for number, (role, parts) in enumerate(messages):
            message, moment = f"msg_{name}_{number:03}", BEGAN + number
            data = json.dumps({"role": role, "agent": "build"})
            bank.execute(
                "INSERT INTO message VALUES (?, ?, ?, ?, ?)", (message, name, moment, moment, data)
            )
            for place, part in enumerate(parts):
                row = (f"prt_{name}_{number:03}_{place:03}", message, name, moment, moment)
                bank.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", (*row, json.dumps(part)))
