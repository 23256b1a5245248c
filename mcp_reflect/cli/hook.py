"""Answer a host's hook: its JSON on stdin, the answer on stdout; silent, with status 0, if we fail."""

import json
import os
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect import services
from mcp_reflect.cli.engine import with_engine
from mcp_reflect.cli.hosts.hook_events import hook_answer, read_hook
from mcp_reflect.config import NESTED, Scopes, ServerUrl, Settings, bank_place, project_of
from mcp_reflect.models.common import compact
from mcp_reflect.models.hook import HookInput, Moment
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.spool import Spool

if TYPE_CHECKING:
    import subprocess


MAX_SECONDS: Final = 3.0
"""The process ends after this time, whatever it waits for."""

BUSY_SECONDS: Final = 0.25
"""The longest wait for another process that writes to the bank."""

_TAKING_SECONDS: Final = 1.5  # of the process's life, in which it notes calls that earlier hooks could not note

_MOST_LOG_BYTES: Final = 100_000  # of the log of sessions that an agent program read; then it begins anew

_CHUNK_BYTES: Final = 1 << 20
_HELP: Final = """usage: mcp-reflect hook [--project=NAME] [--bank=FILE] [--distil=PROGRAM] [EVENT]
       mcp-reflect hook --url=URL [--token-env=NAME] [--project=NAME] [EVENT]

Reads a host's hook input on stdin and answers it (docs/hooks.md). `mcp-reflect install HOST --hooks` writes it
into a host's settings; nobody needs to run it by hand. To see what it would say:

  echo '{"session_id": "s", "prompt": "deploy"}' | mcp-reflect hook UserPromptSubmit
"""


def run_hook(arguments: list[str]) -> int:
    """Answer one event. It prints nothing if there is nothing to say, or if we fail: the host's work continues."""
    if arguments[:1] in (["-h"], ["--help"]):
        sys.stdout.write(_HELP)
        return 0
    if os.environ.get(NESTED):
        return 0
    # argparse would end the process for an unknown argument.
    options = dict(word[2:].split("=", 1) for word in arguments if word.startswith("--") and "=" in word)
    events = [word for word in arguments if not word.startswith("--")]
    try:
        settings = _settings(options)
        spool = Spool(settings.bank_path)
        watchdog = threading.Timer(MAX_SECONDS, _give_up, (spool,))
        watchdog.daemon = True
        watchdog.start()
        try:
            answer = _answer(events[0] if events else None, settings, spool, options)
            if answer:
                sys.stdout.write(answer)
                sys.stdout.flush()
        finally:
            watchdog.cancel()
            spool.keep()
    except Exception:  # noqa: BLE001, S110 - the outermost handler: our failure must not become the host's
        pass
    return 0


def _give_up(spool: Spool) -> None:
    with suppress(OSError):
        spool.keep()
    os._exit(0)


def _settings(options: dict[str, str]) -> Settings:
    """Return the settings of options and environment, with short waits."""
    settings = Settings.from_env()
    return replace(
        settings,
        bank=bank_place(options["bank"]) if options.get("bank") else settings.bank,
        project=options.get("project") or settings.project,
        llm=options.get("distil") or settings.llm,
        bank_busy_seconds=BUSY_SECONDS,
        sets_aside=False,
        log_level="error",
    )


def _answer(event: str | None, settings: Settings, spool: Spool, options: dict[str, str]) -> str | None:
    payload = _read_stdin(settings.max_hook_bytes)
    hook = read_hook(event, json.loads(payload)) if payload else None
    if hook is None:
        return None
    if "url" in options:
        answer = _asked(hook, settings, options)
        return None if answer is None else json.dumps(answer, ensure_ascii=False) + "\n"
    if settings.project is None and hook.folder:
        settings = replace(settings, project=project_of(Path(hook.folder)))
    if hook.moment is Moment.END:
        reflect_in_background(hook, settings)
    in_file = not isinstance(settings.bank, ServerUrl)
    if hook.moment is not Moment.AFTER and in_file and not settings.bank_path.exists():
        return None  # nothing to say yet, and nothing to write
    if hook.moment is Moment.AFTER and hook.tool is not None:
        call = {"tool": hook.tool, "arguments": hook.arguments, "result": hook.result, "error": hook.error}
        spool.pending.append({**call, "session": hook.session, "project": Scopes.of(settings).own.project})
    answer = with_engine(lambda engine: _say(engine, hook, spool), settings)
    return None if answer is None else json.dumps(answer, ensure_ascii=False) + "\n"


def _asked(hook: HookInput, settings: Settings, options: dict[str, str]) -> dict[str, Any] | None:
    """Return the answer of a team's service, which knows nothing of this machine's files."""
    from mcp_reflect.cli.remote import MOST_TRANSCRIPT_CHARS, ask  # noqa: PLC0415 - few hooks ask one

    reads = hook.moment in (Moment.STOP, Moment.END)
    transcript = _transcript(hook, settings)[-MOST_TRANSCRIPT_CHARS:] if reads else ""
    sent = {"hook": compact(asdict(replace(hook, folder=None, transcript=None))), "transcript": transcript}
    told = ask(options["url"], options.get("token-env"), "hook", sent, options.get("project"))
    return hook_answer(hook, told["text"], hold=told.get("hold") is True) if told.get("text") else None


def _read_stdin(max_bytes: int) -> bytes | None:
    """Return the input, or None if it is longer. It is read to its end, so that the host can finish writing."""
    content, size = bytearray(), 0
    while chunk := sys.stdin.buffer.read(_CHUNK_BYTES):
        size += len(chunk)
        if size <= max_bytes:
            content += chunk
    return bytes(content) if size <= max_bytes else None


async def _say(engine: Engine, hook: HookInput, spool: Spool) -> dict[str, Any] | None:
    """Note what happened, also to earlier hooks that had no time, and return the answer if there is one."""
    began = time.monotonic()
    transcript = _transcript(hook, engine.settings) if hook.moment is Moment.STOP else ""
    text, hold = await services.hooks.answer(engine.context, hook, transcript)
    spool.pending.clear()
    await services.warnings.note_spooled(engine.context, spool, _TAKING_SECONDS - (time.monotonic() - began))
    return hook_answer(hook, text, hold=hold) if text else None


def _transcript(hook: HookInput, settings: Settings) -> str:
    """Return the session so far; nothing where it cannot be read, or is longer than a hook may read."""
    path = Path(hook.transcript or "")
    readable = path.is_file() and path.stat().st_size <= settings.max_hook_bytes
    return path.read_text("utf-8", "replace") if readable else ""


def reflect_in_background(hook: HookInput, settings: Settings) -> "subprocess.Popen[bytes] | None":
    """Reflect on the session's transcript in another process: hosts give the last hook a second, and exit."""
    if hook.transcript is None or not Path(hook.transcript).is_file():
        return None
    import subprocess  # noqa: PLC0415 - only at the end of a session

    command = [sys.executable, "-m", "mcp_reflect", "reflect", "--json", "--session", hook.session, hook.transcript]
    # The child runs in the session's folder, and has to find the package that this process found.
    package = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))}
    if settings.bank:
        place = settings.bank
        env["MCP_REFLECT_BANK"] = place.whole if isinstance(place, ServerUrl) else str(settings.bank_path)
    if settings.project:
        env["MCP_REFLECT_PROJECT"] = settings.project
    log = Path(os.devnull)
    if settings.llm != "off":
        env["MCP_REFLECT_LLM"] = settings.llm
        settings.bank_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = settings.bank_path.with_name(f"{settings.bank_path.name}.distil.log")
        if log.exists() and log.stat().st_size > _MOST_LOG_BYTES:
            log.unlink()
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as errors:
        return subprocess.Popen(  # noqa: S603 - our own command
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=hook.folder if hook.folder and Path(hook.folder).is_dir() else None,
            env=env,
            start_new_session=True,
        )
