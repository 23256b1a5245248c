"""What to tell an agent at a moment of its session, its last message included, and what to note of it."""

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
from mcp_reflect.models.warning import HookInput, LastWord, Moment, SessionState
from mcp_reflect.moments.last_word import at_stop, decides
from mcp_reflect.moments.texts import MOST_TOLD, within
from mcp_reflect.security.clean import Clean
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.context import Context
from mcp_reflect.services.session_files import OpenSession
from mcp_reflect.sessions.session_file import MOST_BYTES, SessionFile

# The files of rules that a host reads, by a part of the path of its transcripts.
_READ_BY: Final = (
    ("/.codex/", ("AGENTS.md",)),
    ("/.qwen/", ("QWEN.md", "AGENTS.md")),
    ("/.pi/", ("AGENTS.md", "CLAUDE.md")),
)
_WAITS: Final = 10  # times that a transcript is read again where hooks saw more calls than it has
_FEW_WAITS: Final = 3  # the same where that is not known, and the file ends without a message
_FRESH: Final = 2.0  # seconds after a change of the file in which its host may still be writing
_PAUSE: Final = 0.05  # seconds
_TAIL: Final = 2_000_000
"""Bytes of a transcript that are read first; mostly they hold the runs that decide."""


async def answer(
    context: Context, hook: HookInput, transcript: str = ""
) -> tuple[Clean | None, bool]:
    """Return the text for the agent, None if there is none, and whether its call is to be refused this once.

    `transcript` is the session so far, where the agent stops. The text quotes what was seen, so it passes the gate.
    """
    text, hold = await _answer(context, hook, transcript)
    return (clean_text(text) if text else None), hold


async def _answer(context: Context, hook: HookInput, transcript: str) -> tuple[str | None, bool]:
    session, tool, warnings = hook.session, hook.tool, services.warnings
    match hook.moment:
        case Moment.START if hook.answer_key:
            told = await _told_by_files(context, hook)
            await _name_transcript(context, hook)
            return await services.reminders.at_start(context, hook, told), False
        case Moment.PROMPT if hook.answer_key:
            due = await _due(context, session)
            told = await _told_by_files(context, hook)
            lessons = await services.reminders.at_prompt(context, session, hook.prompt or "", told)
            asked = await _ask_once_more(context, hook)
            return within((due, lessons, asked), MOST_TOLD), False
        case Moment.BEFORE if tool and (hook.answer_key or hook.holds):
            known = await warnings.before_call(
                context,
                tool,
                hook.arguments,
                session=session,
                call_id=hook.call_id,
                holds=hook.holds,
                only_advice=True,
            )
            if hook.child_prompt is not None and not (known and known.hold):
                return await services.reminders.for_child(context, hook), False
            return (known.text, known.hold) if known else (None, False)
        case Moment.AFTER if tool:
            after = await warnings.after_call(
                context,
                tool,
                hook.arguments,
                hook.result,
                error=hook.error,
                session=session,
                shows_late=True,
                call_id=hook.call_id,
                witnessed=hook.witnessed,
            )
            return after.text, False
        case Moment.STOP:
            held = await _check(context, hook, transcript)
            if held is None and hook.watched and not (hook.again or hook.of_agent):
                held = await _ask_once_more(context, hook, at_stop=True)
            if hook.of_agent and hook.parent and held is None:
                # A child has no next prompt: what it left unkept waits in the queue of its parent's project.
                await context.bank.findings.end_session(context.scopes.own, clean_text(session))
            return held, False
        case Moment.END:
            await context.bank.warnings.end_session(context.scopes.own, clean_text(session))
            await context.bank.findings.end_session(context.scopes.own, clean_text(session))
        case _:
            pass
    return None, False


async def _name_transcript(context: Context, hook: HookInput) -> None:
    """Keep where the host writes the session. Only a host's own command tells it at the start, never a tool's call."""
    if not hook.transcript or not hook.witnessed:
        return
    scope = context.scopes.own
    state = await services.warnings.session_state(context, scope, hook.session)
    with suppress(BankError):  # read-only: then nothing that a tool reports proves anything
        await context.bank.warnings.name_transcript(scope, state, hook.transcript)


async def _ask_once_more(context: Context, hook: HookInput, *, at_stop: bool = False) -> str | None:
    scope = context.scopes.own
    state = await services.warnings.session_state(context, scope, hook.session)
    return await services.findings.ask_once_more(context, scope, state, at_stop=at_stop)


async def _told_by_files(context: Context, hook: HookInput) -> frozenset[str]:
    """Return the ids of promoted lessons that are in a file which the session's host gives to its model."""
    promotions = await context.bank.findings.promotions(context.scopes.own)
    read = [one for one in promotions if _reads(hook, Path(one.file))]
    return frozenset(name for one in read for name in (*one.lessons, *one.said))


def _reads(hook: HookInput, file: Path) -> bool:
    transcript = (hook.transcript or "").replace("\\", "/")
    if hook.event[:1].islower():
        names = ("mcp-reflect.mdc", "AGENTS.md")  # Cursor
    elif hook.event.startswith("Before") or "/.gemini/" in transcript:
        names = ("GEMINI.md",)
    else:
        names = next((read for part, read in _READ_BY if part in transcript), ("CLAUDE.md",))
    return any(
        (file.parent / name).exists() and file.samefile(file.parent / name) for name in names
    )


# The last message beside the session: read the transcript, decide, note what was said.


async def _check(context: Context, hook: HookInput, transcript: str = "") -> str | None:
    """Return the reason for which the last message is held, or None.

    `transcript` is the session where its file is on another machine. Why a session cannot be read is logged.
    """
    if _way(context, hook) == "off" or not (hook.transcript or transcript):
        return None
    state = await services.warnings.session_state(context, context.scopes.own, hook.session)
    files = context.session_files
    async with files.reading(hook.transcript or "", partial(new_file, context, hook)) as session:
        return await _check_session(context, hook, state, session, transcript)


async def _check_session(
    context: Context,
    hook: HookInput,
    state: SessionState,
    session: OpenSession,
    transcript: str,
) -> str | None:
    """Read a session, note how its work ended, and return the reason for which its last message is held, or None."""
    lacks_calls = await _read_settled(context, hook, state.step, session, transcript)
    file = session.file
    if not (hook.of_agent or file.fault):
        ending = None if lacks_calls else ended_well(file.ledger)
        with suppress(BankError):
            await context.bank.effects.note_ending(context.scopes.own, state.id, good=ending)
    if state.held_out:
        return None
    message = hook.message or file.last_message
    if file.fault or not message:
        context.log.error(
            "last_word_unread", reason=file.fault or "the session has no last message"
        )
        return None
    ledger = file.ledger
    if lacks_calls and not file.ends_with(hook.message):  # what was done last is not known
        ledger = replace(ledger, delegated=ledger.step + 1)
    # A subagent that changed nothing may report what its caller told it.
    if lacks_calls or (hook.of_agent and not ledger.changes):
        ledger = replace(ledger, partial=True)
    notes = state.notes.last_word
    stopped = at_stop(
        message, ledger, notes, way=_way(context, hook), again=_stops_again(hook, notes)
    )
    noted = replace(stopped.notes, due=clean_text(stopped.notes.due))
    if stopped.notes == notes:
        return None
    try:
        await context.bank.warnings.note(
            context.scopes.own, state, lambda latest: replace(latest, last_word=noted)
        )
    except BankError as error:  # what is not noted would be held again
        context.log.error("last_word_unnoted", reason=str(error))
        return None
    return stopped.text


def _stops_again(hook: HookInput, notes: LastWord) -> bool:
    """Return whether the agent stops after a message was held. Qwen Code up to 0.15 says so at its first stop too."""
    of_qwen = "/.qwen/" in (hook.transcript or "").replace("\\", "/")
    return hook.again and (notes.held > 0 or not of_qwen)


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
        file = session.file
        counts = not (hook.of_agent or file.ledger.partial)  # the file has all calls of the session
        return (counts and file.hooked < seen_calls) or not reported <= file.answered

    def is_behind() -> bool:
        file = session.file
        at_work = context.clock.now() - file.changed < _FRESH and not file.last_message
        unsure = lacks_calls() or file.ledger.partial or at_work
        return unsure and not file.ends_with(hook.message)

    await _read(context, hook, session, transcript)
    waits = _WAITS if lacks_calls() else _FEW_WAITS
    for _ in range(waits if hook.transcript else 0):
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
    is_new = session.file.place == 0
    await asyncio.to_thread(session.file.read, _TAIL if is_new else MOST_BYTES)
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


async def _due(context: Context, session: str) -> str | None:
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
    return ("hold" if hook.watched else "tell") if way == "auto" else way
