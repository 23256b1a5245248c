"""What the tries of hosts share: a clean home, our own command in it, a word for each step with its time."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parent.parent.parent
LESSON = {
    "mistake": "Deployed the shop on a Friday evening",
    "correction": "Deploy the shop on a Tuesday morning",
}
TASK = "deploy the shop"


class Home:
    """A home directory that nobody has used, and a project in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MCP_REFLECT", "XDG_"))
        }
        self.env = {
            **kept,
            "HOME": str(folder),
            "USERPROFILE": str(folder),
            "PYTHONPATH": str(ROOT),
        }

    def run(
        self,
        *command: str,
        seconds: float = 60,
        errors: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """What a command prints in the project, with its `errors` too; the try ends where it fails or is slow."""
        try:
            done = subprocess.run(
                command,
                cwd=self.project,
                env={**self.env, **(env or {})},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            stop(f"{' '.join(command)} took more than {seconds:.0f} s")
        if done.returncode != 0:
            stop(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout + (done.stderr if errors else "")

    def reflect(self, *words: str) -> str:
        """Our own command."""
        return self.run(sys.executable, "-m", "mcp_reflect", *words)

    def by_person(self, *command: str) -> None:
        """Run a command as a person does, at a terminal."""
        self.run(sys.executable, "-c", f"import pty, sys; sys.exit(pty.spawn({list(command)!r}))")

    def lessons(self) -> list[dict[str, Any]]:
        """What the bank of this home holds for the project."""
        return json.loads(self.reflect("lessons", "list", "--json"))


@contextmanager
def clean_home(name: str) -> Generator[Home]:
    """A home for one host, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=f"home-{name}-"))
    try:
        yield Home(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def step(what: str) -> Generator[None]:
    """Say what was tried and how long it took."""
    began = time.perf_counter()
    yield
    print(f"  {what}: {time.perf_counter() - began:.1f} s", flush=True)


def held(truth: object, what: str) -> None:
    """End the try where something is not so."""
    if not truth:
        stop(f"this is not so: {what}")


def wait_for_environment(data: Path, most_seconds: float) -> None:
    """Wait until a plugin has made its environment below a folder of its data."""
    began = time.monotonic()
    while not [*data.glob("**/environment-*/ready")]:
        held(time.monotonic() - began < most_seconds, f"it was made in {most_seconds:.0f} s")
        time.sleep(0.5)


def stop(fault: str) -> NoReturn:
    """End the try with its fault."""
    sys.exit(f"FAILED: {fault}")


def binary(pattern: str) -> str:
    """The program of a host in the folder of the command line, in which npm has installed it."""
    where = Path(sys.argv[1] if len(sys.argv) > 1 else ".").absolute()
    found = sorted(where.glob(f"node_modules/{pattern}"))
    if not found:
        stop(
            f"there is no node_modules/{pattern} in {where}: name the folder in which npm has installed it."
        )
    return str(found[0])
