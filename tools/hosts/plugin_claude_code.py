"""The plugin in the real Claude Code: `python -m tools.hosts.plugin_claude_code DIR [uv]`.

DIR is where npm installed it; the model is played on loopback. A person adds the folder of this repository as a
marketplace and installs the plugin, in a home that has python3 and not uv (with the word `uv`: both). The first session
begins before the environment is made; later ones have tools, hooks and commands. Then it stands beside
`mcp-reflect install`, goes to the next version, and is taken out again: the bank is left.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from tools.hosts.claude_code import CONNECTED, FAILING, WORKING, call, write_tool
from tools.hosts.claude_code_tools import environment
from tools.hosts.scripted_anthropic import Model, Until, results, serve, tool_use
from tools.hosts.trying import LESSON, ROOT, TASK, Home, binary, clean_home, held, step, stop

PLUGIN = "mcp-reflect@mcp-reflect"
OURS = "mcp__plugin_mcp-reflect_mcp-reflect__"
COMMANDS = ("reflect", "lessons", "learn", "critique", "review")
DONE = {"type": "text", "text": "Done."}


class Trial:
    """Claude Code in a home, with its model."""

    def __init__(self, program: str, home: Home, model: Model, url: str) -> None:
        self.program, self.home, self.model = program, home, model
        self.env = environment(url)
        folders = [
            folder
            for folder in self.env["PATH"].split(os.pathsep)
            if not (Path(folder) / "uv").exists()
        ]
        self.env["PATH"] = os.pathsep.join(folders)
        home.env.pop("PYTHONPATH")  # the plugin's own environment, not this checkout
        self.clone = home.folder / "clone"
        self.data = home.folder / ".claude" / "plugins" / "data" / "mcp-reflect-mcp-reflect"
        copy_checkout(self.clone)

    def plugin(self, *words: str) -> str:
        return self.home.run(self.program, "plugin", *words, env=self.env, seconds=120)

    def session(
        self, *script: dict[str, Any] | Until, prompt: str = "Run the tool"
    ) -> list[dict[str, Any]]:
        """Run one session to its end; what the host sent to the model."""
        self.model.script, self.model.requests = [*script, DONE], []
        words = ["-p", prompt, "--allowedTools", "Bash", f"{OURS}*", "mcp__mcp-reflect__*"]
        self.home.run(
            self.program, *words, "--model", "claude-sonnet-5-5", seconds=300, env=self.env
        )
        held(self.model.requests, "the host asked the model")
        return self.model.requests

    def wait_until_ready(self, version: str = "*") -> None:
        """Wait for the process that makes the environment."""
        for _ in range(400):
            if list(self.data.glob(f"environment-{version}/ready")):
                return
            time.sleep(1)
        stop(
            f"the environment is not made: {[path.read_text() for path in self.data.glob('*') if path.is_file()]}"
        )


def copy_checkout(target: Path, version: str | None = None) -> None:
    """Copy what a clone has; `version` in place of the one it has."""
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis", "dist"
    )
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT, target, ignore=ignored)
    if version:
        for name in (
            ".claude-plugin/plugin.json",
            ".claude-plugin/marketplace.json",
            "plugin/gemini-extension.json",
        ):
            text = (target / name).read_text("utf-8")
            now = json.loads((ROOT / "plugin" / "gemini-extension.json").read_text("utf-8"))[
                "version"
            ]
            (target / name).write_text(text.replace(f'"{now}"', f'"{version}"'), "utf-8")


def last_result(request: dict[str, Any]) -> str:
    """Return the result of the last call."""
    return json.dumps(results(request)[-1])


def is_stored(request: dict[str, Any]) -> bool:
    """Return whether the last call stored a lesson."""
    return "lesson_id" in last_result(request)


def ours(request: dict[str, Any]) -> list[str]:
    """Return the tools of ours that the model sees."""
    return sorted(tool["name"] for tool in request["tools"] if "mcp-reflect" in tool["name"])


def main() -> int:
    """Play it; see the module."""
    program = binary("@anthropic-ai/claude-code-*/claude")
    model = Model()
    server = serve(model)
    try:
        with clean_home("claude-code-plugin") as home:
            trial = Trial(program, home, model, f"http://127.0.0.1:{server.server_port}")
            if "uv" in sys.argv:
                add_uv(trial)
            install(trial)
            first_session(trial)
            later_sessions(trial)
            commands(trial)
            beside_install(trial)
            next_version(trial)
            remove(trial)
    finally:
        server.shutdown()
    return 0


def add_uv(trial: Trial) -> None:
    """Put uv on PATH, alone: the folder that has it may have more."""
    folder = trial.home.folder / "uv"
    folder.mkdir()
    (folder / "uv").symlink_to(shutil.which("uv") or stop("there is no uv on PATH"))
    trial.env["PATH"] = f"{folder}{os.pathsep}{trial.env['PATH']}"


def install(trial: Trial) -> None:
    """Install the plugin from the folder."""
    with step("validated, and installed from the folder"):
        said = trial.plugin("validate", str(trial.clone))
        held("Validation passed" in said, f"the marketplace is valid: {said}")
        said = trial.plugin("validate", str(trial.clone / ".claude-plugin" / "plugin.json"))
        held("Validation passed" in said, f"the plugin is valid: {said}")
        trial.plugin("marketplace", "add", str(trial.clone))
        trial.plugin("install", PLUGIN)


def first_session(trial: Trial) -> None:
    """The environment is made while the first session runs, which takes no harm."""
    with step("the first session, and the environment made in it"):
        ready = f'until ls "{trial.data}"/environment-*/ready 2>/dev/null; do sleep 1; done'
        store = tool_use(f"{OURS}store_lesson", LESSON, 1)
        wait = tool_use("Bash", {"command": ready, "timeout": 240_000}, 2)
        requests = trial.session(store, wait, Until(store, is_stored))
        early, late = json.dumps(results(requests[-1])[0]), last_result(requests[-1])
        held(
            "making its Python environment" in early,
            f"a call before it is ready gets a plain sentence: {early}",
        )
        held("lesson_id" in late, f"a call of the same session after it is stored: {late}")
    trial.wait_until_ready()


def later_sessions(trial: Trial) -> None:
    """Tools and hooks of a session that begins with the environment there."""
    launcher = [sys.executable, str(trial.clone / "plugin" / "launcher.py"), f"--data={trial.data}"]
    words = ["--mistake", "Ran tool.py without --yes: it refuses", "--correction", "Pass --yes"]
    trial.home.by_person(
        *launcher, "lessons", "add", *words, "--wrong-call", FAILING, "--right-call", WORKING
    )
    write_tool(trial.home)
    with step("a session: the wrong call, the same again, the right one"):
        requests = trial.session(CONNECTED, call(FAILING, 1), call(FAILING, 2), call(WORKING, 3))
        held(len(ours(requests[-1])) == 5, f"five tools are loaded: {ours(requests[-1])}")
        first, second, third = (json.dumps(block) for block in results(requests[-1])[-3:])
        held(
            "Pass --yes" in first and "refusing to run" not in first,
            f"the wrong call is held: {first}",
        )
        held(
            "refusing to run" in second and "all done" in third,
            f"the others are not: {second} {third}",
        )


def commands(trial: Trial) -> None:
    """Each command of the plugin."""
    for name in COMMANDS:
        with step(f"/mcp-reflect:{name}"):
            requests = trial.session(prompt=f"/mcp-reflect:{name} the blue door")
            sent = json.dumps(requests[0]["messages"])
            held("mcp-reflect" in sent and "${" not in sent, f"its text is sent: {sent[-2000:]}")
            held(
                "the blue door" in sent or name == "review",
                f"with what the person wrote: {sent[-2000:]}",
            )
            held(
                name != "lessons" or LESSON["correction"] in sent,
                f"with the lessons: {sent[-2000:]}",
            )
    with step("the tool that a command names"):
        recall = tool_use(f"{OURS}recall_lessons", {"task": TASK}, 1)
        requests = trial.session(CONNECTED, recall, prompt="/mcp-reflect:lessons")
        told = json.dumps(results(requests[-1]))
        held(LESSON["correction"] in told, f"it answers: {told}")


def beside_install(trial: Trial) -> None:
    """The plugin says nothing twice where `mcp-reflect install` has registered the server and its hooks."""
    home = trial.home
    with step("beside `install claude-code --hooks`"):
        found = home.env | {"PYTHONPATH": str(ROOT)}
        home.run(
            sys.executable,
            "-m",
            "mcp_reflect",
            "install",
            "claude-code",
            "--hooks",
            "--yes",
            env=found,
        )
        home.env["PYTHONPATH"] = str(ROOT)
        requests = trial.session(CONNECTED, call(FAILING, 1))
        home.env.pop("PYTHONPATH")
        names = ours(requests[-1])
        held(
            len(names) == 5 and all(name.startswith("mcp__mcp-reflect__") for name in names),
            f"once: {names}",
        )
        shown = json.dumps(requests[-1]["messages"]).count("Pass --yes")
        held(shown == 1, f"the call is refused once, not {shown} times")
        home.run(
            sys.executable,
            "-m",
            "mcp_reflect",
            "install",
            "claude-code",
            "--uninstall",
            "--yes",
            env=found,
        )


def next_version(trial: Trial) -> None:
    """Another version in the folder is an update."""
    with step("updated to the next version"):
        copy_checkout(trial.clone, "0.9.9")
        trial.plugin("marketplace", "update", "mcp-reflect")
        said = trial.plugin("update", PLUGIN)
        held("0.9.9" in said, f"it goes to the next version: {said}")
        trial.session()
        trial.wait_until_ready("0.9.9")
        requests = trial.session(CONNECTED, tool_use(f"{OURS}recall_lessons", {"task": TASK}, 1))
        told = json.dumps(results(requests[-1]))
        held(LESSON["correction"] in told, f"the lesson of before is recalled: {told}")


def remove(trial: Trial) -> None:
    """Take it out."""
    with step("removed, and the lessons kept"):
        trial.plugin("uninstall", PLUGIN)
        trial.plugin("marketplace", "remove", "mcp-reflect")
        home = trial.home.folder
        held(not trial.data.exists(), "its environment is gone")
        bank = home / ".local" / "share" / "mcp-reflect"
        left = [
            path
            for path in home.rglob("*mcp-reflect*")
            if trial.clone not in path.parents and path != bank
        ]
        print(f"  left: {[str(path.relative_to(home)) for path in left]}")
        settings = (home / ".claude" / "settings.json").read_text("utf-8")
        held("mcp-reflect" not in settings, f"nothing of it is in the settings: {settings}")
        trial.home.env["PYTHONPATH"] = str(ROOT)
        held(LESSON["correction"] in json.dumps(trial.home.lessons()), "the lessons are kept")


if __name__ == "__main__":
    sys.exit(main())
