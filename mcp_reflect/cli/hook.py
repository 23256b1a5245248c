"""The second part of a hook, for what `cli.quick_hook` could not answer alone: with an engine over the bank.

A team's service answers in place of the bank where the hook names one (`cli.hook_by_service`). At the end of a session
the work is done in a background process, because hosts give the last hook one second and exit.
"""

import os
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_reflect import children, services
from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.cli.hook_by_service import answer_by_service
from mcp_reflect.cli.kept_guards import keep_guards_of_bank
from mcp_reflect.cli.person_line import shows_lines, with_line
from mcp_reflect.cli.quick_hook import MAX_TEAM_SECONDS
from mcp_reflect.cli.running import with_engine
from mcp_reflect.config import Settings
from mcp_reflect.models.warning import HookInput, Moment
from mcp_reflect.moments.texts import KEEP
from mcp_reflect.places import BANK
from mcp_reflect.project_folders import Folder
from mcp_reflect.projects import Scopes
from mcp_reflect.repository_settings import settings_in_force, told
from mcp_reflect.services.claims import accept_claim, tell_new_origin
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.hook_events import (
    answer_for_host,
    hook_answer,
    is_watched,
    kept_call,
    read_hook,
)
from mcp_reflect.storage.hook_projects import (
    SESSION_FOLDER,
    folder_key,
    note_project,
    note_session,
    project_of_session,
)
from mcp_reflect.storage.spool import Spool, team_spool

if TYPE_CHECKING:
    from mcp_reflect.cli.hook_watch import Watch


BUSY_SECONDS: Final = 0.25
"""The longest wait for another process that writes to the bank."""

_NOTING_SECONDS: Final = 1.5
"""Seconds from the start of the process in which it notes the calls that earlier hooks left."""


class HookSpools(NamedTuple):
    """The calls that wait for the bank: this hook's, and those of earlier hooks.

    Beside a bank both are in one file, and have a handle each, since they end differently: the call of this hook is
    dropped when it is noted, and of the earlier ones some may be noted and the others written back.
    """

    of_this_call: Spool
    of_earlier_calls: Spool

    @classmethod
    def of(cls, settings: Settings, options: dict[str, str]) -> "HookSpools":
        """Return the spools beside the bank; that of this call is the service's where the options name one."""
        of_this_call = Spool(settings.bank_path)
        if "url" in options:
            of_this_call = team_spool(options, settings.bank_path)
        return cls(of_this_call, Spool(settings.bank_path))

    def keep(self) -> None:
        """Write back what was taken out and not noted. A second time does nothing: it is no longer pending."""
        self.of_earlier_calls.keep()
        self.of_this_call.keep()


def answer_event(
    event: str | None, sent: object, size: int, options: dict[str, str], watch: "Watch"
) -> None:
    """Print the answer to one event, if there is one.

    `sent` is the host's input, of `size` bytes, and `options` are those of the command. `watch` ends this process when
    its time is over, so that each step first tells the watch what it would have to do in its place:

    | when the time is over                      | the watch                                                |
    |--------------------------------------------|----------------------------------------------------------|
    | before settings are read                   | prints the line for the person, if there is one          |
    | later                                      | also writes the calls that are not noted into the spool  |
    | with a bank on a server, MAX_TEAM_SECONDS  | the same, sooner: a network may never answer             |
    """
    hook = read_hook(event, sent)
    if hook is None:
        return
    line = _line_on_repository(hook)
    if line:
        watch.unchecked = lambda: with_line(None, line)
    settings = _settings_of_hook(hook)
    if size > settings.max_hook_bytes:
        return
    hook = replace(hook, watched=is_watched(os.environ, hook.transcript))
    spools = HookSpools.of(settings, options)
    watch.at_end = spools.keep  # it ends the process without running `finally`
    if isinstance(settings.bank, ServerUrl):
        watch.within(MAX_TEAM_SECONDS)
    try:
        if "url" in options:
            answer = answer_by_service(hook, settings, spools.of_this_call, options)
        else:
            answer = _answer(hook, settings, spools, watch.began)
        watch.answer(_for_host(answer, line))
    finally:
        spools.keep()


def _settings_of_hook(hook: HookInput) -> Settings:
    """Return the settings for one hook: no host waits for a busy bank, and no bank is set aside on its behalf.

    The start of a session binds its folder to the project: whatever `.git` says later, that stays.
    """
    return replace(
        Settings.from_env(),
        bank_busy_seconds=BUSY_SECONDS,
        sets_aside=False,
        log_level="error",
        stores_names=hook.moment is Moment.START,
    )


def _for_host(answer: dict[str, Any] | None, line: str) -> dict[str, Any] | None:
    """Return an answer in the form that the host reads, with a line for the person if there is one; None for neither."""
    if answer:
        answer = answer_for_host(answer, os.environ)
    if line:
        return with_line(answer, line)
    return answer


def _line_on_repository(hook: HookInput) -> str:
    """Return the line that tells the person which variables of ours a file of the repository sets.

    It is told where settings cannot be read or no bank answers, too: that may be what the file is for. Empty at other
    moments than a start, where there is nothing to tell, or where the host shows no line.
    """
    if hook.moment is not Moment.START or not shows_lines(hook_answer(hook, KEEP)):
        return ""
    folders = (os.environ.get(SESSION_FOLDER), hook.folder)
    return told(settings_in_force(folder for folder in folders if folder))


def _answer(
    hook: HookInput, settings: Settings, spools: HookSpools, began: float
) -> dict[str, Any] | None:
    """Return what the host reads, by the bank of this machine; None if there is nothing to say.

    `began` is the process's start, in monotonic seconds. The call waits in a spool until the bank has noted it, so that
    nothing is lost where the bank is busy.
    """
    if settings.project is None and hook.folder:
        folder = _folder_of_session(Path(hook.folder))
        hook = replace(hook, began_with=_project_at_start(hook, settings))
        settings = replace(settings, folder=folder)
    if hook.moment is Moment.END:
        reflect_in_background(hook, settings)
    if not _needs_bank(hook, settings):
        return _first_words(hook, settings)
    if hook.moment is Moment.AFTER and hook.tool is not None:
        spools.of_this_call.pending.append(kept_call(hook, Scopes.of(settings).own.project))
    return with_engine(lambda engine: _answer_by_bank(engine, hook, spools, began), settings)


def _needs_bank(hook: HookInput, settings: Settings) -> bool:
    """Return whether to open the bank. A bank in a file that is not there yet is made only for something to note.

    | the moment             | what there is to note              |
    |------------------------|------------------------------------|
    | after a call           | the call                           |
    | the agent stops        | its last message                   |
    | the start of a session | the path of its transcript, if any |
    | any other              | nothing                            |
    """
    if isinstance(settings.bank, ServerUrl) or settings.bank_path.exists():
        return True
    if hook.moment is Moment.START:
        return bool(hook.transcript)
    return hook.moment in (Moment.AFTER, Moment.STOP)


def _first_words(hook: HookInput, settings: Settings) -> dict[str, Any] | None:
    """Return what a session without a bank is told: at its first start, to keep what it learns. None at other moments."""
    is_first_start = hook.moment is Moment.START and not hook.resumed
    if is_first_start and settings.ask != "off":
        return hook_answer(hook, KEEP)
    return None


def _project_at_start(hook: HookInput, settings: Settings) -> str | None:
    """Return the project with which the session began, else the folder that the host names; None where nothing says it.

    An agent may move to another folder within a session. Its lessons stay those of the project where it began.
    """
    project = None
    if not isinstance(settings.bank, ServerUrl):
        project = project_of_session(str(settings.bank_path), hook.root)
    return project or os.environ.get(SESSION_FOLDER) or None


def _folder_of_session(folder: Path) -> Path:
    """Return the folder whose project a hook works for.

    A host's hooks tell where the agent is now, such as /shop/web. Outside of a repository the project is that of the
    folder where the session began (/shop), which the host names in its environment.
    """
    start_folder = os.environ.get(SESSION_FOLDER, "")
    is_below = bool(start_folder) and Path(start_folder) in folder.parents
    if is_below and Folder.of(folder).git is None:
        return Path(start_folder)
    return folder


async def _answer_by_bank(
    engine: Engine, hook: HookInput, spools: HookSpools, began: float
) -> dict[str, Any] | None:
    """Return what the host reads, after the calls of earlier hooks were noted; arguments as for `_answer`.

    The order matters: the earlier calls decide what is said of this one, and this one is dropped from its spool only
    when the bank has noted it.
    """
    settings = engine.settings
    if hook.folder and settings.project is None and not isinstance(settings.bank, ServerUrl):
        with suppress(OSError):
            _note_project_of_folder(engine, hook, hook.folder)
    seconds_left = _NOTING_SECONDS - (time.monotonic() - began)
    await services.spooled_calls.note_spooled(engine.context, spools.of_earlier_calls, seconds_left)
    line = await _claim_line(engine, hook)
    text, hold = await services.hooks.answer(engine.context, hook)
    spools.of_this_call.pending.clear()
    if isinstance(settings.bank, ServerUrl) and hook.moment in (Moment.START, Moment.PROMPT):
        guards = await services.enforced.enforced_guards(engine.context)
        keep_guards_of_bank(None, hook.folder, guards)
    answer: dict[str, Any] | None = None
    if text:
        answer = hook_answer(hook, text, hold=hold)
    if line:
        return with_line(answer, line)
    return answer


def _note_project_of_folder(engine: Engine, hook: HookInput, folder: str) -> None:
    """Note the project of a folder beside the bank: the next quick hook there knows it without asking git's files.

    At the start of a session its project is noted too, for a session that moves to another folder.
    """
    bank, project = str(engine.bank.path), engine.scopes.own.project
    note_project(bank, folder_key(folder), project)
    if hook.moment is Moment.START:
        note_session(bank, hook.root, project, anew=hook.anew)


async def _claim_line(engine: Engine, hook: HookInput) -> str:
    """Return the line that tells the person to which project a folder belongs, where that is new (`services.claims`).

    It is empty where there is nothing to tell, or the host shows no line at the start of a session.
    """
    if hook.moment is not Moment.START or not shows_lines(hook_answer(hook, KEEP)):
        return ""
    return await accept_claim(engine) or await tell_new_origin(engine)


def reflect_in_background(hook: HookInput, settings: Settings) -> children.Child | None:
    """Reflect on the session's transcript in another process, for the project of the session's folder.

    What a model says of it is logged beside the bank; without a model (`llm` off) there is nothing to log.
    """
    if hook.transcript is None or not Path(hook.transcript).is_file():
        return None
    log = Path(os.devnull)
    if settings.llm != "off":
        settings.bank_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = settings.bank_path.with_name(f"{settings.bank_path.name}.distil.log")
    variables: dict[str, str] = {}
    if isinstance(settings.bank, Path):
        variables = {BANK: str(settings.bank_path)}  # the process works in another folder
    transcript, folder = Path(hook.transcript).absolute(), Path(hook.folder or "").absolute()
    session = ("--session", hook.session, "--folder", str(folder))
    command = ("reflect", "--json", *session, str(transcript))
    return children.start_in_background(command, log, **variables)
