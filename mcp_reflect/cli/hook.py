"""`mcp-reflect hook EVENT`: a host's JSON on stdin, its answer on stdout; silent and 0 on any fault of its own."""

import json
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_reflect.cli.common import with_engine
from mcp_reflect.cli.hosts.hooks import HookInput, Moment, answer, read_hook
from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.scopes import project_of

if TYPE_CHECKING:
    import subprocess


MOST_SECONDS: Final = 3.0  # from the start of the work; then the process ends, whatever it waits for
BUSY_SECONDS: Final = 0.25  # for another process that writes
_PIECE: Final = 1 << 20
_HELP: Final = """usage: mcp-reflect hook [--project=NAME] [--bank=FILE] [EVENT]

Reads a host's hook input on stdin and answers it (docs/hooks.md). `mcp-reflect install HOST --hooks` writes it
into a host's settings; nobody needs to run it by hand. To see what it would say:

  echo '{"session_id": "s", "prompt": "deploy"}' | mcp-reflect hook UserPromptSubmit
"""


def run(arguments: list[str]) -> int:
    """Answer one event. Never an error, never a word where there is nothing to say: the host's work goes on."""
    if arguments[:1] in (["-h"], ["--help"]):
        sys.stdout.write(_HELP)
        return 0
    watchdog = threading.Timer(MOST_SECONDS, os._exit, (0,))
    watchdog.daemon = True
    watchdog.start()
    try:
        text = _answer(*_words(arguments))
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
    except Exception:  # noqa: BLE001, S110 - the outermost handler: a fault of ours is never the host's
        pass
    finally:
        watchdog.cancel()
    return 0


def _words(arguments: list[str]) -> tuple[str | None, dict[str, str]]:
    """The event, and the options before it; argparse would end the process over a word that it does not know."""
    options = dict(one[2:].split("=", 1) for one in arguments if one.startswith("--") and "=" in one)
    events = [one for one in arguments if not one.startswith("--")]
    return (events[0] if events else None), options


def _answer(event: str | None, options: dict[str, str]) -> str | None:
    sent = _stdin(Settings.from_env().max_hook_bytes)
    given = read_hook(event, json.loads(sent)) if sent else None
    if given is None:
        return None
    settings = _settings(given, options)
    if given.form.moment is Moment.END:
        reflect_apart(given, settings)
    failing = given.form.moment is Moment.AFTER
    if not failing and not settings.bank_path.exists():
        return None  # there is nothing to say yet, and nothing to write
    text = with_engine(lambda engine: _said(engine, given), settings)
    found = answer(given, text) if text else None
    return None if found is None else json.dumps(found, ensure_ascii=False) + "\n"


def _stdin(most: int) -> bytes | None:
    """What the host sent; read to its end even where it is too much, so that the host can finish writing."""
    whole, size = bytearray(), 0
    while piece := sys.stdin.buffer.read(_PIECE):
        size += len(piece)
        if size <= most:
            whole += piece
    return bytes(whole) if size <= most else None


def _settings(given: HookInput, options: dict[str, str]) -> Settings:
    """The settings of the options and the environment, in a hurry, in the project of the session's folder."""
    settings = Settings.from_env()
    if options.get("bank"):
        settings = replace(settings, bank=Path(options["bank"]))
    project = options.get("project") or settings.project
    if project is None and given.folder:
        project = project_of(Path(given.folder))
    return replace(settings, project=project, bank_busy_seconds=BUSY_SECONDS, sets_aside=False, log_level="error")


async def _said(engine: Engine, given: HookInput) -> str | None:
    """What there is to say at this moment, if anything."""
    tells = given.form.key is not None
    match given.form.moment:
        case Moment.START:
            return await engine.remind(given.session, anew=given.anew) if tells else None
        case Moment.PROMPT:
            return await engine.remind(given.session, given.prompt or "") if tells else None
        case Moment.BEFORE:
            if given.tool is None or not tells:
                return None
            warning = await engine.before_call(
                given.tool, given.arguments, session=given.session, call_id=given.call_id
            )
            return warning.text if warning else None
        case Moment.AFTER:
            if given.tool is None:
                return None
            after = await engine.after_call(
                given.tool, given.arguments, given.result, error=given.error, session=given.session
            )
            return after.text
        case Moment.END:
            await engine.end_session(given.session)
            return None


def reflect_apart(given: HookInput, settings: Settings) -> "subprocess.Popen[bytes] | None":
    """Reflect on the transcript in a process of its own: hosts give the last hook a second, and go."""
    if given.transcript is None or not Path(given.transcript).is_file():
        return None
    import subprocess  # noqa: PLC0415 - only at the end

    command = [sys.executable, "-m", "mcp_reflect", "reflect", "--json", "--session", given.session]
    nothing = subprocess.DEVNULL
    # The child runs in the session's folder, and is to find the package that this process has found.
    package = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))}
    if settings.bank:
        env["MCP_REFLECT_BANK"] = str(settings.bank_path)
    if settings.project:
        env["MCP_REFLECT_PROJECT"] = settings.project
    folder = given.folder if given.folder and Path(given.folder).is_dir() else None
    return subprocess.Popen(  # noqa: S603 - our own command
        [*command, given.transcript],
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        cwd=folder,
        env=env,
        start_new_session=True,
    )
