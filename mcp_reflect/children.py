"""Starts every process of this package, so that nothing of the folder that is worked in runs in it.

A process of ours ignores the variables of Python (`-E`) and never looks for modules in a folder it was started in
(`-P`); it works in the folder of this package. A program of somebody else is looked for in the folders of PATH that
`search_path` leaves: none of the folder that is worked in.
`tests/contracts/test_children.py` forbids any other start.
"""

import asyncio
import os
import shlex
import signal
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from mcp_reflect.search_path import find_program, safe_path, word_of_folder

ISOLATED: Final = ("-E", "-P")
"""Options of Python: ignore PYTHONPATH and the like; put neither the working folder nor a script's on the path."""

Child: TypeAlias = subprocess.Popen[bytes]

OUR_FOLDER: Final = Path(__file__).resolve().parent
_LOOKING_SECONDS: Final = 20.0  # that Python may take to start and look for two packages
_START: Final = OUR_FOLDER / "isolated.py"


def our_command(*words: str, module: str = "mcp_reflect") -> list[str]:
    """Return the command that runs a module of this package; it reads and writes UTF-8."""
    return [sys.executable, *ISOLATED, "-X", "utf8", str(_START), module, *words]


def our_environment(**more: str) -> dict[str, str]:
    """Return this environment for a process of ours, with the variables `more`.

    It is without the variables of Python (PYTHONPATH) and the folders of PATH that are worked in: both could bring code
    of that folder into the process.
    """
    variables = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    if "PATH" in variables:
        variables["PATH"] = safe_path()
    return {**variables, **more}


_PRINT_WHERE_INSTALLED: Final = """
import sys
from importlib.util import find_spec
if find_spec("mcp"):
    sys.stdout.write(find_spec("mcp_reflect").origin)
"""
"""Prints the file of the package that Python imports as `mcp_reflect`, if the library `mcp` is there too."""


@cache
def is_found_isolated() -> bool:
    """Return whether `python -E -P` imports this very package and its libraries by itself.

    If not, PYTHONPATH or the working folder brought the package, and another process has to be told where it is.
    """
    try:
        run = subprocess.run(
            [sys.executable, *ISOLATED, "-c", _PRINT_WHERE_INSTALLED],
            capture_output=True,
            cwd=OUR_FOLDER,
            env=our_environment(),
            timeout=_LOOKING_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return run.returncode == 0 and Path(os.fsdecode(run.stdout)).parent == OUR_FOLDER


def start_in_background(words: Sequence[str], errors: Path, **variables: str) -> Child:
    """Start a command of ours that outlives this process; what it writes on stderr replaces the file `errors`.

    `variables` are set in its environment, beside those of this process.
    OSError if `errors` is a link: somebody else may have planted it to have another file overwritten.
    """
    flags = os.O_WRONLY | os.O_TRUNC | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(errors, flags, 0o600), "wb") as log:
        return subprocess.Popen(
            our_command(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            cwd=OUR_FOLDER,
            env=our_environment(**variables),
            start_new_session=True,
        )


async def start_worker(module: str, most_line: int) -> Process:
    """Start a module of ours that answers each line on stdin with one on stdout, of at most `most_line` bytes."""
    return await asyncio.create_subprocess_exec(
        *our_command(module=module),
        stdin=PIPE,
        stdout=PIPE,
        limit=most_line,
        cwd=OUR_FOLDER,
        env=our_environment(),
        start_new_session=os.name == "posix",  # Ctrl-C ends us, and we end it
    )


async def start_program(command: Sequence[str], folder: str, env: Mapping[str, str]) -> Process:
    """Start a program of the person's in a folder that we made; `search_path` says where it is."""
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=folder,
        env=dict(env),
        start_new_session=True,
    )


async def end_program(process: Process) -> None:
    """End a program with its children, if it still runs."""
    if process.returncode is not None:
        return
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        system = os.environ.get("SYSTEMROOT", r"C:\Windows")
        command = (rf"{system}\System32\taskkill.exe", "/T", "/F", "/PID", str(process.pid))
        killer = await asyncio.create_subprocess_exec(*command, stdout=DEVNULL, stderr=DEVNULL)
        await killer.wait()
    await process.wait()


def write_output(
    command: Sequence[str], file: Path, *, folder: Path, env: Mapping[str, str], seconds: float
) -> bool:
    """Write what a program prints to a file; return whether it ended well and in time."""
    try:
        with file.open("wb") as output:
            run = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=dict(env),
                timeout=seconds,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return run.returncode == 0


def output_of(name: str, *words: str) -> str | None:
    """Return what a program of the system prints; None where there is none, or it fails."""
    path = find_program(name)
    if path is None:
        return None
    try:
        run = subprocess.run([path, *words], capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if run.returncode != 0:
        return None
    return run.stdout.decode("utf-8", "replace")


def edit_file(command: str, file: Path) -> None:
    """Let a person edit a file in the editor that they named; OSError or ValueError where that fails.

    What the editor writes is the person's word, so that it is no program of the folder that is worked in, is given no
    file of it, and starts elsewhere.
    """
    words = shlex.split(command)
    if not words:
        raise ValueError("it names no program")
    if (word := word_of_folder(words)) is not None:
        raise OSError(f"'{word}' is of the folder that is worked in, or relative to it")
    program, *arguments = words
    if not os.path.dirname(program):  # noqa: PTH120 - Path drops what makes `./vi` a path
        found = find_program(program)
        if found is None:
            raise OSError("there is no such program on PATH, outside of this folder")
        program = found
    try:
        environment = {**os.environ, "PATH": safe_path()}
        words = [program, *arguments, str(file.absolute())]
        subprocess.run(words, check=True, env=environment, cwd=OUR_FOLDER)
    except subprocess.CalledProcessError as error:
        raise OSError(f"it ended with {error.returncode}") from None


def open_browser(address: str) -> None:
    """Open an address in the person's browser; it may log them in, so that no program of the folder is told it.

    The module of the library looks for browsers in BROWSER and on PATH, and starts them with these: this process keeps
    what is safe of both.
    """
    import webbrowser  # noqa: PLC0415 - one command needs it

    os.environ["PATH"] = safe_path()
    if browsers := os.environ.pop("BROWSER", ""):
        os.environ["BROWSER"] = os.pathsep.join(filter(_is_outside, browsers.split(os.pathsep)))
    webbrowser.open(address)


def _is_outside(browser: str) -> bool:
    """Return whether a browser that BROWSER names has nothing of the folder that is worked in: `firefox %s`."""
    try:
        words = shlex.split(browser)
    except ValueError:
        return False
    return bool(words) and word_of_folder(words) is None


def command_line(words: Sequence[str], *, windows: bool) -> str:
    """Return a command as a line for a shell: ["grep", "two words"] -> `grep 'two words'`.

    On Windows the program is written with slashes, which every shell accepts in a path.
    """
    if windows:
        program, *arguments = words
        return subprocess.list2cmdline([program.replace("\\", "/"), *arguments])
    return shlex.join(words)


def server_parameters(env: Mapping[str, str]) -> dict[str, Any]:
    """Return how a client of MCP starts this installation's server, with `env` added."""
    program, *arguments = our_command()
    return {
        "command": program,
        "args": arguments,
        "env": our_environment(**env),
        "cwd": str(OUR_FOLDER),
    }
