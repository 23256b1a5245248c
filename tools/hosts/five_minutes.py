"""A new user's first five minutes: `python -m tools.hosts.five_minutes WHEEL [HOST]` prints the seconds of each step.

In a clean home directory: install the wheel, register it in a host (default: cursor), write the first lesson by hand,
recall it from the command line and through the registered server, see it on the page, and undo everything.
"""

import json
import shutil
import sys
import venv
from pathlib import Path

from tools.hosts.clean_homes import called, contents, registered, remove_empty, server
from tools.hosts.trying import LESSON, TASK, clean_home, held, step


def main(words: list[str]) -> int:
    """Play the steps; ends with 1 at the first that fails."""
    wheel, host = Path(words[0]).absolute(), words[1] if len(words) > 1 else "cursor"
    with clean_home("five-minutes") as home:
        environment = home.folder / "environment"
        folder = environment / ("Scripts" if sys.platform == "win32" else "bin")
        command = str(folder / "mcp-reflect")
        home.env.pop("PYTHONPATH")  # the installed package, not this checkout

        with step("install"):
            venv.create(environment, with_pip=True)
            home.run(str(folder / "python"), "-m", "pip", "install", "-q", str(wheel), seconds=300)
        before = contents(home)
        with step(f"register in {host}"):
            home.run(command, "install", host, "--yes")
        with step("first lesson by hand"):
            home.run(
                command, "lessons", "add", *(f"--{name}={text}" for name, text in LESSON.items())
            )
        with step("recall on the command line"):
            held(
                LESSON["correction"] in home.run(command, "recall", TASK), "the lesson is recalled"
            )
        line, env = registered(host, home)
        with step("recall through the registered server"):
            project = {**env, "MCP_REFLECT_PROJECT": str(home.project)}
            with server(line, project, home) as running:
                answer = called(running, "recall_lessons", {"task": TASK})
            held(
                LESSON["correction"] in json.dumps(answer),
                f"the server recalls the lesson, not {answer}",
            )
        with step("see it on the page"):
            page = home.project / "board.html"
            home.run(command, "board", "--out", str(page))
            held(LESSON["correction"] in page.read_text("utf-8"), "the page shows the lesson")
            page.unlink()
        with step("undo all"):
            (lesson,) = json.loads(home.run(command, "lessons", "list", "--json"))
            home.run(command, "lessons", "erase", lesson["id"], "--yes")
            home.run(command, "install", host, "--uninstall", "--yes")
        bank = Path(json.loads(home.run(command, "doctor", "--json"))["bank"]).parent
        shutil.rmtree(bank)
        remove_empty(bank.parent, home.folder)
        left = contents(home) - before
        held(not left, f"nothing but the bank is left, but {sorted(left)} is")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
