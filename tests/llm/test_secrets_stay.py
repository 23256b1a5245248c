"""What is secret in a run reaches neither the language model, nor the result, nor the bank."""

import json
from pathlib import Path
from typing import Any

from tests.llm.contract import every_dialect
from tests.llm.dialects import KEY, Dialect
from tests.llm.loopback import Loopback
from tests.llm.reflect_calls import BAD, bound_to, reflect, said, serving
from tests.scripted import Scripted

AWS, GITHUB = "AKIAQ7X3M2LT5RW8ZK4D", "ghp_0123456789abcdefghijABCDEFGHIJ012345"
PASSWORD, TOKEN = "hunter2-Tr0ub4dor", "sk-ant-api03-0123456789abcdefghij"
SECRETS = (AWS, GITHUB, PASSWORD, TOKEN)
RUN: dict[str, Any] = {
    "task": f"Deploy with {AWS}",
    "goal": f"Use the token {GITHUB}",
    "tags": ["deploy"],
    "error": {"message": f"401 for Bearer {TOKEN}", "context": {"password": PASSWORD}},
    "events": [
        {"type": "tool_call", "tool": "bash", "arguments": {"command": f"x --password={PASSWORD}", "token": GITHUB}},
        {"type": "tool_response", "tool": "bash", "content": f"export API_KEY={TOKEN}", "error": f"{AWS} refused"},
        {"type": "observation", "content": "x", "metadata": {"api_key": PASSWORD, "url": f"pg://me:{PASSWORD}@db/x"}},
    ],
}


@every_dialect
async def test_no_secret_of_a_run_goes_over_the_wire_or_onto_the_disk(tmp_path: Path, dialect: Dialect) -> None:
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
