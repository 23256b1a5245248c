"""A server reads the file of a session along, so that a stop reads only what is new."""

import asyncio
import json
from functools import partial
from pathlib import Path

from mcp_reflect.evidence.ledger import Ledger
from mcp_reflect.services.session_files import SessionFiles
from mcp_reflect.sessions.session_file import SessionFile

OUTPUT = "a line of an output that says nothing\n" * 2_000


def lines_of(name: str, command: str, output: str) -> str:
    used = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}
    told = {"type": "tool_result", "tool_use_id": name, "content": output}
    records = [
        {
            "type": "assistant",
            "sessionId": "s",
            "message": {"role": "assistant", "content": [used]},
        },
        {"type": "user", "sessionId": "s", "message": {"role": "user", "content": [told]}},
    ]
    return "".join(json.dumps(record) + "\n" for record in records)


def long_session(path: Path) -> Path:
    """Write 3 MB with a red run at the start, and a line at the end that is not finished."""
    calls = [lines_of("red", "npx jest", "Tests: 1 failed, 1 total")]
    calls += [lines_of(f"c{number}", f"cat part_{number}", OUTPUT) for number in range(40)]
    path.write_text("".join(calls) + '{"type": "assis')
    return path


def new(path: Path) -> SessionFile:
    return SessionFile(path, Ledger("/shop"))


def told_by(file: SessionFile) -> tuple[int, bool, list[bool | None], set[str]]:
    passed = [proof.outcome.passed for proof in file.ledger.proofs]
    return file.ledger.step, file.ledger.partial, passed, file.answered


async def followed(files: SessionFiles, path: Path) -> SessionFile:
    files.follow(str(path), partial(new, path))
    files.follow(str(path), partial(new, path))  # it is being done
    while asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
    async with files.reading(str(path), partial(new, path)) as session:
        return session.file


def test_a_session_that_is_read_along_tells_what_one_reading_tells(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl")

    async def play() -> None:
        files = SessionFiles()
        along = await followed(files, path)
        assert along.offset == path.stat().st_size - len('{"type": "assis')
        with path.open("a") as file:
            file.write(
                'tant", "message": {"content": []}}\n'
                + lines_of("z", "npx jest", "Tests: 2 passed")
            )
        again = await followed(files, path)
        assert again is along
        at_once = new(path)
        at_once.read()
        assert told_by(again) == told_by(at_once)
        assert told_by(again)[0] == 42

    asyncio.run(play())


def test_a_session_that_was_written_anew_is_read_from_its_start(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl")

    async def play() -> None:
        files = SessionFiles()
        await followed(files, path)
        path.write_text(lines_of("a", "npx jest", "Tests: 1 passed, 1 total"))
        along = await followed(files, path)
        assert told_by(along) == (1, False, [True], {"a"})

    asyncio.run(play())


def test_what_is_rewritten_missing_or_no_session_is_left_to_the_stop(tmp_path: Path) -> None:
    start = {"sessionId": "g", "projectHash": "p", "startTime": "2026-11-02T09:00:00.000Z"}
    rewritten = tmp_path / "session.jsonl"
    rewritten.write_text(json.dumps(start) + "\n")
    for path in (rewritten, tmp_path / "none.jsonl", tmp_path):
        file = asyncio.run(followed(SessionFiles(), path))
        assert (file.offset, file.ledger.step) == (0, 0)


def test_files_that_were_not_read_for_long_are_forgotten(tmp_path: Path) -> None:
    async def play() -> None:
        files = SessionFiles()
        paths = [long_session(tmp_path / f"{number}.jsonl") for number in range(5)]
        read = [await followed(files, path) for path in paths]
        async with files.reading(str(paths[-1]), partial(new, paths[-1])) as session:
            assert session.file is read[-1]
        async with files.reading(str(paths[0]), partial(new, paths[0])) as session:
            assert session.file is not read[0]
        async with files.reading("", partial(new, Path())) as first:
            pass
        async with files.reading("", partial(new, Path())) as second:
            assert first is not second

    asyncio.run(play())
