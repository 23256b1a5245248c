"""The tool that hosts' hooks call: it is not listed, and answers like the command `mcp-reflect hook`.

A model can call it by its name too. So a call counts as made only where the session's transcript shows it.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.errors import BankError
from mcp_reflect.models.warning import HookInput, Moment
from mcp_reflect.moments.payload import unpacked
from mcp_reflect.services.context import Context
from mcp_reflect.services.hook_events import ends_of, hook_answer, is_watched, kept_call, read_hook
from mcp_reflect.storage.spool import append

_TOLD: Final = b'__hook"'  # in the line of a transcript in which a model calls this tool
_LOOKED_AT: Final = (
    1 << 16,
    1 << 20,
)  # bytes at the end of a transcript, where the latest calls are
_MOST_AGENTS: Final = 8  # transcripts of subagents that are looked at, the latest
_PACKED: Final = (
    "tool_input",
    "tool_response",
    "is_interrupt",
    "stop_hook_active",
)  # hosts send them as JSON text


async def answer(context: Context, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a host reads; empty where there is nothing to say, and where the input is not a hook's."""
    hook = read_hook(None, {name: _plain(name, value) for name, value in sent.items()})
    if hook is None or (hook.moment is Moment.AFTER and not _is_shown(hook)):
        return {}
    if hook.transcript and hook.moment is Moment.AFTER:
        context.transcripts[context.scopes.own] = (
            hook.transcript
        )  # it has the call: critique may read its outputs
    if hook.moment is Moment.STOP:
        hook = replace(hook, watched=is_watched(os.environ, hook.transcript))
    try:
        text, hold = await services.hooks.answer(context, hook)
    except BankError:
        if hook.moment is Moment.AFTER and context.bank.path:
            append(str(context.settings.bank_path), kept_call(hook, context.scopes.own.project))
        return {}
    return (hook_answer(hook, text, hold=hold) if text else None) or {}


def _plain(name: str, value: Any) -> Any:
    """Return a value as a hook command would get it; None for a placeholder that the host did not fill."""
    if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
        return None
    if name in _PACKED and value in ("true", "false"):
        return value == "true"
    return unpacked(value) if name in _PACKED else value


def _is_shown(hook: HookInput) -> bool:
    """Return whether the session's transcript, or a subagent's, has the call, and not as a call of this tool."""
    if not hook.transcript or not hook.call_id:
        return False
    path, call_id = Path(hook.transcript), hook.call_id.encode()
    for most in _LOOKED_AT:
        agents = sorted(
            path.with_suffix("").glob("subagents/*.jsonl"), key=lambda file: file.stat().st_mtime
        )
        ends = [b"\n".join(ends_of(file, most)) for file in (path, *agents[-_MOST_AGENTS:])]
        lines = [
            line for end in ends if call_id in end for line in end.splitlines() if call_id in line
        ]
        if lines:
            return not any(_TOLD in line for line in lines)
    return False
