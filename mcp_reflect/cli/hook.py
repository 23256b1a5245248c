"""Answer a hook with an engine, or by a team's service, where `cli.quick_hook` could not do without."""

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect import services
from mcp_reflect.cli.engine import with_engine
from mcp_reflect.config import ServerUrl, Settings, bank_place
from mcp_reflect.hooks.prompt import ask_to_keep
from mcp_reflect.models.hook import HookInput, Moment
from mcp_reflect.projects import Scopes
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.hook_events import hook_answer, is_watched, kept_call, read_hook
from mcp_reflect.storage.folders import note_project
from mcp_reflect.storage.spool import Spool, team_spool

if TYPE_CHECKING:
    import subprocess

    from mcp_reflect.cli.quick_hook import Watch


BUSY_SECONDS: Final = 0.25
"""The longest wait for another process that writes to the bank."""

_TAKING_SECONDS: Final = 1.5  # of the process's life, in which it notes calls that earlier hooks left

_MOST_LOG_BYTES: Final = 100_000  # of the log of sessions that an agent program read; then it begins anew


def answer_event(event: str | None, sent: object, size: int, options: dict[str, str], watch: "Watch") -> None:
    """Print the answer to one event, if there is one; `sent` is the host's input of `size` bytes."""
    settings = _settings(options)
    hook = read_hook(event, sent) if size <= settings.max_hook_bytes else None
    if hook is None:
        return
    hook = replace(hook, watched=is_watched(os.environ, hook.transcript))
    spool = team_spool(options, settings.bank_path) if "url" in options else Spool(settings.bank_path)
    left = Spool(settings.bank_path)

    def keep() -> None:
        left.keep()
        spool.keep()

    watch.at_end = keep
    try:
        if "url" in options:
            from mcp_reflect.cli.team_hook import ask_service  # noqa: PLC0415 - few hooks ask a service

            transcript = _transcript(hook, settings) if hook.moment is Moment.STOP else ""
            answer = ask_service(hook, transcript, spool, options)
        else:
            answer = _answer(hook, settings, spool, left, watch.began)
        if answer:
            sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
            sys.stdout.flush()
    finally:
        keep()


def _settings(options: dict[str, str]) -> Settings:
    """Return the settings of options and environment, with short waits."""
    settings = Settings.from_env()
    return replace(
        settings,
        bank=bank_place(options["bank"]) if options.get("bank") else settings.bank,
        project=options.get("project") or settings.project,
        llm=options.get("distil") or settings.llm,
        bank_busy_seconds=BUSY_SECONDS,
        stores_names=False,
        sets_aside=False,
        log_level="error",
    )


def _answer(hook: HookInput, settings: Settings, spool: Spool, left: Spool, began: float) -> dict[str, Any] | None:
    in_file = not isinstance(settings.bank, ServerUrl)
    if settings.project is None and hook.folder:
        settings = replace(settings, folder=Path(hook.folder))
    if hook.moment is Moment.END:
        reflect_in_background(hook, settings)
    if hook.moment not in (Moment.AFTER, Moment.STOP) and in_file and not settings.bank_path.exists():
        keep = ask_to_keep(hook.prompt or "", settings.ask) if hook.moment is Moment.PROMPT else None
        return hook_answer(hook, keep) if keep else None  # no lesson to show yet, and nothing to write
    if hook.moment is Moment.AFTER and hook.tool is not None:
        spool.pending.append(kept_call(hook, Scopes.of(settings).own.project))
    return with_engine(lambda engine: _say(engine, hook, spool, left, began), settings)


async def _say(engine: Engine, hook: HookInput, spool: Spool, left: Spool, began: float) -> dict[str, Any] | None:
    """Return the answer if there is one, and note what happened, first what earlier hooks `left`."""
    folder = engine.settings.folder
    if folder and not isinstance(engine.settings.bank, ServerUrl):
        with suppress(OSError):
            note_project(str(engine.bank.path), str(folder), engine.scopes.own.project)
    await services.warnings.note_spooled(engine.context, left, _TAKING_SECONDS - (time.monotonic() - began))
    text, hold = await services.hooks.answer(engine.context, hook)
    spool.pending.clear()
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
