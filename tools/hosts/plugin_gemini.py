"""The extension in the real Gemini CLI: `python -m tools.hosts.plugin_gemini DIR`.

DIR is where npm installed it; the model is played on loopback. The extension is installed from the folder `plugin`. The
first session begins before the environment is made; in the next a person's lesson refuses a call, and the commands send
their texts. Then the extension is taken out: the bank is left.
"""

import json
import sys
import time
import tomllib
from typing import Any

from tools.hosts.claude_code import FAILING, WORKING, write_tool
from tools.hosts.plugin_claude_code import COMMANDS, copy_checkout
from tools.hosts.scripted_gemini import GeminiModel, function_call, serve_gemini
from tools.hosts.trying import LESSON, ROOT, Home, binary, clean_home, held, step, stop

STORE = "mcp_mcp-reflect_store_lesson"


class Trial:
    """Gemini CLI in a home, with its model."""

    def __init__(self, program: str, home: Home, model: GeminiModel, url: str) -> None:
        self.program, self.home, self.model = program, home, model
        home.env.pop("PYTHONPATH")  # the extension's own environment, not this checkout
        home.env |= {"GEMINI_API_KEY": "scripted", "GOOGLE_GEMINI_BASE_URL": url}
        self.clone = home.folder / "clone"
        copy_checkout(self.clone)
        settings = home.folder / ".gemini"
        settings.mkdir()
        (settings / "settings.json").write_text(
            '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
        )
        trusted = {str(folder): "TRUST_FOLDER" for folder in (home.project, self.clone)}
        (settings / "trustedFolders.json").write_text(json.dumps(trusted))
        self.folder = settings / "extensions" / "mcp-reflect"

    def session(self, *script: dict[str, Any], prompt: str = "Run the tool") -> str:
        """Run one session to its end; what the host sent to the model last."""
        self.model.script, self.model.requests = list(script), []
        self.home.run(self.program, "-p", prompt, "--yolo", "-m", "gemini-2.5-pro", seconds=200)
        held(self.model.requests, "the host asked the model")
        return json.dumps(self.model.requests[-1]["contents"])


def shell(command: str) -> dict[str, Any]:
    """The model wants a command run."""
    return function_call("run_shell_command", {"command": command})


def main() -> int:
    """Play it; see the module."""
    program = binary(".bin/gemini")
    model = GeminiModel()
    server = serve_gemini(model)
    try:
        with clean_home("gemini-extension") as home:
            trial = Trial(program, home, model, f"http://127.0.0.1:{server.server_port}")
            play(trial)
    finally:
        server.shutdown()
    return 0


def play(trial: Trial) -> None:
    """The steps; see the module."""
    home, extension = trial.home, str(trial.clone / "plugin")
    with step("validated, and installed from the folder"):
        home.run(trial.program, "extensions", "validate", extension)
        home.run(trial.program, "extensions", "install", extension, "--consent", seconds=120)
    with step("the first session"):
        told = trial.session(function_call(STORE, LESSON))
        held(
            "making its Python environment" in told,
            f"a call before it is ready gets a plain sentence: {told[-2000:]}",
        )
    with step("its environment made"):
        made = home.folder / ".cache" / "mcp-reflect" / "plugin"
        for _ in range(300):
            if list(made.glob("environment-*/ready")):
                break
            time.sleep(1)
        else:
            stop(
                f"it is not made: {[path.read_text() for path in made.glob('*') if path.is_file()]}"
            )
    launcher = [
        sys.executable,
        str(trial.folder / "launcher.py"),
        "--host=gemini",
        f"--data={made}",
    ]
    words = ["--mistake", "Ran tool.py without --yes: it refuses", "--correction", "Pass --yes"]
    home.by_person(
        *launcher, "lessons", "add", *words, "--wrong-call", FAILING, "--right-call", WORKING
    )
    write_tool(home)
    with step("a session: a lesson stored, the wrong call, the right one"):
        told = trial.session(function_call(STORE, LESSON), shell(FAILING), shell(WORKING))
        held("lesson_id" in told, f"the lesson is stored: {told[-3000:]}")
        held(
            "refusing to run" not in told and "all done" in told,
            f"the wrong call alone is held: {told[-3000:]}",
        )
        held("Pass --yes" in told, "with the lesson as the reason")
    for name in COMMANDS:
        with (trial.folder / "commands" / f"{name}.toml").open("rb") as file:
            held("mcp-reflect" in tomllib.load(file)["prompt"], f"/{name} is installed")
    # With -p the host puts what our hook says at the start before the prompt, which is then no command.
    home.env["MCP_REFLECT_ASK"] = "off"
    # A session takes long to start: one without a command of ours, and one that runs it.
    for name, expected in (("critique", "Check your last answer"), ("lessons", LESSON["mistake"])):
        with step(f"/{name}"):
            told = trial.session(prompt=f"/{name} the blue door")
            held("the blue door" in told, f"with what the person wrote: {told[-2000:]}")
            held("mcp-reflect" in told and "${" not in told, f"its text is sent: {told[-2000:]}")
            held(expected in told, f"with {expected!r}: {told[-2000:]}")
    with step("removed, and the lessons kept"):
        home.run(trial.program, "extensions", "uninstall", "mcp-reflect")
        held(not trial.folder.exists(), "the extension is gone")
        home.env["PYTHONPATH"] = str(ROOT)
        held(LESSON["correction"] in json.dumps(home.lessons()), "the lessons are kept")


if __name__ == "__main__":
    sys.exit(main())
