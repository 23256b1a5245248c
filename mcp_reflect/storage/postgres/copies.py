"""Copies of a bank on a server, made and restored by PostgreSQL's own pg_dump and pg_restore."""

import os
import subprocess
from pathlib import Path
from typing import Final

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mcp_reflect.config import ServerUrl
from mcp_reflect.errors import BankError

_ONE_TENANT: Final = "This user sees one tenant at a time. Name a superuser in MCP_REFLECT_BANK, or one with BYPASSRLS."


def backup(bank: ServerUrl, file: Path) -> int:
    """Copy the bank, with all tenants, to a new file (mode 0600); return its bytes. BankError if that fails."""
    try:
        file.touch(0o600, exist_ok=False)
    except FileExistsError:
        raise BankError(f"{file} is there already. Name a file that is not.") from None
    except OSError as error:
        raise BankError(f"{file} cannot be written: {error.strerror}.") from None
    try:
        _run("pg_dump", bank, "--schema=mcp_reflect", "--format=custom", f"--file={file}")
    except BaseException:
        file.unlink()
        raise
    return file.stat().st_size


def restore(bank: ServerUrl, file: Path) -> None:
    """Replace the bank by a copy that `backup` made, in one transaction. BankError if that fails."""
    _run("pg_restore", bank, "--clean", "--if-exists", "--single-transaction", str(file))


def _run(program: str, bank: ServerUrl, *words: str) -> None:
    """Run a program of PostgreSQL on the bank's database. Other users of this machine never see the password."""
    parameters = conninfo_to_dict(bank.whole)
    password = str(parameters.pop("password", None) or os.environ.get("PGPASSWORD", ""))
    place = make_conninfo("", **parameters)
    command = (program, "--no-password", f"--dbname={place}", *words)
    env = {**os.environ, **({"PGPASSWORD": password} if password else {})}
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603 - the person's own bank
    except FileNotFoundError:
        raise BankError(
            f"{program} is not on PATH. Install PostgreSQL's client programs, of the server's version."
        ) from None
    if done.returncode:
        said = " ".join(done.stderr.split())[:500].replace(password or "\n", "***")
        raise BankError(f"{program} failed: {said}{f' {_ONE_TENANT}' if 'row-level security' in said else ''}")
