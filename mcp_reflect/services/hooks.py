"""The words for an agent at a moment of its session: a function for each moment.

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

_FILES_BY_TRANSCRIPT_PATH: Final = (
    ("/.codex/", ("AGENTS.md",)),
    ("/.qwen/", ("QWEN.md", "AGENTS.md")),
    ("/.pi/", ("AGENTS.md", "CLAUDE.md")),
)
"""The instruction files that a host gives to its model, by a part of the path of its transcripts."""

_FILES_OF_CURSOR: Final = ("mcp-reflect.mdc", "AGENTS.md")
_FILES_OF_GEMINI: Final = ("GEMINI.md",)
_FILES_OF_OTHERS: Final = ("CLAUDE.md",)


class _HookWords(NamedTuple):
    """The words for the agent at a moment."""

    text: str | None = None  # None for nothing
    refuses: bool = False  # the call that begins is to be refused this once


async def answer(
    context: Context, hook: HookInput, transcript: str = ""
) -> tuple[Clean | None, bool]:
    """Return the text for the agent, None if there is none, and whether its call is to be refused this once.

    `transcript` is the session so far, where the agent stops. The text may quote commands and outputs of the session,
    so secrets are taken out of it.
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
    """Return the lessons with which a session begins, nothing where the host passes no words on to the agent.

    A lesson in a file of instructions that the host reads, as `CLAUDE.md`, is not repeated.
    """
    if not hook.answer_key:
        return _HookWords()
    ids_in_files = await _ids_in_files(context, hook)
    await _name_transcript(context, hook)
    return _HookWords(await services.reminders.at_start(context, hook, ids_in_files))


async def _at_prompt(context: Context, hook: HookInput) -> _HookWords:
    """Return the words for a prompt: the doubt that waited for it, the lessons that fit, and an ask that went unanswered.

    The doubt is about the last message before, where the host could not hold that message (`services/last_message.py`).
    """
    if not hook.answer_key:
        return _HookWords()
    session = hook.session
    waiting_doubt = await services.last_message.take_due(context, session)
    ids_in_files = await _ids_in_files(context, hook)
    lessons = await services.reminders.at_prompt(context, session, hook.prompt or "", ids_in_files)
    ask = await _ask_once_more(context, hook)
    return _HookWords(within((waiting_doubt, lessons, ask), MOST_TOLD))


async def _before_call(context: Context, hook: HookInput) -> _HookWords:
    """Return the words before a call.

    | the call                                                    | the words                        |
    |-------------------------------------------------------------|----------------------------------|
    | is of a host that neither passes words on nor refuses calls | none, and nothing is looked up   |
    | is to be refused                                            | the warning, as the reason       |
    | starts a subagent                                           | the lessons for the subagent     |
    | has a warning                                               | the warning                      |
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
    """Note how a call ended; return the lesson about its failure, or the ask for a lesson."""
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
    """Return where a call is made, by which the guards of that folder's project apply.

    None where the folder says nothing of projects: a setting or a token names the project of all calls, or the host is
    on another machine.
    """
    own_folder = context.scopes.folder
    if own_folder is None or not hook.folder:
        return None
    project_at_start = hook.began_with or context.scopes.own.project
    return Where(hook.folder, own_folder.trees_around(hook.folder), project_at_start)


async def _at_stop(context: Context, hook: HookInput, transcript: str) -> _HookWords:
    """Return the reason for holding the last message, which sends the agent back to work; nothing where it stands.

    | the last message                                             | the reason                       |
    |--------------------------------------------------------------|----------------------------------|
    | claims what the session does not show                        | the doubt                        |
    | is the main agent's first one, and a person watches          | the ask for a lesson, if due     |
    | any other                                                    | none                             |
    """
    reason = await services.last_message.check(context, hook, transcript)
    may_ask = hook.watched and not hook.again and not hook.of_agent
    if reason is None and may_ask:
        reason = await _ask_once_more(context, hook, at_stop=True)
    is_end_of_subagent = reason is None and hook.of_agent and hook.parent
    if is_end_of_subagent:
        # A subagent has no next prompt, so its open findings go to the review of its parent's project now.
        await context.bank.findings.end_session(context.scopes.own, clean_text(hook.session))
    return _HookWords(reason)


async def _at_end(context: Context, hook: HookInput) -> _HookWords:
    """Close the notes of a session that ended; the words are none, since nobody would read them."""
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
"""The function of each moment except the stop, which takes the session's transcript as well (`answer`)."""


async def _name_transcript(context: Context, hook: HookInput) -> None:
    """Note the path of the session's transcript, from which the last message is checked later.

    Only a host's own hook is believed (`witnessed`): an agent's call of a tool could name any file.
    """
    if not hook.transcript or not hook.witnessed:
        return
    scope = context.scopes.own
    state = await services.warnings.session_state(context, scope, hook.session)
    with suppress(
        BankError
    ):  # a read-only bank: then calls that a tool reports cannot be checked by it
        await context.bank.warnings.name_transcript(scope, state, hook.transcript)


async def _ask_once_more(context: Context, hook: HookInput, *, at_stop: bool = False) -> str | None:
    """Return the question for a lesson that the agent did not answer when it was asked, None where nothing waits."""
    scope = context.scopes.own
    state = await services.warnings.session_state(context, scope, hook.session)
    return await services.finding_asks.ask_once_more(context, scope, state, at_stop=at_stop)


async def _ids_in_files(context: Context, hook: HookInput) -> frozenset[str]:
    """Return the ids of lessons that the session knows already, from a file which its host gives to its model.

    Such a file says a lesson in the block that we wrote (`lessons`), or in its other text (`said`).
    """
    lesson_ids: set[str] = set()
    for promotion in await context.bank.promotions.of_project(context.scopes.own):
        if _is_read_by_host(hook, Path(promotion.file)):
            lesson_ids.update(promotion.lessons, promotion.said)
    return frozenset(lesson_ids)


def _is_read_by_host(hook: HookInput, file: Path) -> bool:
    """Return whether an instruction file is one that the session's host reads, by its own name or through a link."""
    read_files = [file.parent / name for name in _instruction_files(hook)]
    return any(read_file.exists() and file.samefile(read_file) for read_file in read_files)


def _instruction_files(hook: HookInput) -> tuple[str, ...]:
    """Return the names of the instruction files that the session's host reads.

    No hook says its host's name, so the host is known by its events, or by the folder in which it writes its sessions:

    | the host is known by                                   | it reads                          |
    |--------------------------------------------------------|-----------------------------------|
    | an event such as `preToolUse`: Cursor                  | `mcp-reflect.mdc`, `AGENTS.md`    |
    | an event such as `BeforeTool`, or `.gemini`: Gemini    | `GEMINI.md`                       |
    | a folder of _FILES_BY_TRANSCRIPT_PATH                  | the files that stand there        |
    | none of these, as Claude Code                          | `CLAUDE.md`                       |
    """
    if hook.event[:1].islower():
        return _FILES_OF_CURSOR
    transcript_path = (hook.transcript or "").replace("\\", "/")
    if hook.event.startswith("Before") or "/.gemini/" in transcript_path:
        return _FILES_OF_GEMINI
    for part_of_path, names in _FILES_BY_TRANSCRIPT_PATH:
        if part_of_path in transcript_path:
            return names
    return _FILES_OF_OTHERS
