"""Heavy requests of one tenant: they wait for their turn, and others are answered meanwhile."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.server.fair_queue import FairQueue
from tests.server.calls import told
from tests.server.teams import Team, replica
from tests.sessions import sessions

END = {"event": "SessionEnd", "moment": "end"}
STOP = {"event": "Stop", "moment": "stop", "answer_key": "reason", "message": "All tests pass."}


async def test_turns_go_around_the_tenants_one_to_each_at_a_time() -> None:
    queue, order = FairQueue(at_once=1), list[str]()

    async def work(tenant: str) -> None:
        async with queue.turn(tenant):
            order.append(tenant)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(tenant) for tenant in "aaaabc"))
    assert order == list("aabcaa") or order == list("abcaaa")


async def test_who_gives_up_waiting_takes_no_turn() -> None:
    queue = FairQueue(at_once=1)
    async with queue.turn("a"):
        waiting = asyncio.ensure_future(queue.turn("b").__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with asyncio.timeout(5), queue.turn("c"):
        pass


def test_a_tenant_may_hold_so_many_bytes_and_its_first_request_always() -> None:
    queue = FairQueue(most_held=10)
    assert queue.hold("a", 50)
    assert not queue.hold("a", 1)
    assert queue.hold("b", 5)
    queue.let_go("a", 50)
    assert queue.hold("a", 1)


async def test_the_service_opens_no_path_that_a_request_names(
    settings: Settings, tmp_path: Path
) -> None:
    secret = tmp_path / "other.jsonl"
    secret.write_text(sessions.claude())
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    async with replica(settings) as team:
        token = await team.token("writer")
        async with team.http(token) as http:
            for event in (END, STOP):
                for path in (secret, pipe):
                    hook = {
                        **event,
                        "session": "s",
                        "transcript": str(path),
                        "folder": str(tmp_path),
                    }
                    async with asyncio.timeout(10):
                        answer = await http.post("/api/hook", json={"hook": hook})
                    assert answer.json() == {"text": None, "hold": False}
        await team.replica.close()
        assert await team.bank.lessons.projects("acme") == {}


def _session(number: int, size: int) -> str:
    """A session of about `size` bytes: a program that fails and works with other words."""
    lines = [json.dumps({"type": "user", "sessionId": f"s{number}", "message": {"role": "user",
             "content": "Run the tests"}})]  # fmt: skip
    step = 0
    while sum(map(len, lines)) < size:
        step += 1
        for command, output, failed in (
            (f"make test-{step}", "Error: no rule\n" + "x = 1\n" * 400, True),
            (f"make tests-{step}", "ok\n" * 400, False),
        ):
            call: dict[str, Any] = {"type": "tool_use", "id": f"t{step}{failed}", "name": "Bash",
                                    "input": {"command": command}}  # fmt: skip
            result = {"type": "tool_result", "tool_use_id": call["id"], "content": output,
                      "is_error": failed}  # fmt: skip
            lines += [
                json.dumps({"type": "assistant", "sessionId": f"s{number}",
                            "message": {"role": "assistant", "content": [call]}}),
                json.dumps({"type": "user", "sessionId": f"s{number}",
                            "message": {"role": "user", "content": [result]}}),
            ]  # fmt: skip
    return "\n".join(lines)


async def _all_reflected(team: Team, sending: list[asyncio.Task[None]]) -> None:
    await asyncio.gather(*sending)
    await team.replica.close()


@pytest.mark.long
@pytest.mark.sqlite
async def test_many_sessions_of_one_tenant_do_not_delay_another(settings: Settings) -> None:
    async with replica(settings) as team:
        many, other = await team.token("many"), await team.token("one", tenant="other")
        body = [
            json.dumps({"hook": {**END, "session": f"s{number}"},
                        "transcript": _session(number, 200_000)}).encode()
            for number in range(16)
        ]  # fmt: skip
        slowest, statuses = 0.0, list[int]()
        async with team.http(many) as http, team.client(other) as client:
            await told(client, "recall_lessons", {"task": "warm up"})

            async def send(content: bytes) -> None:
                headers = {"Content-Type": "application/json"}
                answer = await http.post("/api/hook", content=content, headers=headers, timeout=300)
                statuses.append(answer.status_code)

            sending = [asyncio.create_task(send(content)) for content in body]
            ended = asyncio.create_task(_all_reflected(team, sending))
            while not ended.done():
                began = time.monotonic()
                await told(client, "recall_lessons", {"task": "run the tests"})
                slowest = max(slowest, time.monotonic() - began)
                await asyncio.sleep(0.01)
    print(f"slowest recall of another tenant: {slowest:.2f} s, answers: {sorted(set(statuses))}")  # noqa: T201 - the figure that is claimed
    assert 200 in statuses
    assert set(statuses) <= {200, 429}
    assert slowest < 5  # a machine that others share is slow; alone it is a tenth of that
