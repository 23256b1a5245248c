"""Every fault of a provider ends in a result by rules whose note says why, in time, with nothing left behind."""

import asyncio
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from tests.llm.contract import every_dialect, failing, left_nothing_behind
from tests.llm.dialects import KEY, Dialect
from tests.llm.loopback import Answer, Flood, Hang, Loopback, Step, Trickle
from tests.llm.reflect_calls import both_eras, bound_to, reflect, rows, serving

pytestmark = every_dialect
nothing_is_left_behind = pytest.fixture(autouse=True)(left_nothing_behind)


@pytest.fixture(scope="module", autouse=True)
def sdks() -> None:
    """Import them here: that belongs to no test's timeout."""
    for sdk in ("httpx2", "anthropic", "openai"):
        import_module(sdk)


Play = Callable[[Dialect], list[Step]]


def _later(answer: Answer, wait: str) -> Answer:
    """The same answer, which asks to wait."""
    return Answer(status=answer.status, body=answer.body, headers={"retry-after": wait})


FAULTS: dict[str, tuple[Play, str]] = {
    "a refusal": (
        lambda d: [d.say("I cannot help with that.", d.stops["refusal"])],
        "gave no answer (refusal)",
    ),
    "an empty reply": (lambda d: [d.say(" ", d.stops["end"])], "gave no answer (empty)"),
    "a tool call": (lambda d: [d.tool_call], "gave no answer (tool_use)"),
    "a truncation, twice": (
        lambda d: [d.say('{"reflection": "It', d.stops["length"])] * 2,
        "it was cut off",
    ),
    "words that hold nothing": (
        lambda d: [d.say("{}", d.stops["end"])] * 2,
        "nothing that can be used",
    ),
    "a wrong key": (lambda d: [failing(d, 401, f"Incorrect API key provided: {KEY}")], "HTTP 401"),
    "no credit": (lambda d: [failing(d, 402)], "HTTP 402"),
    "an unknown model": (lambda d: [failing(d, 404)], "HTTP 404"),
    "too many requests": (lambda d: [_later(failing(d, 429), "40")], "HTTP 429"),
    "too many requests until a date": (
        lambda d: [_later(failing(d, 429), "Wed, 21 Oct 2099 07:28:00 GMT")],
        "HTTP 429",
    ),
    "an overload": (lambda d: [_later(failing(d, 529), "100")], "HTTP 529"),
    "another API": (
        lambda _: [Answer(body={"hello": "world"})],
        "Check that the address is this provider's API",
    ),
    "a flood": (lambda _: [Flood()], "a body that is not a reply"),
    "a hang": (lambda _: [Hang()], "no reply within 1"),
    "a trickle": (lambda _: [Trickle()], "no reply within 1"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_leaves_it_to_rules_and_says_why_in_the_note_and_the_log(
    tmp_path: Path, dialect: Dialect, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    play, why = FAULTS[fault]
    async with Loopback(*play(dialect)) as server:
        seconds = (
            1.3 if why.startswith("no reply") else 30
        )  # only a request without a reply needs a short limit
        settings = bound_to(dialect, server.url, llm_seconds=seconds)
        async with asyncio.timeout(60), serving(tmp_path, **settings) as (client, _):
            found = await reflect(client)
    assert found["thinker"] == "rules"
    assert why in found["note"]
    assert found["note"].startswith(f"{dialect.name}:test-model")
    assert found["next"]["send"].startswith(
        "reflection_id with analysis {mistake, correction, strategy}"
    )
    logged = capsys.readouterr().err
    assert KEY not in json.dumps(found) + logged
    problems = {
        event["problem"]
        for event in map(json.loads, logged.splitlines())
        if event["event"] == "llm_failed"
    }
    assert problems <= {found["note"]}
    assert problems or any(said in why for said in ("gave no answer", "cut off", "can be used"))
    assert rows(tmp_path)["reflections"] == 1
    assert KEY.encode() not in (tmp_path / "bank.db").read_bytes()


async def test_a_passing_overload_is_tried_again(tmp_path: Path, dialect: Dialect) -> None:
    busy = Answer(
        status=529, body=dialect.fail("overloaded_error", "busy"), headers={"retry-after": "0"}
    )
    good = dialect.say('{"reflection": "The namespace was missing."}', dialect.stops["end"])
    async with (
        Loopback(busy, good) as server,
        serving(tmp_path, **bound_to(dialect, server.url)) as (client, _),
    ):
        found = await reflect(client)
    assert (found["thinker"], found["reflection"]) == (
        f"{dialect.name}:test-model",
        "The namespace was missing.",
    )


@pytest.mark.parametrize("step", [Hang(), Trickle()], ids=["while waiting", "while reading"])
@both_eras
async def test_a_cancelled_call_hangs_up_and_writes_nothing(
    tmp_path: Path, dialect: Dialect, step: Step, mode: str
) -> None:
    async with (
        Loopback(step) as server,
        serving(tmp_path, mode=mode, **bound_to(dialect, server.url)) as (client, engine),
    ):
        call = asyncio.create_task(reflect(client))
        await server.arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.client_left()
        assert rows(tmp_path)["reflections"] == rows(tmp_path)["lessons"] == 0
        await engine.store_lesson(mistake="The bank was held", correction="It is free again")
    assert rows(tmp_path)["reflections"] == 0
