"""Start mcp-reflect from the folder of a plugin: `python3 launcher.py --host=NAME --data=FOLDER [WORDS]`.

Without WORDS it is the MCP server, with `hook EVENT` a hook, with others that command of `mcp-reflect`. The first
start makes a Python environment below FOLDER, in a process of its own: with uv if it is there, else with venv and pip.
Until it is ready, hooks are silent, and the server answers each call with a plain sentence; then the real server takes
over the open connection. What `mcp-reflect install` has registered for the person is left to that entry; what a
project's files say is not asked, since whoever wrote the repository would switch off what the person enforces.

A host starts this with any python3 from 3.8, so it uses the standard library alone. Everything that it starts is
isolated (`-I`, `-E -P`) and works in FOLDER: the folder of a session must not bring modules, or settings of uv.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import ssl
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WINDOWS = sys.platform == "win32"
MAKING_SECONDS = 600
"""The longest that making the environment may take; then another session tries again."""

POLL_SECONDS = 0.5
MANIFEST = "gemini-extension.json"
"""Stands beside this file in every host's copy, and names the version."""

SERVER_NAME = "mcp-reflect"
NEEDED = {
    *("mcp_reflect", "prompts", "plugin", ".claude-plugin", ".codex-plugin"),
    *("pyproject.toml", "README.md", "LICENSE"),
}
"""What the package is made of, and the host reads of the plugin."""

# Below the home directory: the files with the servers, and the one with the hooks.
REGISTERED = {
    "claude-code": ((".claude.json",), ".claude/settings.json"),
    "codex": ((".codex/config.toml",), ".codex/hooks.json"),
    "gemini": ((), ".gemini/settings.json"),  # the person's entry goes before the extension's
    "copilot": ((".copilot/mcp-config.json",), ".copilot/hooks/mcp-reflect.json"),
}
OUR_HOOK = re.compile(r"""mcp[-_]reflect(?:\.exe)?[\"']? hook(?: |$)""")
MOST_BYTES = 1 << 26
"""Of a file of the person that is read; Claude Code keeps a history in its own."""

NO_PYTHON = (
    "there is neither uv nor a Python from 3.11 with venv. Install uv (https://docs.astral.sh/uv) or Python "
    "(on Debian and Ubuntu with python3-venv), and start a new session"
)

NO_PYTHON3 = (
    " Its tools are started by `python3`, and PATH has no program of that name: make one, such as a copy of python.exe "
    "named python3.exe. Its hooks work without."
)


class Environment:
    """The environment of one version below the folder `data`, and the source it is made from."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.version = str(json.loads((HERE / MANIFEST).read_text("utf-8"))["version"])
        self.folder = data / f"environment-{self.version}"
        programs = self.folder / ("Scripts" if WINDOWS else "bin")
        self.python = programs / ("python.exe" if WINDOWS else "python")
        self.mark, self.lock = self.folder / "ready", data / "making"
        self.log, self.fault = data / "setup.log", data / "fault"

    @property
    def is_ready(self) -> bool:
        """Return whether everything is installed."""
        return self.mark.exists()

    def sentence(self) -> str:
        """Return what a person or an agent is told while it is not ready."""
        with contextlib.suppress(OSError):
            return f"mcp-reflect could not make its Python environment: {self.fault.read_text('utf-8')}."
        return (
            f"mcp-reflect is making its Python environment in {self.folder}. This happens once and takes about a "
            "minute; its tools and hooks work as soon as it is ready. Go on without it until then."
        )

    def begin(self) -> None:
        """Start to make it in a process that outlives this session, unless one is at it."""
        if self.is_ready or self._is_being_made():
            return
        self.data.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            self.fault.unlink()
        with self.log.open("wb") as log:
            launcher = str(Path(__file__).resolve())
            words = [sys.executable, "-I", launcher, f"--data={self.data}", "make"]
            subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.data,
                env={**without_python(), "PATH": outside_path()},
                creationflags=0x08000208 if WINDOWS else 0,  # no window, own group
                start_new_session=not WINDOWS,
            )

    def make(self) -> int:
        """Make it; return 0, or 1 with the fault beside it."""
        self.data.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(self.lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            if self._is_being_made():
                return 0
            self.lock.unlink()
            return self.make()
        os.write(descriptor, str(os.getpid()).encode())
        os.close(descriptor)
        try:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.prune_copy()
            for words in self._steps():
                subprocess.run(
                    words,
                    check=True,
                    timeout=MAKING_SECONDS - 30,
                    stdout=sys.stderr,
                    cwd=self.data,
                    env=certified(),
                )
            self.mark.touch()
            # The one before stays for the sessions that still run in it.
            others = (path for path in self.data.glob("environment-*") if path != self.folder)
            for old in sorted(others, key=lambda path: path.stat().st_mtime)[:-1]:
                shutil.rmtree(old, ignore_errors=True)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            failed = isinstance(error, subprocess.SubprocessError)
            self.fault.write_text(
                f"{error} {self.log} has the details" if failed else str(error), "utf-8"
            )
            return 1
        finally:
            self.lock.unlink()
            self.clear_if_removed()
        return 0

    def prune_copy(self) -> None:
        """Remove what a host has copied of a clone and nobody needs, such as its `.venv`, from the host's own copy."""
        root = HERE.parent
        is_copy = "cache" in (folder.name for folder in HERE.parents[3:4]) and not root.is_symlink()
        if not is_copy or not all((root / name).is_dir() for name in ("mcp_reflect", "plugin")):
            return
        for path in root.iterdir():
            if path.name in NEEDED:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    path.unlink()

    def clear_if_removed(self) -> None:
        """Remove everything that was made for a plugin which a person has removed meanwhile."""
        if not HERE.exists():
            shutil.rmtree(self.data, ignore_errors=True)

    def server_words(self, words: list[str]) -> list[str]:
        """Return the command that runs mcp-reflect in the environment."""
        return [str(self.python), "-E", "-P", "-m", "mcp_reflect", *words]

    def run(self, words: list[str]) -> int:
        """Run mcp-reflect in place of this process; on Windows, where there is no such thing, below it."""
        line = self.server_words(words)
        if WINDOWS:
            return subprocess.call(line, env=without_python())
        os.execve(line[0], line, without_python())  # noqa: S606 - our own command
        return 0

    def _is_being_made(self) -> bool:
        try:
            begun, text = self.lock.stat().st_mtime, self.lock.read_text("utf-8")
        except OSError:
            return False
        if time.time() - begun > MAKING_SECONDS:
            return False
        if WINDOWS or not text:
            return True
        try:
            os.kill(int(text), 0)
        except ProcessLookupError:
            return False
        return True

    def _steps(self) -> list[list[str]]:
        source, uv = str(find_source()), shutil.which("uv")
        if uv:  # brings a Python if there is none
            made = [uv, "venv", "-q", "--python", ">=3.11", str(self.folder)]
            return [
                made,
                [
                    uv,
                    "pip",
                    "install",
                    "-q",
                    "--compile-bytecode",
                    "--python",
                    str(self.python),
                    source,
                ],
            ]
        made = [find_python(), "-I", "-m", "venv", str(self.folder)]
        return [
            made,
            [
                str(self.python),
                "-I",
                "-m",
                "pip",
                "install",
                "-q",
                "--disable-pip-version-check",
                source,
            ],
        ]


def find_source() -> Path:
    """Return the folder of the package: the one above, or the one that a host of extensions copied this folder from."""
    folders = [HERE.parent]
    for host in ("gemini", "qwen"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            installed = json.loads((HERE / f".{host}-extension-install.json").read_text("utf-8"))
            folders.append(Path(installed["source"]).parent)
    folders.append(HERE / "package")  # of an archive that packaging/release made
    for folder in folders:
        if (folder / "mcp_reflect").is_dir() and (folder / "pyproject.toml").is_file():
            return folder
        for wheel in folder.glob("mcp_reflect_server-*.whl"):
            return wheel
    raise ValueError(f"the folder of the package is gone ({folders[-2]}). Install the plugin again")


def default_data() -> Path:
    """Return the folder for data that belongs to .../plugins/cache/MARKETPLACE/PLUGIN/VERSION, else one for caches.

    It is never in the folder of the plugin: a host could not remove that while the environment is being made.
    """
    for version in (HERE, HERE.parent):
        if "cache" in (folder.name for folder in version.parents[2:3]):
            plugin, marketplace = version.parents[0].name, version.parents[1].name
            return version.parents[3] / "data" / f"{plugin}-{marketplace}"
    home = Path.home()
    if WINDOWS:
        caches = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        caches = home / "Library" / "Caches"
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return caches / "mcp-reflect" / "plugin"


def certified() -> dict[str, str]:
    """Return this environment, with the machine's own certificates: hosts drop the variables that name others."""
    found = ssl.get_default_verify_paths()
    place = found.cafile or found.capath
    own = {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1", **({"PIP_CERT": place} if place else {})}
    return {**own, **without_python()}


def without_python() -> dict[str, str]:
    """Return this environment without the variables of Python, which a session may have set for its own programs."""
    return {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}


def find_python() -> str:
    """Return a Python that can make the environment. Raises ValueError if there is none."""
    script = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"
    names = ("python3.14", "python3.13", "python3.12", "python3.11", "python3", "python", "py")
    for python in (sys.executable, *filter(None, map(shutil.which, names))):
        if (
            subprocess.call(
                [python, "-I", "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            == 0
        ):
            return python
    raise ValueError(NO_PYTHON)


def has_server(host: str) -> bool:
    """Return whether `mcp-reflect install` has registered the server for the person."""
    return any(_names_server(name) for name in REGISTERED[host][0])


def has_hooks(host: str) -> bool:
    """Return whether `mcp-reflect install` has written hooks for the person: entries that the host would run."""
    try:
        hooks: Any = json.loads(_persons_text(REGISTERED[host][1]))["hooks"]
        return any(_is_our_hook(entry) for entries in hooks.values() for entry in entries)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _is_our_hook(entry: Any) -> bool:
    """Return whether an entry of an event, or one of its hooks, runs our command or asks our server's tool."""
    for hook in (entry, *entry.get("hooks", ())):
        if OUR_HOOK.search(str(hook.get("command", ""))):
            return True
        if (hook.get("server"), hook.get("tool")) == (SERVER_NAME, "hook"):
            return True
    return False


MOVED = {
    ".claude": "CLAUDE_CONFIG_DIR",
    ".claude.json": "CLAUDE_CONFIG_DIR",
    ".codex": "CODEX_HOME",
    ".gemini": "GEMINI_CLI_HOME",
    ".copilot": "COPILOT_HOME",
}
"""The variables by which hosts move what is in the home directory; that of Gemini CLI stands for the home itself."""


def _persons_text(name: str) -> str:
    """Return the text of a file of the person, where the host reads it; an empty one if there is none to be read.

    It is a regular file below its folder, also behind links: a device or a pipe is not waited for.
    """
    folder, rest = _persons_folder(name)
    try:
        path = (folder / rest).resolve()
        path.relative_to(folder.resolve())
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return ""
            read = file.read(MOST_BYTES + 1)
    except (OSError, ValueError, RuntimeError):
        return ""
    return "" if len(read) > MOST_BYTES else read.decode("utf-8-sig", "replace")


def _persons_folder(name: str) -> tuple[Path, str]:
    """Return the home directory, or the one that a host's variable names, and the path of a file below it.

    A project's settings may set that variable for its hooks: a folder of the session's own does not count.
    """
    first, _, rest = name.partition("/")
    moved = os.environ.get(MOVED.get(first, ""), "")
    if not moved or _is_of_session(moved):
        return Path.home(), name
    is_home = first == ".gemini" or not rest
    return Path(moved).expanduser(), name if is_home else rest


def _is_of_session(folder: str) -> bool:
    """Return whether a folder is relative, or lies in the one of the session, which may be a stranger's repository."""
    path = Path(folder).expanduser()
    if not path.is_absolute():
        return True
    session = Path.cwd().resolve()
    return session in (path.resolve(), *path.resolve().parents)


def outside_path() -> str:
    """Return PATH without the folders of the session, whose programs would be run in the place of uv and Python."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if folder and not _is_of_session(folder))


def _names_server(name: str) -> bool:
    text = _persons_text(name)
    if name.endswith(".toml"):
        return re.search(rf'(?m)^\[mcp_servers\.(["\']?){SERVER_NAME}\1\]', text) is not None
    try:
        read: Any = json.loads(text)
        blocks: tuple[Any, ...] = (read, read.get("projects", {}).get(str(Path.cwd()), {}))
        return any(SERVER_NAME in block.get("mcpServers", {}) for block in blocks)
    except (ValueError, AttributeError, TypeError, RecursionError):
        return False


class Door:
    """The server while there is none: it opens the connection, and hands it to the real one when that is ready.

    `lists` and `hooks`: whether this server lists its tools and answers hooks, which another entry may do.
    """

    def __init__(self, environment: Environment, *, lists: bool, hooks: bool) -> None:
        self._environment, self._lists, self._hooks = environment, lists, hooks
        self._opening = threading.Event()
        self._initialize = b""
        self._server: subprocess.Popen[bytes] | None = None
        self._writing = threading.Lock()

    def serve(self) -> int:
        """Answer until the host ends the connection."""
        threading.Thread(target=self._open, daemon=True).start()
        for line in sys.stdin.buffer:
            with contextlib.suppress(ValueError):  # of a line that is not JSON
                self._take(line, json.loads(line))
        if self._server and self._server.stdin:
            self._server.stdin.close()
            self._server.wait()
        self._environment.clear_if_removed()
        return 0

    def _take(self, line: bytes, message: dict[str, Any]) -> None:
        method = str(message.get("method", ""))
        params: dict[str, Any] = message.get("params") or {}
        called = params.get("name") if method == "tools/call" else None
        if method == "initialize":
            self._initialize = line
            self._answer(message, self._greeting(str(params.get("protocolVersion"))))
            self._opening.set()
        elif method.endswith("/list") and not (self._lists and self._server):
            self._answer(message, self._list(method))
        elif called == "hook" and not (self._hooks and self._server):
            self._answer(message, {"content": [{"type": "text", "text": "{}"}]})
        elif self._server and self._server.stdin:
            if method != "notifications/initialized":
                self._server.stdin.write(line)
                self._server.stdin.flush()
        elif method == "ping":
            self._answer(message, {})
        elif called:
            content = [{"type": "text", "text": self._environment.sentence()}]
            self._answer(message, {"content": content, "isError": True})
        elif "id" in message:
            self._write(
                {
                    "id": message["id"],
                    "error": {"code": -32601, "message": self._environment.sentence()},
                }
            )

    def _greeting(self, version: str) -> dict[str, object]:
        changes = {"listChanged": True}
        return {
            "protocolVersion": version,
            "capabilities": {"tools": changes, "prompts": changes, "resources": changes},
            "serverInfo": {"name": SERVER_NAME, "version": self._environment.version},
            "instructions": "" if self._environment.is_ready else self._environment.sentence(),
        }

    def _list(self, method: str) -> dict[str, object]:
        """Return the tools that the server will have; prompts and resources are listed by it alone."""
        name = {"resources/templates/list": "resourceTemplates"}.get(
            method, method.partition("/")[0]
        )
        listed: object = []
        if name == "tools" and self._lists:
            with contextlib.suppress(OSError, ValueError):
                listed = json.loads(
                    (find_source() / "mcp_reflect" / "server" / "tools.json").read_text("utf-8")
                )
        return {name: listed}

    def _open(self) -> None:
        """Wait for the environment, and start the server with the host's own first message."""
        self._opening.wait()
        while not self._environment.is_ready:
            time.sleep(POLL_SECONDS)
        server = subprocess.Popen(
            self._environment.server_words([]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=without_python(),
        )
        if server.stdin is None or server.stdout is None:
            return
        server.stdin.write(self._initialize)
        server.stdin.flush()
        server.stdout.readline()  # its answer: the host has ours
        server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        server.stdin.flush()
        self._server = server
        for kind in ("tools", "prompts", "resources") if self._lists else ():
            self._write({"method": f"notifications/{kind}/list_changed"})
        for line in server.stdout:
            self._send(line)

    def _answer(self, message: dict[str, Any], result: dict[str, object]) -> None:
        self._write({"id": message.get("id"), "result": result})

    def _write(self, message: dict[str, Any]) -> None:
        self._send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _send(self, line: bytes) -> None:
        with self._writing:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


def main(words: list[str]) -> int:
    """Do what the words say; see the module."""
    options = {"host": "claude-code", "data": str(default_data())}
    while words and words[0].startswith("--") and "=" in words[0]:
        name, _, options[name[2:]] = words.pop(0).partition("=")
    host, environment = options["host"], Environment(Path(options["data"]).absolute())
    if words == ["make"]:
        return environment.make()
    if words[:1] == ["hook"]:
        if not has_hooks(host):
            return _answer_hook(environment, words)
    elif words:
        if environment.is_ready:
            return environment.run(words)
        print(environment.sentence())
    else:
        lists, hooks = not has_server(host), not has_hooks(host)
        if environment.is_ready and lists and hooks:
            return environment.run([])
        environment.begin()
        return Door(environment, lists=lists, hooks=hooks).serve()
    return 0


def _answer_hook(environment: Environment, words: list[str]) -> int:
    """Run the hook; before it can, say at the start of a session why."""
    if environment.is_ready:
        return environment.run(words)
    if words[-1] == "SessionStart":
        environment.begin()
        lack = "" if shutil.which("python3") else NO_PYTHON3
        print(json.dumps({"systemMessage": environment.sentence() + lack}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
