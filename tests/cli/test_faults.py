"""A fault is one clear line and an exit status, without a secret; files are written whole or not at all."""

import io
import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from mcp_reflect.cli import main
from mcp_reflect.cli.files import read_text, replace_file
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.limits import Limits
from tests.cli.commands import Command
from tests.cli.typed import Person
from tests.clients.forked import run_forked
from tests.secrets import SECRETS

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("command")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pty")
def test_the_first_ctrl_c_ends_a_command_that_asks(command: Command) -> None:
    quarantined = {
        "mistake": "Fed the wombat",
        "correction": "Feed it once",
        "trust": "quarantined",
    }
    plain = {"mistake": "Fed the fern", "correction": "Water it"}
    command("import", command.file("lessons.jsonl", [quarantined, plain]))
    env = {"MCP_REFLECT_BANK": str(command.folder / "bank.db"), "MCP_REFLECT_PROJECT": "app"}
    person = Person(["lessons", "review"], env)
    person.until("[q]uit: ")
    person.presses("\x03", "^C")
    assert person.leaves() == -signal.SIGINT
    assert "Traceback" not in person.screen


@pytest.mark.parametrize(
    "words", [["recall", "x"], ["lessons", "list"], ["stats"], ["doctor"], ["export"]]
)
def test_a_bank_whose_folder_cannot_be_used_is_said_in_a_line(
    tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "file").write_text("")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o000)
    for bank in (tmp_path / "file" / "bank.db", locked / "deeper" / "bank.db"):
        if os.name == "nt" or (bank.parent.parent == locked and os.geteuid() == 0):
            continue  # root may look into any folder
        done = run_forked(words, {"MCP_REFLECT_BANK": str(bank)}, seconds=60)
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr + done.stdout
        assert str(bank.parent) in done.stderr + done.stdout
    locked.chmod(0o700)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write into any folder")
def test_doctor_checks_a_bank_in_a_folder_that_may_only_be_read(command: Command) -> None:
    command("lessons", "add", "Run make setup before make test")
    command.folder.chmod(0o555)
    report = command.json_status("doctor", code=1)
    command.folder.chmod(0o755)
    assert (report["read_only"], report["bank_works"], report["projects_in_bank"]) == (
        True,
        True,
        {"app": 1},
    )
    assert any("can only be read" in fault for fault in report["degraded"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
def test_a_pipe_among_prompt_templates_is_named_and_not_waited_for(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_REFLECT_PROMPTS_DIR", str(command.folder))
    os.mkfifo(command.folder / "critique.md")
    assert "is not a regular file" in str(command.json_status("doctor", code=1)["degraded"])
    assert "critique" in command("prompts", "list")


KEY = SECRETS["github_token"]
WORDS = [
    ("{}",),
    ("recall", "x", "--kind", "{}"),
    ("prompts", "show", "{}"),
    ("install", "{}"),
    ("lessons", "show", "{}"),
    ("lessons", "{}"),
    ("recall", "x", "--limit", "{}"),
    ("serve", "{}"),
    ("dream", "--undo", "{}"),
    ("reflect", "{}"),
]


@pytest.mark.parametrize("before", [0, 20, 50, 70, 77])
@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_no_half_of_a_key_is_repeated(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], before: int
) -> None:
    hidden = f"{'w ' * (before // 2)}{KEY} after"
    try:
        code = main([word.replace("{}", hidden) for word in words])
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr()
    assert code in {1, 2}
    assert KEY[4:12] not in said.out + said.err


@pytest.mark.parametrize(
    "name", ["LOG_LEVEL", "ENABLED", "MAX_EVENTS", "HOLDOUT", "LLM", "LLM_TOKENS_PER_DAY"]
)
def test_no_half_of_a_key_in_a_setting_is_repeated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(f"MCP_REFLECT_{name}", f"{'w ' * 32}{KEY}")
    main(["doctor"])
    said = capsys.readouterr()
    assert KEY[4:12] not in said.out + said.err
    assert said.out + said.err


def test_a_name_that_is_no_setting_is_repeated_without_the_key_in_it() -> None:
    assert KEY[4:12] not in str(
        Settings.from_env({f"MCP_REFLECT_{'X_' * 25}{KEY}": "1"}).misspelled()
    )


def test_a_text_that_cannot_be_written_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "written" / "a.txt"
    path.parent.mkdir()
    replace_file(path, "old\r\n", 0o640)
    with pytest.raises(UnicodeEncodeError):
        replace_file(path, "half \ud800")
    assert path.read_bytes() == b"old\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(path.parent.iterdir()) == [path]


def test_more_than_a_file_may_hold_is_refused_from_a_file_and_from_stdin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(max_file_bytes=10)
    for text, name in (
        (text, name)
        for text in ("ten signs.", "eleven sign")
        for name in ("-", str(tmp_path / "a"))
    ):
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
def test_a_file_of_others_is_overwritten_only_with_force(
    command: Command, words: tuple[str, ...]
) -> None:
    path = command.folder / "thesis.txt"
    path.write_text("three years of work", "utf-8")
    assert "exists and is not from this command. Name another, or add --force." in command(
        *words, str(path), code=2
    )
    assert path.read_text("utf-8") == "three years of work"
    command(*words, str(path), "--force")
    assert "three years" not in path.read_text("utf-8")


@pytest.mark.parametrize("leads_to_a_file", [True, False])
@pytest.mark.parametrize("words", WRITERS)
def test_no_link_that_a_repository_may_have_put_there_is_written_through(
    command: Command, words: tuple[str, ...], leads_to_a_file: bool
) -> None:
    outside = command.folder / "outside"
    if leads_to_a_file:
        outside.write_text("theirs", "utf-8")
    link = command.folder / "out.jsonl"
    link.symlink_to(outside)
    said = command(*words, str(link), "--force", code=2)
    assert f"is a link to {outside}. Name the file itself, or remove the link." in said
    assert outside.exists() == leads_to_a_file
    assert not leads_to_a_file or outside.read_text("utf-8") == "theirs"


@pytest.mark.parametrize("words", WRITERS)
def test_a_file_of_the_same_command_is_replaced_whole_and_is_private(
    command: Command, words: tuple[str, ...]
) -> None:
    command("import", command.file("lessons.jsonl", [LINE]))
    path = command.folder / "out"
    assert command.json(*words, str(path))["file"] == str(path)
    command(
        "import",
        command.file(
            "lessons.jsonl", [{"mistake": "Fed the quokka", "correction": "Feed it at noon"}]
        ),
    )
    command(*words, str(path))
    assert "quokka" in path.read_text("utf-8")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("words", WRITERS)
def test_what_cannot_be_written_is_named(command: Command, words: tuple[str, ...]) -> None:
    if words != ("export",):  # which writes Markdown files into a folder
        assert "cannot be written: Is a directory" in command(*words, str(command.folder), code=2)
    assert "cannot be written: No such file" in command(
        *words, str(command.folder / "none" / "x"), code=2
    )
