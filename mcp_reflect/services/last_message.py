"""An agent's last message beside its session: read the transcript, decide, and note what was said."""

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
from mcp_reflect.models.warning import HookInput, LastWord, SessionState
from mcp_reflect.moments.last_word import at_stop, decides
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.services.session_files import OpenSession
from mcp_reflect.sessions.session_file import MOST_BYTES, SessionFile

_WAITS: Final = 10  # times that a transcript is read again where hooks saw more calls than it has
_FEW_WAITS: Final = 3  # the same where that is not known, and the file ends without a message
_FRESH: Final = 2.0  # seconds after a change of the file in which its host may still be writing
_PAUSE: Final = 0.05  # seconds
_TAIL: Final = 2_000_000
"""Bytes of a transcript that are read first; mostly they hold the runs that decide."""


async def check(context: Context, hook: HookInput, transcript: str = "") -> str | None:
    """Return the reason for which the last message is held, or None.

    `transcript` is the session where its file is on another machine. Why a session cannot be read is logged.
    """
    if _way(context, hook) == "off" or not (hook.transcript or transcript):
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
    """Return what waits to be said at the next prompt, once."""
    state = await services.warnings.session_state(context, context.scopes.own, session)
    text = state.notes.last_word.due
    if not text:
        return None
    await context.bank.warnings.note(
        context.scopes.own,
        state,
        lambda latest: replace(latest, last_word=replace(latest.last_word, due="")),
    )
    return text


def _way(context: Context, hook: HookInput) -> Literal["hold", "tell", "off"]:
    """Return how to report a doubt: by the setting; for `auto`, hold the message if a person watches, else tell."""
    way = context.settings.last_word
    if way != "auto":
        return way
    if hook.watched:
        return "hold"
    return "tell"


# Decide.


async def _note_ending(
    context: Context, state: SessionState, file: SessionFile, *, lacks_calls: bool
) -> None:
    """Note how the work of a session ended; not known where calls are lacking. A read-only bank keeps no note."""
    ending = None
    if not lacks_calls:
        ending = ended_well(file.ledger)
    with suppress(BankError):
        await context.bank.effects.note_ending(context.scopes.own, state.id, good=ending)


async def _decide(
    context: Context, hook: HookInput, state: SessionState, file: SessionFile, *, lacks_calls: bool
) -> str | None:
    """Return the reason for which the last message is held, noted before it is said, or None."""
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
        way=_way(context, hook),
        again=_stops_again(hook, notes),
    )
    if stopped.notes == notes:
        return None
    noted = replace(stopped.notes, due=clean_text(stopped.notes.due))
    try:
        await context.bank.warnings.note(
            context.scopes.own, state, lambda latest: replace(latest, last_word=noted)
        )
    except BankError as error:  # what is not noted would be held again
        context.log.error("last_word_unnoted", reason=str(error))
        return None
    return stopped.text


def _ledger_to_trust(hook: HookInput, file: SessionFile, *, lacks_calls: bool) -> Ledger:
    """Return the ledger of a session, which says itself that it is partial where it may not have all that was done."""
    ledger = file.ledger
    if lacks_calls and not file.ends_with(hook.message):  # what was done last is not known
        ledger = replace(ledger, delegated=ledger.step + 1)
    # A subagent that changed nothing may report what its caller told it.
    if lacks_calls or (hook.of_agent and not ledger.changes):
        ledger = replace(ledger, partial=True)
    return ledger


def _stops_again(hook: HookInput, notes: LastWord) -> bool:
    """Return whether the agent stops after a message was held. Qwen Code up to 0.15 says so at its first stop too."""
    of_qwen = "/.qwen/" in (hook.transcript or "").replace("\\", "/")
    return hook.again and (notes.held > 0 or not of_qwen)


# Read.


async def _read_settled(
    context: Context, hook: HookInput, seen_calls: int, session: OpenSession, transcript: str
) -> bool:
    """Read the session until the host has written it; return whether it lacks calls that hooks saw all the same.

    A host writes its transcript a moment after it calls the hook. `seen_calls` counts the calls that hooks noted. Where
    a host does not name its subagents, their calls are among them, and never in this file: it is whole when it has the
    last message.
    """
    reported = context.reported.of(hook.session)

    def lacks_calls() -> bool:
        """Return whether hooks saw a call that the file does not have."""
        file = session.file
        has_all_calls = not (hook.of_agent or file.ledger.partial)
        return (has_all_calls and file.hooked < seen_calls) or not reported <= file.answered

    def is_behind() -> bool:
        """Return whether the host may still be writing what the session ends with."""
        file = session.file
        at_work = context.clock.now() - file.changed < _FRESH and not file.last_message
        unsure = lacks_calls() or file.ledger.partial or at_work
        return unsure and not file.ends_with(hook.message)

    await _read(context, hook, session, transcript)
    if not hook.transcript:  # the text that was sent stays as it is
        return lacks_calls()
    waits = _FEW_WAITS
    if lacks_calls():
        waits = _WAITS
    for _ in range(waits):
        if not is_behind():
            break
        await asyncio.sleep(_PAUSE)
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
    if session.file.place == 0:  # nothing was read of it yet
        most_bytes = _TAIL
    await asyncio.to_thread(session.file.read, most_bytes)
    file = session.file
    if file.ledger.partial and (
        file.fault or not decides(hook.message or file.last_message, file.ledger)
    ):
        session.file = new_file(context, hook)
        await asyncio.to_thread(session.file.read)


def new_file(context: Context, hook: HookInput) -> SessionFile:
    """Return the transcript of a hook's session, of which nothing was read yet."""
    ledger = Ledger(hook.folder or "", context.settings.proofs)
    return SessionFile(Path(hook.transcript or ""), ledger)
