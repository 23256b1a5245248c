"""Copies of the bank as a file, made and put back: `mcp-reflect backup | restore`."""

from argparse import Namespace
from pathlib import Path

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.output import (
    confirm,
    write_line,
    write_result,
)
from mcp_reflect.cli.running import with_engine
from mcp_reflect.errors import InputError
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker, refuse_agent, refuse_in_host, speaker_of_process
from mcp_reflect.storage.sqlite import backup


def add_backup_arguments(parser: CliParser) -> None:
    """Add the argument of `mcp-reflect backup`."""
    parser.add_argument("file", help="a file that does not exist yet")


def run_backup(options: Namespace) -> None:
    """Copy the bank to one private file (mode 0600), completely or not at all, while servers run."""

    async def copy(engine: Engine) -> None:
        """Copy the bank to the named file, and say so."""
        await engine.bank.open()
        _refuse_server(engine, "pg_dump --schema=mcp_reflect --format=custom --file=FILE")
        file = Path(options.file).absolute()
        size = backup.backup(engine.bank.path, file)
        write_result(
            options, {"file": str(file), "bytes": size}, f"Copied to {file}, {size} bytes."
        )

    with_engine(copy, opens=False)


def add_restore_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect restore`."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("file", nargs="?", help="a copy that `mcp-reflect backup` or a server made")
    source.add_argument(
        "--latest", action="store_true", help="the newest sound daily copy beside the bank"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run_restore(options: Namespace) -> int:
    """Replace all that is in the bank by what a copy holds.

    Servers that run continue with it. What was in the bank is kept as a copy beside it, if it is a file. A bank that
    holds a lesson which a person keeps is replaced in a person's terminal alone; a script may restore any other.
    """
    refuse_in_host("restore", "replace all that is in the bank")

    async def restore(engine: Engine) -> int:
        """Replace the bank, if the person agrees; return the exit status."""
        bank = engine.bank
        _refuse_server(engine, "pg_restore --clean --if-exists --single-transaction FILE")
        speaker = speaker_of_process()
        wait = engine.settings.bank_busy_seconds
        if backup.holds_word_of_person(bank.path, wait):
            refuse_agent(speaker, "restore", "replace a bank that holds their lessons")
        file = _copy_to_restore(bank.path, options)
        question = f"Replace all that is in {bank.place} by {file}?"
        if not options.yes and not confirm(question, "it replaces all that is in the bank"):
            write_line("Nothing was restored.")
            return 1
        by_person = speaker is Speaker.PERSON
        previous = backup.restore(bank.path, file, bank.clock.now(), wait, by_person=by_person)
        result = {"restored": str(file), "kept": None}
        text = f"Restored {file}."
        if previous is not None:
            result["kept"] = str(previous)
            text += f" The previous content is in {previous}."
        write_result(options, result, text)
        return 0

    return with_engine(restore, opens=False)


def _copy_to_restore(bank: Path, options: Namespace) -> Path:
    """Return the copy that the options name: a file, or with --latest the newest sound daily copy beside the bank."""
    if options.latest:
        return backup.latest_copy(bank)
    return Path(options.file).absolute()


def _refuse_server(engine: Engine, command: str) -> None:
    """Raise InputError for a bank on a server, with the command of PostgreSQL that does the same."""
    if isinstance(engine.settings.bank, ServerUrl):
        fault = "it is on a server, which has programs of its own for copies"
        raise InputError("MCP_REFLECT_BANK", fault, f"Run as a superuser: {command}")
