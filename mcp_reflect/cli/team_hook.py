"""Hooks that ask a team's service: a second at the most, and what it was not told in that time is sent later.

The end of a session is sent by a process of its own: hosts give the last hook a second, and a session is long.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from mcp_reflect.cli.remote import MOST_TRANSCRIPT_CHARS, ask
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError, InputError, NotAllowedError
from mcp_reflect.hooks.payload import output_ends
from mcp_reflect.models.common import compact
from mcp_reflect.models.hook import HookInput, Moment
from mcp_reflect.services.hook_events import hook_answer
from mcp_reflect.storage.spool import Spool, team_spool

_SECONDS: Final = 0.6
_END_CHARS: Final = 6_000  # of an output, at either end


def body_for(hook: HookInput, transcript: str) -> dict[str, Any]:
    """Return what a team's service is sent of a hook; it knows nothing of this machine's files."""
    ends = {"result": output_ends(hook.result, _END_CHARS), "error": output_ends(hook.error, _END_CHARS)}
    sent = replace(hook, folder=None, transcript=None, **ends)
    return {"hook": compact(asdict(sent)), "transcript": transcript[-MOST_TRANSCRIPT_CHARS:]}


def ask_service(hook: HookInput, transcript: str, spool: Spool, options: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what the host reads: the service's answer, or at the start of a session why there is none."""
    body = body_for(hook, transcript)
    if hook.moment in (Moment.AFTER, Moment.END):
        spool.pending.append({**body, "file": hook.transcript if hook.moment is Moment.END else None})
    if hook.moment is Moment.END:
        spool.keep()
        _deliver_in_background(options)
        return None
    try:
        told = ask(options["url"], options.get("token-env"), "hook", body, options.get("project"), seconds=_SECONDS)
    except (BankError, NotAllowedError) as error:
        return _out_of_reach(hook, str(error)) if hook.moment is Moment.START else None
    except InputError:  # it will not be read later either
        spool.pending.clear()
        return None
    spool.pending.clear()
    if spool.has_some():
        _deliver_in_background(options)
    return hook_answer(hook, told["text"], hold=told.get("hold") is True) if told.get("text") else None


def _out_of_reach(hook: HookInput, fault: str) -> dict[str, Any] | None:
    """Return one line for the person, where the host shows one, and for the agent."""
    line = f"mcp-reflect: no lessons of the team in this session. {fault}"
    answer = hook_answer(hook, line)
    return {"systemMessage": line, **answer} if answer and "hookSpecificOutput" in answer else answer


def deliver(options: Mapping[str, str]) -> None:
    """Send what earlier hooks could not send, in order; it stays where the service does not take it now."""

    def send(record: dict[str, Any]) -> None:
        file = Path(record.get("file") or os.devnull)
        transcript = file.read_text("utf-8", "replace")[-MOST_TRANSCRIPT_CHARS:] if file.is_file() else ""
        body = {"hook": record["hook"], "transcript": transcript}
        try:
            ask(options["url"], options.get("token-env"), "hook", body, options.get("project"))
        except InputError as error:
            if isinstance(error, NotAllowedError):
                raise  # another token may be allowed to; any other fault stays one

    with suppress(BankError, NotAllowedError):
        team_spool(options, Settings.from_env().bank_path).send_all(send)


def environment_of_child() -> dict[str, str]:
    """Return the environment in which another process finds the package that this one found."""
    package = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))}


def _deliver_in_background(options: Mapping[str, str]) -> None:
    words = [f"--{name}={value}" for name, value in options.items()]
    subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "mcp_reflect", "hook", *words, "deliver"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment_of_child(),
        start_new_session=True,
    )
