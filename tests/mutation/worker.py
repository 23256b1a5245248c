"""Run pytest once for each line on stdin, in a fork of a process that has imported what is slow to import.

A line is JSON: {"arguments": [...], "output": FILE, "seconds": 60}. The answer is pytest's exit status, or `hangs`.
"""

import json
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path

SLOW = ("pytest", "pytest_asyncio.plugin", "xdist.plugin", "hypothesis", "mcp", "mcp.server", "pydantic", "numpy")


def run(arguments: list[str], output: str, seconds: float) -> str:
    """Run pytest in a fork with a session of its own, so that what it started ends with it."""
    child = os.fork()
    if child == 0:
        os.setsid()
        written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(written, 1)
        os.dup2(written, 2)
        import pytest  # noqa: PLC0415 - imported before the fork

        status = pytest.main(arguments)
        sys.stdout.flush()
        os._exit(status)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return str(os.waitstatus_to_exitcode(status))
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"


if __name__ == "__main__":
    sys.path[0] = str(Path.cwd())  # the copy of the checkout, not the folder of this file
    for name in SLOW:
        import_module(name)
    for line in sys.stdin:
        print(run(**json.loads(line)), flush=True)
