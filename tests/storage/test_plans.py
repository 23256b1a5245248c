"""How SQLite goes about the queries that are asked again and again: by an index, never through all of a project."""

import sqlite3
from contextlib import closing

import pytest

from mcp_reflect.storage.queries import queries
from mcp_reflect.storage.sqlite.files import migrations


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("lesson_same", "lessons_by_digest"),
        ("recall_drop_old", "recalls_untold"),
        ("search_drop_old", "searches_by_time"),
        ("session_drop_old", "sessions_by_time"),
        ("step_drop_old", "steps_by_time"),
        ("warning_drop_old", "warnings_by_time"),
        ("critique_session_drop_old", "critique_sessions_by_time"),
        ("lesson_list_held", "lessons_held"),
    ],
)
def test_a_query_of_every_write_goes_by_its_index(name: str, index: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript("".join(script for _, script in migrations()))
        values = {"digests": "[1]", "tenant": "local", "project": "app", "before": 0.0, "most": 40}
        values |= {"kind": None, "state": "active", "limit": 200}
        plan = [
            row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {queries()[name]}", values)
        ]
    assert any(f"INDEX {index} " in step for step in plan), plan
    assert not any(
        step.startswith("SCAN") and "json_each" not in step and index not in step for step in plan
    ), plan
