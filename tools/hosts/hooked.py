"""What a host with our hooks has to show, played with a model on loopback from an empty home.

`mcp-reflect install HOST --hooks` registers the server and its hooks; a person keeps a lesson. In one session the model
makes a call against it, a call that fails and then works, and says that tests pass which failed. Its requests show what
reached it. `--uninstall` then leaves nothing behind.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_reflect.cli.host_table import HOSTS
from tools.hosts.scripted_chat import ChatModel, Line, serve_chat
from tools.hosts.trying import Home, clean_home, held, step, stop

RULE = "Run pytest by uv"
WRONG, RIGHT = "pytest -q", "uv run pytest -q"
DEPLOY = '#!/bin/sh\ncase "$*" in *--confirm*) echo deployed;; *) echo "error: --confirm is missing" >&2; exit 2;; esac\n'
TESTS = "#!/bin/sh\necho 'Tests: 1 failed, 17 passed, 18 total'\nexit 1\n"
CLAIM, CORRECTED = "Done. All tests pass now.", "One test still fails."
ASKED, HELD = "keep what it should know", "mcp-reflect: You say"
PROMPT = "Test the shop with pytest and deploy it."
MOST_SECONDS = 5.0
"""An installation takes no longer: of a processor, since the clock tells what else the machine does."""

ShellCall = Callable[[str], Line]
"""The call of a host's shell with a command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookedHost:
    """How a host is tried, and what it can do.

    `prepare` writes what the host needs to know of the model on loopback; `command` and `env` run one prompt,
    `finish` ends what the host leaves running. `after`
    is false where nothing is asked after a call, `holds` where a last message cannot be held.
    """

    name: str
    shell: ShellCall
    command: Sequence[str]
    env: Callable[[str], Mapping[str, str]]
    prepare: Callable[[Home, str], None] = lambda _home, _url: None
    finish: Callable[[Home], None] = lambda _home: None
    after: bool = True
    holds: bool = True


def try_host(host: HookedHost) -> None:
    """Try a host; the first thing that is not so ends the try."""
    print(HOSTS[host.name].title)
    with clean_home(host.name) as home:
        before = contents(home)
        began = used_seconds()
        with step("registered, with hooks"):
            home.reflect("install", host.name, "--hooks", "--yes")
        held(used_seconds() - began <= MOST_SECONDS, f"it took {MOST_SECONDS} s at most")
        ours = contents(home) - before
        said = home.reflect("doctor")
        held(f"{HOSTS[host.name].title} (for you; hooks run)" in said, f"doctor names it:\n{said}")
        with step("a session"):
            told = converse(host, home)
        print(f"    {told}")
        with step("taken out"):
            home.reflect("install", host.name, "--uninstall", "--yes")
        left = {name for name in ours if (home.folder / name).is_file() and is_of_us(home, name)}
        held(not left, f"nothing of ours is left, but {sorted(left)} is")


def used_seconds() -> float:
    """The seconds of a processor that children of this process took."""
    used = os.times()
    return used.children_user + used.children_system


def contents(home: Home) -> set[str]:
    """The files in a home."""
    return {
        path.relative_to(home.folder).as_posix()
        for path in home.folder.rglob("*")
        if path.is_file()
    }


def is_of_us(home: Home, name: str) -> bool:
    """Whether a file names us; the bank is the person's, and stays."""
    is_bank = "/mcp-reflect/" in f"/{name}" and "/plugins/" not in name
    return not is_bank and "mcp-reflect" in (home.folder / name).read_text("utf-8", "replace")


def converse(host: HookedHost, home: Home) -> str:
    """Play the session, and say what reached the model."""
    for name, text in (("deploy.sh", DEPLOY), ("run_tests.sh", TESTS)):
        script = home.project / name
        script.write_text(text)
        script.chmod(0o755)
    kept = ("lessons", "add", RULE, "--wrong-call", WRONG, "--right-call", RIGHT)
    home.by_person(sys.executable, "-m", "mcp_reflect", *kept)
    commands = (WRONG, "./deploy.sh", "./deploy.sh --confirm", "./run_tests.sh")
    model = ChatModel([*map(host.shell, commands), {"text": CLAIM}, {"text": CORRECTED}])
    server = serve_chat(model)
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        host.prepare(home, url)
        said = run(host, home, url)
    finally:
        host.finish(home)
        server.shutdown()
    texts = [model.read(number) for number in range(len(model.requests))]
    held(len(texts) > len(commands), f"the session went on to its end:\n{said}\n{texts[-1:]}")
    # A host may name them in its instructions alone, and show them behind a search.
    offered = any("recall_lessons" in json.dumps(request) for request in model.requests)
    held(offered, f"our tools are offered, not only {sorted(model.tools())}")
    held(RULE in texts[1], f"the refusal reached the model at once: {texts[1]}")
    asked = [number for number, text in enumerate(texts) if ASKED in text][:1]
    held(asked or not host.after, f"the model was asked after a call: {texts[-1]}")
    holds = [number for number, text in enumerate(texts) if HELD in text][:1]
    held(holds or not host.holds, f"the last message was held: {texts[-1]}")
    found = {"tools": offered, "refused in request": 2, "asked in": asked, "held in": holds}
    return json.dumps(found)


def run(host: HookedHost, home: Home, url: str) -> str:
    """Run one prompt; return what the host printed."""
    env: dict[str, Any] = {**home.env, "PWD": str(home.project), **host.env(url)}
    env["MCP_REFLECT_LAST_WORD"] = "hold"
    command = [word.replace("{prompt}", PROMPT) for word in host.command]
    try:
        done = subprocess.run(
            command, cwd=home.project, env=env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=150, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        stop(f"{command[0]} took more than 150 s: {error.stdout!r}")
    return (done.stdout + done.stderr)[-2000:]
