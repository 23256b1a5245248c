"""The check of an agent's last message against its session: a message may claim no more than the session shows.

A message with a doubtful claim is held (the agent goes on, with the reason before it), or the doubt waits for the next
prompt. `services/hooks.py` asks here when an agent stops.
"""

import asyncio
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

from mcp_reflect import services
from mcp_reflect.errors import BankError
from mcp_reflect.evidence.endings import ended_well
from mcp_reflect.evidence.ledger import Ledger
from mcp_reflect.models.session_state import LastWord, SessionNotes, SessionState
from mcp_reflect.models.warning import HookInput
from mcp_reflect.moments.doubts import covers_all_claims
from mcp_reflect.moments.last_word import at_stop
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.services.session_files import OpenSession
from mcp_reflect.sessions.session_file import MOST_BYTES, SessionFile

_READS_IF_CALLS_LACK: Final = 10
"""How often a transcript is read again where hooks saw more calls than it has."""

_READS_IF_UNKNOWN: Final = 3
"""How often it is read again where nobody knows that calls are lacking, and it ends without a message."""

_FRESH_SECONDS: Final = 2.0  # after a change of the file, in which its host may still be writing
_PAUSE_SECONDS: Final = 0.05  # between two reads
_LAST_BYTES: Final = 2_000_000
"""Of a transcript, which are read first; mostly they hold the runs that decide."""


async def check(context: Context, hook: HookInput, transcript: str = "") -> str | None:
    """Return the reason for which the last message is held, or None.

    `transcript` is the session where its file is on another machine. Why a session cannot be read is logged.
    """
    if _way_to_report(context, hook) == "off" or not (hook.transcript or transcript):
        return None
    state = await services.warnings.session_state(context, context.scopes.own, hook.session)
    files = context.session_files
    async with files.reading(hook.transcript or "", partial(new_file, context, hook)) as session:
        lacks_calls = await _read_settled(context, hook, state.step, session, transcript)
        if not (hook.of_agent or session.file.fault):
            await _note_ending(context, state, session.file, lacks_calls=lacks_calls)
        if state.held_out:
            return None
        return await _decide(context, hook, state, session.file, lacks_calls=lacks_calls)


async def take_due(context: Context, session: str) -> str | None:
    """Return the doubt that waits for the next prompt, and forget it; None if there is none."""
    state = await services.warnings.session_state(context, context.scopes.own, session)
    text = state.notes.last_word.due
    if not text:
        return None

    def without_doubt(latest: SessionNotes) -> SessionNotes:
        """Return the notes of the session, which may have changed since, without the doubt."""
        return replace(latest, last_word=replace(latest.last_word, due=""))

    await context.bank.warnings.note(context.scopes.own, state, without_doubt)
    return text


def _way_to_report(context: Context, hook: HookInput) -> Literal["hold", "tell", "off"]:
    """Return how to report a doubt: by the setting; for `auto`, hold the message if a person watches, else tell."""
    way = context.settings.last_word
    if way != "auto":
        return way
    if hook.watched:
        return "hold"
    return "tell"


async def _note_ending(
    context: Context, state: SessionState, file: SessionFile, *, lacks_calls: bool
) -> None:
    """Note whether the work of a session ended well; it is unknown where the transcript lacks calls.

    Lessons are compared by these endings. A read-only bank keeps no note.
    """
    ending = None
    if not lacks_calls:
        ending = ended_well(file.ledger)
    with suppress(BankError):
        await context.bank.effects.note_ending(context.scopes.own, state.id, good=ending)


async def _decide(
    context: Context, hook: HookInput, state: SessionState, file: SessionFile, *, lacks_calls: bool
) -> str | None:
    """Return the reason for which the last message is held, or None.

    The doubt is noted before it is raised: one that cannot be noted would be raised at every stop.
    """
    message = hook.message or file.last_message
    if file.fault or not message:
        context.log.error(
            "last_word_unread", reason=file.fault or "the session has no last message"
        )
        return None
    notes = state.notes.last_word
    stopped = at_stop(
        message,
        _ledger_to_trust(hook, file, lacks_calls=lacks_calls),
        notes,
        mode=_way_to_report(context, hook),
        again=_stops_again(hook, notes),
    )
    if stopped.notes == notes:
        return None
    noted = replace(stopped.notes, due=clean_text(stopped.notes.due))
    try:
        await context.bank.warnings.note(
            context.scopes.own, state, lambda latest: replace(latest, last_word=noted)
        )
    except BankError as error:
        context.log.error("last_word_unnoted", reason=str(error))
        return None
    return stopped.text


def _ledger_to_trust(hook: HookInput, file: SessionFile, *, lacks_calls: bool) -> Ledger:
    """Return the ledger of a session (the commands that were run, the files that changed), marked where it may have gaps.

    | the session                                            | the mark                                                  |
    |--------------------------------------------------------|-----------------------------------------------------------|
    | lacks calls, and its end is not in the file            | `last_unseen_step`: others may have worked until then      |
    | lacks calls                                            | `partial`                                                 |
    | is of a subagent that changed nothing                  | `partial`: it may report the words of its caller          |
    | any other                                              | none                                                      |
    """
    ledger = file.ledger
    if lacks_calls and not file.ends_with(hook.message):
        ledger = replace(ledger, last_unseen_step=ledger.step + 1)
    if lacks_calls or (hook.of_agent and not ledger.changes):
        ledger = replace(ledger, partial=True)
    return ledger


def _stops_again(hook: HookInput, notes: LastWord) -> bool:
    """Return whether the agent stops once more after a message of this turn was held.

    The host says so. Qwen Code up to 0.15 does at the first stop as well, so that there our notes have to agree.
    """
    is_qwen = "/.qwen/" in (hook.transcript or "").replace("\\", "/")
    if is_qwen and notes.held == 0:
        return False
    return hook.again


async def _read_settled(
    context: Context, hook: HookInput, seen_calls: int, session: OpenSession, transcript: str
) -> bool:
    """Read the session until the host has written it; return whether it still lacks calls that hooks saw.

    A host writes its transcript a moment after it calls the hook, so that the file is read again for a while. It is
    whole when it has the last message: `seen_calls`, the number of calls that hooks noted, includes those of subagents
    where a host does not name these, and they are never in this file.
    """
    reported = context.reported.of(hook.session)

    def lacks_calls() -> bool:
        """Return whether hooks saw a call that the file does not have: by their number, or by the ids of calls."""
        file = session.file
        can_count = not (hook.of_agent or file.ledger.partial)
        if can_count and file.hooked < seen_calls:
            return True
        return not reported <= file.answered

    def is_behind() -> bool:
        """Return whether the host may still be writing what the session ends with."""
        file = session.file
        if file.ends_with(hook.message):
            return False
        changed_just_now = context.clock.now() - file.changed < _FRESH_SECONDS
        may_lack_message = changed_just_now and not file.last_message
        return lacks_calls() or file.ledger.partial or may_lack_message

    await _read(context, hook, session, transcript)
    if not hook.transcript:  # the text that was sent stays as it is
        return lacks_calls()
    most_reads = _READS_IF_UNKNOWN
    if lacks_calls():
        most_reads = _READS_IF_CALLS_LACK
    for _ in range(most_reads):
        if not is_behind():
            break
        await asyncio.sleep(_PAUSE_SECONDS)
        await _read(context, hook, session, transcript)
    return lacks_calls()


async def _read(context: Context, hook: HookInput, session: OpenSession, transcript: str) -> None:
    """Read the session as far as it is written; continue where an earlier call stopped.

    Of a long new session the end is read first, and the whole file only if the end does not decide.
    """
    if not hook.transcript:
        await asyncio.to_thread(session.file.read_text, transcript)
        return
    most_bytes = MOST_BYTES
    if session.file.offset == 0:  # nothing was read of it yet
        most_bytes = _LAST_BYTES
    file = session.file
    await asyncio.to_thread(file.read, most_bytes)
    if not file.ledger.partial:
        return
    if file.fault or not covers_all_claims(hook.message or file.last_message, file.ledger):
        session.file = new_file(context, hook)
        await asyncio.to_thread(session.file.read)


def new_file(context: Context, hook: HookInput) -> SessionFile:
    """Return the transcript of a hook's session, of which nothing was read yet."""
    ledger = Ledger(hook.folder or "", context.settings.proofs)
    return SessionFile(Path(hook.transcript or ""), ledger)
