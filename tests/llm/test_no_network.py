"""No secret reaches a model, and without a provider nothing reaches the network."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from tests.llm.contract import every_dialect
from tests.llm.dialects import KEY, Dialect
from tests.llm.loopback import Loopback
from tests.llm.reflect_calls import BAD, EVENTS, TASK, bound_to, reflect, said, serving
from tests.scripted import Scripted

# The interpreter tells of each socket that is made or used, each name that is looked up, each import.
WATCHED = """
import os, sys
told = os.open(os.environ["TOLD"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def watch(event, arguments):
    if event.startswith("socket.") or event == "import":
        shown = [str(int(one) if isinstance(one, int) else one) for one in arguments[1 if event[0] == "s" else 0:][:2]]
        os.write(told, (" ".join([event, *shown]).replace("\\n", " ") + "\\n").encode("utf-8", "replace"))
sys.addaudithook(watch)
from mcp_reflect.cli import main
sys.exit(main([]))
"""
NETWORK = {"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"}
LOOKUPS = {
    "socket.gethostbyname",
    "socket.gethostbyaddr",
    "socket.getnameinfo",
    "socket.gethostname",
}
INET = {"2", "10", "30"}  # AF_INET, AF_INET6 here and on macOS

CALLS: dict[str, dict[str, Any]] = {
    "should_reflect": {"confidence": 0.2},
    "reflect": {"task": TASK, "outcome": "failure", "events": EVENTS},
    "critique": {"goal": "Add", "response": "2 + 2 = 5"},
    "replan_search": {
        "user_message": "red shoes",
        "queries": [{"table": "products", "query_text": "red shoes"}],
    },
    "recall_lessons": {"task": TASK},
    "store_lesson": {
        "mistake": "Applied before the namespace",
        "correction": "Create the namespace first",
    },
}


async def everything(client: Client) -> None:
    """Each tool once, each list, and what can be read."""
    results: dict[str, Any] = {}
    names = [tool.name for tool in (await client.list_tools()).tools]
    calls = {name: CALLS[name] for name in CALLS if name in names}
    for name, arguments in calls.items():
        results[name] = await client.call_tool(name, arguments)
    lesson_id = results["store_lesson"].structured_content["lesson_id"]
    told = {"success": True, "lesson_ids": [lesson_id]}
    results["record_outcome"] = await client.call_tool("record_outcome", told)
    results["forget_lesson"] = await client.call_tool(
        "forget_lesson", {"lesson_id": lesson_id, "reason": "a test"}
    )
    assert set(names) == set(results), "a tool has no call here"
    assert not [name for name, result in results.items() if result.is_error]
    await client.get_prompt("start_task", {"task": TASK})
    for resource in (await client.list_resources()).resources:
        await client.read_resource(str(resource.uri))


async def test_no_connection_is_made_and_no_name_is_looked_up(tmp_path: Path) -> None:
    told = tmp_path / "told"
    inherited = {
        name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ
    }
    env = {
        **inherited,
        "TOLD": str(told),
        "MCP_REFLECT_BANK": str(tmp_path / "bank.db"),
        "MCP_REFLECT_PROJECT": "billing",
        "ANTHROPIC_API_KEY": "sk-ant-there-but-not-asked-for-1",
        "OPENAI_API_KEY": "sk-there-but-not-asked-for-1",
    }
    server = StdioServerParameters(
        command=sys.executable, args=["-c", WATCHED], env=env, cwd=Path(__file__).parents[2]
    )
    async with Client(server) as client:
        started = told.read_text("utf-8")
        await everything(client)
    lines = [line.split(" ") for line in told.read_text("utf-8").splitlines()]
    assert [line for line in lines if line[0] in LOOKUPS | NETWORK] == []
    assert [line for line in lines if line[0] == "socket.__new__" and line[1] in INET] == []
    imported = {line[1] for line in lines if line[0] == "import"}
    assert {"mcp_reflect.services.engine", "mcp_reflect.llm.runner"} <= imported
    assert not {"anthropic", "mcp_reflect.llm.sdk"} & imported
    assert "import mcp_reflect.llm.runner" not in started
    assert "import mcp_reflect.llm" not in started


def test_the_watch_sees_a_connection_and_a_look_up(tmp_path: Path) -> None:
    """Else the test above would hold nothing."""
    told = tmp_path / "told"
    watched = WATCHED.partition("from mcp_reflect")[0]
    code = f"{watched}\nimport socket\ntry: socket.create_connection(('127.0.0.1', 9), 1)\nexcept OSError: pass"
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TOLD": str(told)}, check=True, timeout=60
    )
    events = {
        line.split(" ")[0]: line.split(" ")
        for line in told.read_text("utf-8").splitlines()
        if line[0] == "s"
    }
    assert {"socket.connect", "socket.getaddrinfo", "socket.__new__"} <= events.keys()
    assert events["socket.__new__"][1] in INET


AWS, GITHUB = "AKIAQ7X3M2LT5RW8ZK4D", "ghp_0123456789abcdefghijABCDEFGHIJ012345"
PASSWORD, TOKEN = "hunter2-Tr0ub4dor", "sk-ant-api03-0123456789abcdefghij"
SECRETS = (AWS, GITHUB, PASSWORD, TOKEN)
RUN: dict[str, Any] = {
    "task": f"Deploy with {AWS}",
    "goal": f"Use the token {GITHUB}",
    "tags": ["deploy"],
    "error": {"message": f"401 for Bearer {TOKEN}", "context": {"password": PASSWORD}},
    "events": [
        {
            "type": "tool_call",
            "tool": "bash",
            "arguments": {"command": f"x --password={PASSWORD}", "token": GITHUB},
        },
        {
            "type": "tool_response",
            "tool": "bash",
            "content": f"export API_KEY={TOKEN}",
            "error": f"{AWS} refused",
        },
        {
            "type": "observation",
            "content": "x",
            "metadata": {"api_key": PASSWORD, "url": f"pg://me:{PASSWORD}@db/x"},
        },
    ],
}


@every_dialect
async def test_no_secret_of_a_run_goes_over_the_wire_or_onto_the_disk(
    tmp_path: Path, dialect: Dialect
) -> None:
    reply = said({**BAD, "reflection": f"It used {TOKEN}."})
    async with (
        Loopback(*[dialect.say(reply, dialect.stops["end"])] * 2) as server,
        serving(tmp_path, **bound_to(dialect, server.url)) as (client, _),
    ):
        found = await reflect(client, **RUN)
    assert len(server.received) == 2
    for received in server.received:
        wire = json.dumps(received.body, ensure_ascii=False) + json.dumps(received.headers)
        assert not [secret for secret in SECRETS if secret in wire]
        assert "[redacted:" in wire
        assert KEY not in json.dumps(received.body)
    told = json.dumps(found)
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not [secret for secret in (*SECRETS, KEY) if secret in told or secret.encode() in kept]


async def test_what_a_model_repeats_of_a_secret_is_cut_out(tmp_path: Path) -> None:
    good = {**BAD, "importance": 0.5, "reflection": f"It used {TOKEN}.", "mistake": f"Sent {AWS}"}
    with Scripted(said(good)) as llm:
        async with serving(tmp_path, llm) as (client, _):
            found = await reflect(client)
    assert found["reflection"] == "It used [redacted:llm_key]."
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert TOKEN.encode() not in kept
    assert AWS.encode() not in kept
