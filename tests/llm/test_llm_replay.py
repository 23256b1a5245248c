"""What was recorded can be replayed, and only that."""

import json
import os
import stat
from pathlib import Path

import pytest

from mcp_reflect.llm import errors
from mcp_reflect.llm.errors import LLMError, LLMSettingError, RateLimitedError
from mcp_reflect.llm.protocol import Reply, Stop, Usage
from mcp_reflect.llm.recording import Recording
from mcp_reflect.llm.replay import Replay, ReplayError
from tests.llm.requests import SCHEMA, asking
from tests.scripted import Scripted

SECRET = "hunter2-very-secret"  # noqa: S105 - it is to be cut out
REPLY = Reply(
    text=f'{{"reflection": "Püh {SECRET}"}}',
    stop=Stop.END,
    llm="x:y",
    parsed={"reflection": [f"Püh {SECRET}", 1, None]},
    usage=Usage(input_tokens=3, output_tokens=4, cache_read=1, cache_write=2),
)


def redact(text: str) -> str:
    return text.replace(SECRET, "[secret]")


def same(text: str) -> str:
    return text


async def test_a_replay_gives_what_the_recording_saw(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    limited = RateLimitedError("x:y", "slow", "Wait", retry_after=2.5)
    with Scripted(REPLY, limited, "other") as llm:
        recording = Recording(llm, path, same)
        first = await recording.complete(asking("one", schema=SCHEMA))
        with pytest.raises(RateLimitedError):
            await recording.complete(asking("two"))
        third = await recording.complete(asking("one"))
    with Replay(path, same) as replay:
        assert await replay.complete(asking("one", timeout=1.0)) == third
        assert await replay.complete(asking("one", schema=SCHEMA)) == first
        with pytest.raises(RateLimitedError) as caught:
            await replay.complete(asking("two"))
    assert (str(caught.value), caught.value.retry_after) == (str(limited), 2.5)


async def test_the_same_request_gets_its_replies_in_order(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    with Scripted("first", "second") as llm:
        recording = Recording(llm, path, same)
        await recording.complete(asking())
        await recording.complete(asking())
    with Replay(path, same) as replay:
        assert [(await replay.complete(asking())).text for _ in range(2)] == ["first", "second"]


async def test_a_secret_is_in_no_line_and_its_request_still_matches(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    error = RateLimitedError("x:y", f"slow {SECRET}", "Wait")
    with Scripted(REPLY, error) as llm:
        recording = Recording(llm, path, redact)
        await recording.complete(asking(f"it is {SECRET}"))
        with pytest.raises(RateLimitedError):
            await recording.complete(asking("two"))
    assert SECRET not in path.read_text("utf-8")
    with Replay(path, redact) as replay:
        reply = await replay.complete(asking(f"it is {SECRET}"))
        assert reply.parsed == {"reflection": ["Püh [secret]", 1, None]}
        with pytest.raises(RateLimitedError, match=r"slow \[secret\]"):
            await replay.complete(asking("two"))


@pytest.mark.skipif(os.name != "posix", reason="mode bits are POSIX")
async def test_a_recording_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    with Scripted("yes") as llm:
        await Recording(llm, path, same).complete(asking())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_an_unexpected_request_ends_the_replay(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    path.touch()
    with Replay(path, same) as replay, pytest.raises(ReplayError, match="no recorded completion is left"):
        await replay.complete(asking())
    assert not issubclass(ReplayError, LLMError)


async def test_a_leftover_completion_fails_at_the_end_unless_the_block_failed(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    with Scripted("yes") as llm:
        await Recording(llm, path, same).complete(asking())
    with pytest.raises(ReplayError, match="1 recorded"), Replay(path, same):
        pass
    with pytest.raises(KeyError), Replay(path, same):
        raise KeyError


@pytest.mark.parametrize(
    "line", ["{}", "nonsense", '{"request": {}, "error": {"kind": "?"}}', '{"reply": {"text": ""}}']
)
def test_a_line_that_is_no_completion_is_named_by_file_and_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "tape.jsonl"
    path.write_text(line + "\n", "utf-8")
    with pytest.raises(ReplayError, match=r"tape\.jsonl:1"):
        Replay(path, same)


def _every_error() -> list[LLMError]:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, LLMError)]
    plain = [kind for kind in kinds if kind not in {LLMError, LLMSettingError}]
    return [LLMSettingError("MCP_REFLECT_LLM", "no", "Fix"), *(kind("x:y", "no", "Fix") for kind in plain)]


@pytest.mark.parametrize("error", _every_error(), ids=lambda error: error.kind)
async def test_every_error_survives_the_tape(tmp_path: Path, error: LLMError) -> None:
    path = tmp_path / "tape.jsonl"
    with Scripted(error) as llm, pytest.raises(type(error)):
        await Recording(llm, path, same).complete(asking())
    assert json.loads(path.read_text("utf-8"))["error"]["kind"] == error.kind
    with Replay(path, same) as replay, pytest.raises(type(error)) as caught:
        await replay.complete(asking())
    assert str(caught.value) == str(error)
