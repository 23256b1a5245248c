"""The tool that hosts' hooks call: it is not listed, and answers like the command `mcp-reflect hook`.

A model can call it by its name too, so that a call counts as made only where the session's transcript shows it. A host
writes its transcript a moment after it calls the hook, and the tool waits for that. A call that the transcript still
does not show was only reported: it may let a last message pass, and nothing else is made of it.
"""

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect import services
from mcp_reflect.errors import BankError
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import SHELL
from mcp_reflect.models.common import json_of
from mcp_reflect.models.warning import HookInput, Moment
from mcp_reflect.moments.payload import unpacked
from mcp_reflect.services.context import Context
from mcp_reflect.services.hook_events import ends_of, hook_answer, is_watched, kept_call, read_hook
from mcp_reflect.storage.spool import append

_OWN_NAME: Final = b'__hook"'  # in the line of a transcript in which a model calls this tool
_SIZES_OF_ENDS: Final = (1 << 16, 1 << 20)
"""Bytes at the end of a transcript, where the latest calls are: a short end first, then a longer one."""

_MOST_AGENTS: Final = 8  # transcripts of subagents that are looked at, the latest
_MORE_LOOKS: Final = 20  # at a transcript, for a call that it does not show yet
_PAUSE: Final = 0.025  # seconds between two looks: half a second in all
_MOST_OBJECTS: Final = 200  # of a line of a transcript that are looked at
_FIELDS_WITH_CALLS: Final = ("message", "content", "payload")
_JSON_FIELDS: Final = ("tool_input", "tool_response", "is_interrupt", "stop_hook_active")
"""The fields that hosts send as JSON in a text."""


class Sight(Enum):
    """What a transcript, the file in which a host records a session, shows of a call."""

    MADE = auto()
    OF_SUBAGENT = auto()  # in a transcript of its own
    OWN = auto()  # the call of this very tool, by a model
    MISSING = auto()


async def answer(context: Context, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer for a host; empty where there is nothing to say, and where the input is not a hook's.

    Only a call that was made is stored: a call that the tool is told of is looked for in the session's transcript first.
    """
    hook = read_hook(None, {name: _unpacked_field(name, value) for name, value in sent.items()})
    if hook is None:
        return {}
    hook = replace(hook, witnessed=False)  # until a transcript shows the call
    if hook.moment is Moment.AFTER:
        if not await _was_made(context, hook):
            return {}
        hook = replace(hook, witnessed=await _is_witnessed(context, hook))
        if hook.witnessed:
            _follow_transcript(context, hook)
    if hook.moment is Moment.STOP:
        hook = replace(hook, watched=is_watched(os.environ, hook.transcript))
    try:
        text, hold = await services.hooks.answer(context, hook)
    except BankError:
        _keep_call(context, hook)
        return {}
    if not text:
        return {}
    return hook_answer(hook, text, hold=hold) or {}


async def _was_made(context: Context, hook: HookInput) -> bool:
    """Return whether a transcript shows a call, and note the call as made or missing.

    | the transcripts                                   | result | noted                                           |
    |---------------------------------------------------|--------|-------------------------------------------------|
    | show that a model called this very tool           | False  | nothing: there is no other call                 |
    | of a subagent show it                             | True   | nothing: the session's own need not show it     |
    | of the session show it                            | True   | as made                                         |
    | do not show it                                    | False  | as missing: it may let a last message pass      |

    A call without an id is none that can be looked for.
    """
    reported = context.reported
    an_earlier_call_is_missing = not reported.missing.isdisjoint(reported.of(hook.root))
    sight = await _sight_of(hook, is_behind=an_earlier_call_is_missing)
    if sight is Sight.OWN or not hook.call_id:
        return False
    if sight is Sight.OF_SUBAGENT:
        return True
    is_missing = sight is Sight.MISSING
    reported.note(hook.root, hook.call_id, is_missing=is_missing)
    return not is_missing


def _follow_transcript(context: Context, hook: HookInput) -> None:
    """Read along in the session's transcript from now on, for critique and for the judgment of the last message."""
    path = hook.transcript or ""
    context.transcripts[context.scopes.own] = path
    context.session_files.follow(path, partial(services.last_message.new_file, context, hook))


def _keep_call(context: Context, hook: HookInput) -> None:
    """Keep a call that the bank does not take now in its spool, for a later process."""
    if hook.moment is Moment.AFTER and context.bank.path:
        append(str(context.settings.bank_path), kept_call(hook, context.scopes.own.project))


async def _is_witnessed(context: Context, hook: HookInput) -> bool:
    """Return whether the session's transcript, as the host's own command named it, has this very call.

    A model may call this tool with the id of another call, or with a transcript that it wrote itself.
    """
    path_named_by_host = await context.bank.warnings.transcript_of(context.scopes.own, hook.root)
    if not path_named_by_host or path_named_by_host != hook.transcript:
        return False
    return await asyncio.to_thread(_has_call, Path(path_named_by_host), hook)


def _has_call(path: Path, hook: HookInput) -> bool:
    """Return whether a transcript has the call with its tool and arguments, in the host's own form."""
    call_id = (hook.call_id or "").encode()
    files = [path, *path.with_suffix("").glob("subagents/*.jsonl")]
    for file in files:
        end = b"\n".join(ends_of(file, _SIZES_OF_ENDS[-1]))
        for line in end.splitlines():
            if call_id in line and any(_is_call(part, hook) for part in _objects(json_of(line))):
                return True
    return False


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in a line of a transcript that may be calls: at its top, and in its message.

    Claude Code writes a call as {"message": {"content": [{"id": …, "input": …}]}}, Codex as {"payload": {"call_id": …}}.
    """
    unread = [value]
    for _ in range(_MOST_OBJECTS):
        if not unread:
            return
        part = unread.pop()
        if isinstance(part, dict):
            record = cast("Mapping[str, Any]", part)
            yield record
            unread += [record[name] for name in _FIELDS_WITH_CALLS if name in record]
        elif isinstance(part, list):
            unread += cast("list[Any]", part)


def _is_call(part: Mapping[str, Any], hook: HookInput) -> bool:
    """Return whether an object of a transcript is the very call of a hook: by its id, and its arguments or its command."""
    if hook.call_id not in (part.get("id"), part.get("call_id")):
        return False
    recorded_arguments = unpacked(part.get("input", part.get("arguments")))
    if recorded_arguments == hook.arguments:
        return True
    # Codex names the command of its tool differently than its hook does.
    recorded_call, hook_call = Call(SHELL, recorded_arguments), Call(SHELL, hook.arguments)
    return bool(recorded_call.commands) and recorded_call.commands == hook_call.commands


def _unpacked_field(name: str, value: Any) -> Any:
    """Return the value of a field as a hook command would get it.

    | field         | value                       | result             |
    |---------------|-----------------------------|--------------------|
    | any           | "${tool_input}", not filled | None               |
    | is_interrupt  | "true"                      | True               |
    | tool_input    | '{"command": "make"}'       | {"command": "make"} |
    | any other     | any                         | the value          |
    """
    if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
        return None
    if name not in _JSON_FIELDS:
        return value
    if value in ("true", "false"):
        return value == "true"
    return unpacked(value)


async def _sight_of(hook: HookInput, *, is_behind: bool) -> Sight:
    """Look for the call in the session's transcript and its subagents', again while the host may be writing it.

    `is_behind`: an earlier call of the session never came. If there is no file either, none will come, and one look has
    to do.
    """
    if not hook.transcript or not hook.call_id:
        return Sight.MISSING
    path = Path(hook.transcript)
    call_id = hook.call_id.encode()
    more_looks = 0 if is_behind and not path.exists() else _MORE_LOOKS
    sight = await asyncio.to_thread(_look, path, call_id)
    for _ in range(more_looks):
        if sight is not Sight.MISSING:
            break
        await asyncio.sleep(_PAUSE)
        sight = await asyncio.to_thread(_look, path, call_id)
    return sight


def _look(path: Path, call_id: bytes) -> Sight:
    """Return what a session's transcript and those of its subagents show of a call; the first that has its id decides.

    | the id stands               | beside the name of this tool | sight         |
    |-----------------------------|------------------------------|---------------|
    | in one of the transcripts   | yes                          | `OWN`         |
    | in the session's            | no                           | `MADE`        |
    | in a subagent's             | no                           | `OF_SUBAGENT` |
    | in none                     |                              | `MISSING`     |
    """
    transcripts_of_agents = sorted(path.with_suffix("").glob("subagents/*.jsonl"), key=_changed_at)
    for bytes_of_end in _SIZES_OF_ENDS:
        for file in (path, *transcripts_of_agents[-_MOST_AGENTS:]):
            end = b"\n".join(ends_of(file, bytes_of_end))
            if call_id not in end:
                continue
            lines = [line for line in end.splitlines() if call_id in line]
            if any(_OWN_NAME in line for line in lines):
                return Sight.OWN
            return Sight.MADE if file == path else Sight.OF_SUBAGENT
    return Sight.MISSING


def _changed_at(file: Path) -> float:
    """Return when a file was changed last, in seconds since 1970; 0 if it is gone."""
    try:
        return file.stat().st_mtime
    except OSError:  # it is gone
        return 0.0
