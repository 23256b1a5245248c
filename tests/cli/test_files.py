"""Files that commands write: replaced whole or not at all, and nothing destroyed that was not ours."""

import io
import os
import stat
import threading
from pathlib import Path

import pytest

from mcp_reflect.cli.files import read_text, replace_file
from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError
from tests.cli.commands import Command


def test_the_file_is_the_old_one_until_the_last_word_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old", "utf-8")
    with replace_file(path, 0o640) as file:
        file.write("new\r\n")
        file.flush()
        assert path.read_text("utf-8") == "old"
    assert path.read_bytes() == b"new\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old", "utf-8")

    def interrupted() -> None:
        with replace_file(path) as file:
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_more_than_a_file_may_hold_is_refused_from_a_file_and_from_stdin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(max_file_bytes=10)
    for text, name in ((text, name) for text in ("ten signs.", "eleven sign") for name in ("-", str(tmp_path / "a"))):
        (tmp_path / "a").write_text(text, "utf-8")
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        if len(text) <= 10:
            assert read_text(name, limits) == text
        else:
            with pytest.raises(InputError, match="file: it has 11"):
                read_text(name, limits)


LINE = {"mistake": "Lost the house key", "correction": "Leave one with a neighbor"}
WRITERS = [("export",), ("board", "--out")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
@pytest.mark.parametrize("words", WRITERS)
def test_a_pipe_is_written_through_to_and_stays(command: Command, words: tuple[str, ...]) -> None:
    command("import", command.file("lessons.jsonl", [LINE]))
    pipe = command.folder / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text("utf-8")))
    reader.start()
    command(*words, str(pipe))
    reader.join(30)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert "correction" in received[0]


@pytest.mark.skipif(not hasattr(os, "mknod"), reason="Windows and macOS have no such call")
@pytest.mark.parametrize("words", WRITERS)
def test_a_device_is_written_through_to_and_stays(command: Command, words: tuple[str, ...]) -> None:
    device = command.folder / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_text("")
    except OSError:
        pytest.skip("only root may make a device")
    command(*words, str(device))
    assert stat.S_ISCHR(device.stat().st_mode)
    assert stat.S_IMODE(device.stat().st_mode) & 0o077


@pytest.mark.parametrize("words", WRITERS)
def test_a_file_of_others_is_overwritten_only_with_force(command: Command, words: tuple[str, ...]) -> None:
    path = command.folder / "thesis.txt"
    path.write_text("three years of work", "utf-8")
    assert "exists and is not from this command. Name another, or add --force." in command(*words, str(path), code=2)
    assert path.read_text("utf-8") == "three years of work"
    command(*words, str(path), "--force")
    assert "three years" not in path.read_text("utf-8")


@pytest.mark.parametrize("words", WRITERS)
def test_a_file_of_the_same_command_is_replaced_without_a_question(command: Command, words: tuple[str, ...]) -> None:
    command("import", command.file("lessons.jsonl", [LINE]))
    path = command.folder / "out"
    command(*words, str(path))
    command("import", command.file("lessons.jsonl", [{"mistake": "Fed the quokka", "correction": "Feed it at noon"}]))
    command(*words, str(path))
    assert "quokka" in path.read_text("utf-8")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("words", WRITERS)
def test_what_cannot_be_written_is_named(command: Command, words: tuple[str, ...]) -> None:
    if words != ("export",):  # which writes Markdown files into a folder
        assert "cannot be written: Is a directory" in command(*words, str(command.folder), code=2)
    assert "cannot be written: No such file" in command(*words, str(command.folder / "none" / "x"), code=2)
