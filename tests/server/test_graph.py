"""The graph: what records name in common, and one step from one to its neighbours."""

from typing import Any

import pytest
from mcp import Client

from mcp_reflect.bank.graph import named
from tests.server.calls import FAILED_RUN, told
from tests.server.test_resources import read


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Error E4012 in src/app/orders.py, see docs", {"E4012", "src/app/orders.py"}),
        ("open failed with ENOENT and exit code 137", {"ENOENT", "exit code 137"}),
        ("TS2345 in index.ts, HTTP 404 from the server", {"TS2345", "index.ts", "HTTP 404"}),
        ("Deploy on a Tuesday. Tell the team first.", set[str]()),
        ("Look at https://example.com/page for more", set[str]()),
    ],
)
def test_files_and_error_codes_are_named(text: str, names: set[str]) -> None:
    assert {link.to_id for link in named(text)} == names


async def test_two_lessons_that_name_the_same_file_are_neighbours(client: Client) -> None:
    one = await told(client, "store_lesson", {"mistake": "Edited src/app.py by hand", "correction": "Generate it"})
    other = await told(client, "store_lesson", {"mistake": "Deleted src/app.py", "correction": "Restore it from git"})
    shown = await read(client, f"lesson://{one['lesson_id']}/neighbours")
    (near,) = shown["neighbours"]
    assert (near["id"], near["relation"], near["through"]) == (other["lesson_id"], "shares", "file src/app.py")
    of_file = await read(client, "graph://file/src/app.py")
    assert {near["id"] for near in of_file["neighbours"]} == {one["lesson_id"], other["lesson_id"]}


async def test_a_learnt_lesson_leads_to_its_reflection_and_its_tool(client: Client) -> None:
    run = await told(client, "reflect", FAILED_RUN)
    (learnt,) = run["lessons"]
    shown: dict[str, Any] = await read(client, f"lesson://{learnt['id']}")
    assert run["reflection_id"] in {near["id"] for near in shown["neighbours"]}
    of_tool = await read(client, "graph://tool/read_file")
    assert {learnt["id"], run["reflection_id"]} <= {near["id"] for near in of_tool["neighbours"]}
