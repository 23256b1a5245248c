"""What to tell an agent at a moment of its session: a function for each moment.

The moments are those of `models/warning.Moment`: a session starts, a prompt comes, a call begins or ended, the agent
stops with its last message, the session ends. `cli/hook.py` and the server's hook tool ask here.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from mcp_reflect import services
from mcp_reflect.errors import BankError
from mcp_reflect.guards.places import Where
from mcp_reflect.models.warning import HookInput, Moment
from mcp_reflect.moments.texts import MOST_TOLD, within
from mcp_reflect.security.clean import Clean
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.context import Context

_READ_BY: Final = (
    ("/.codex/", ("AGENTS.md",)),
    ("/.qwen/", ("QWEN.md", "AGENTS.md")),
    ("/.pi/", ("AGENTS.md", "CLAUDE.md")),
)
"""The instruction files that a host gives to its model, by a part of the path of its transcripts."""
_READ_BY_CURSOR: Final = ("mcp-reflect.mdc", "AGENTS.md")
_READ_BY_GEMINI: Final = ("GEMINI.md",)
_READ_BY_OTHERS: Final = ("CLAUDE.md",)


class _HookWords(NamedTuple):
    """What is told at a moment, None for nothing, and whether the call at hand is to be refused this once."""

    text: str | None = None
    refuses: bool = False


async def answer(
    context: Context, hook: HookInput, transcript: str = ""
) -> tuple[Clean | None, bool]:
    """Return the text for the agent, None if there is none, and whether its call is to be refused this once.

    `transcript` is the session so far, where the agent stops. The text quotes what was seen, so secrets are taken out.
    """
    words = _HookWords()
    if hook.moment is Moment.STOP:
        words = await _at_stop(context, hook, transcript)
    elif hook.moment in _AT_MOMENT:
        words = await _AT_MOMENT[hook.moment](context, hook)
    if not words.text:
        return None, words.refuses
    return clean_text(words.text), words.refuses


async def _at_start(context: Context, hook: HookInput) -> _HookWords:
    """Tell the lessons of the project that no file of rules tells; nothing where the host cannot pass words on."""
    if not hook.answer_key:
        return _HookWords()
    ids_in_files = await _ids_in_files(context, hook)
    await _name_transcript(context, hook)
    return _HookWords(await services.reminders.at_start(context, hook, ids_in_files))


async def _at_prompt(context: Context, hook: HookInput) -> _HookWords:
    """Tell what waited for this prompt, the lessons that fit it, and the question for a lesson that was not answered."""
    if not hook.answer_key:
        return _HookWords()
    session = hook.session
    due = await services.last_message.take_due(context, session)
    ids_in_files = await _ids_in_files(context, hook)
    lessons = await services.reminders.at_prompt(context, session, hook.prompt or "", ids_in_files)
    asked = await _ask_once_more(context, hook)
    return _HookWords(within((due, lessons, asked), MOST_TOLD))


async def _before_call(context: Context, hook: HookInput) -> _HookWords:
    """Warn of a call that is known to fail, or refuse it; a subagent that it starts gets its lessons.

    Nothing is looked up for a host that can neither pass words on nor refuse a call.
    """
    if not hook.tool or not (hook.answer_key or hook.holds):
        return _HookWords()
    warning = await services.warnings.before_call(
        context,
        hook.tool,
        hook.arguments,
        session=hook.session,
        call_id=hook.call_id,
        holds=hook.holds,
        only_advice=True,
        where=_where(context, hook),
    )
    if warning is not None and warning.hold:
        return _HookWords(warning.text, refuses=True)
    if hook.child_prompt is not None:
        return _HookWords(await services.reminders.for_child(context, hook))
    if warning is None:
        return _HookWords()
    return _HookWords(warning.text)


async def _after_call(context: Context, hook: HookInput) -> _HookWords:
    """Note how a call ended, and tell what is known of such a failure, or ask for a lesson."""
    if not hook.tool:
        return _HookWords()
    after = await services.warnings.after_call(
        context,
        hook.tool,
        hook.arguments,
        hook.result,
        error=hook.error,
        session=hook.session,
        shows_late=True,
        call_id=hook.call_id,
        witnessed=hook.witnessed,
        where=_where(context, hook),
    )
    return _HookWords(after.text)


def _where(context: Context, hook: HookInput) -> Where | None:
    """Return where a call is made, None where that says nothing of projects.

    A setting or a token names the project of all calls then, or the host is on another machine.
    """
    own_folder = context.scopes.folder
    if own_folder is None or not hook.folder:
        return None
    began_with = hook.began_with or context.scopes.own.project
    return Where(hook.folder, own_folder.trees_around(hook.folder), began_with)


async def _at_stop(context: Context, hook: HookInput, transcript: str) -> _HookWords:
    """Hold the last message for what the session does not show, else, where a person watches, to ask for a lesson.

    To hold it means to send the agent back to work with a reason.
    """
    reason = await services.last_message.check(context, hook, transcript)
    if reason is None and hook.watched and not (hook.again or hook.of_agent):
        reason = await _ask_once_more(context, hook, at_stop=True)
    if reason is None and hook.of_agent and hook.parent:
        # A subagent has no next prompt: what it left unkept waits in the queue of its parent's project.
        await context.bank.findings.end_session(context.scopes.own, clean_text(hook.session))
    return _HookWords(reason)


async def _at_end(context: Context, hook: HookInput) -> _HookWords:
    """Close the notes of a session: nobody reads an answer any more."""
    session = clean_text(hook.session)
    await context.bank.warnings.end_session(context.scopes.own, session)
    await context.bank.findings.end_session(context.scopes.own, session)
    return _HookWords()


_AT_MOMENT: Final[Mapping[Moment, Callable[[Context, HookInput], Awaitable[_HookWords]]]] = {
    Moment.START: _at_start,
    Moment.PROMPT: _at_prompt,
    Moment.BEFORE: _before_call,
    Moment.AFTER: _after_call,
    Moment.END: _at_end,
}
"""What is done at each moment; the stop alone takes the session's transcript, and stands beside them."""


async def _name_transcript(context: Context, hook: HookInput) -> None:
    """Note the path of the session's transcript, if a host's own hook names it: a tool's call could name any file."""
    if not hook.transcript or not hook.witnessed:
        return
    scope = context.scopes.own
    state = await services.warnings.session_state(context, scope, hook.session)
    with suppress(BankError):  # read-only: then nothing that a tool reports proves anything
        await context.bank.warnings.name_transcript(scope, state, hook.transcript)


async def _ask_once_more(context: Context, hook: HookInput, *, at_stop: bool = False) -> str | None:
    """Return the question for a lesson that the agent did not answer when it was asked, None where nothing waits."""
    scope = context.scopes.own
    state = await services.warnings.session_state(context, scope, hook.session)
    return await services.findings.ask_once_more(context, scope, state, at_stop=at_stop)


async def _ids_in_files(context: Context, hook: HookInput) -> frozenset[str]:
    """Return the ids of lessons that are in a file which the session's host gives to its model: they are told already."""
    lesson_ids: set[str] = set()
    for promotion in await context.bank.findings.promotions(context.scopes.own):
        if _is_read_by_host(hook, Path(promotion.file)):
            lesson_ids.update(promotion.lessons, promotion.said)
    return frozenset(lesson_ids)


def _is_read_by_host(hook: HookInput, file: Path) -> bool:
    """Return whether a file of rules is one that the host reads, by its own name or through a link."""
    read_files = [file.parent / name for name in _files_of_rules(hook)]
    return any(read_file.exists() and file.samefile(read_file) for read_file in read_files)


def _files_of_rules(hook: HookInput) -> tuple[str, ...]:
    """Return the names of the instruction files that the session's host reads.

    The host is known by the names of its events, and by the folder in which it writes its sessions.
    """
    if hook.event[:1].islower():  # Cursor alone has names such as `preToolUse`
        return _READ_BY_CURSOR
    transcript = (hook.transcript or "").replace("\\", "/")
    if hook.event.startswith("Before") or "/.gemini/" in transcript:
        return _READ_BY_GEMINI
    for part, names in _READ_BY:
        if part in transcript:
            return names
    return _READ_BY_OTHERS
