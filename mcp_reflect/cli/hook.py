"""The second part of a hook, for what `cli.quick_hook` could not answer alone: with an engine, or by a team's service.

A hook waits for a service .6 s at most; a later hook sends what this one could not. At the end of a session the
work is done in a background process, because hosts give the last hook one second and exit.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect import children, services
from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.cli.kept_guards import guards_from, keep_guards, kept_file
from mcp_reflect.cli.quick_hook import MAX_TEAM_SECONDS
from mcp_reflect.cli.running import with_engine
from mcp_reflect.cli.service_client import MOST_TRANSCRIPT_CHARS, ask_service
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError, InputError, NotAllowedError
from mcp_reflect.models.common import compact
from mcp_reflect.models.warning import EnforcedGuard, HookInput, Moment
from mcp_reflect.moments.texts import KEEP
from mcp_reflect.places import BANK
from mcp_reflect.projects import Folder, Scopes
from mcp_reflect.security.gate import clean_output
from mcp_reflect.services.claims import accept_claim, tell_new_origin
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.hook_events import (
    answer_for_host,
    hook_answer,
    is_watched,
    kept_call,
    read_hook,
)
from mcp_reflect.storage.spool import (
    SESSION_FOLDER,
    Spool,
    folder_key,
    note_project,
    note_session,
    project_of_session,
    team_spool,
)

if TYPE_CHECKING:
    from mcp_reflect.cli.hook_watch import Watch


BUSY_SECONDS: Final = 0.25
"""The longest wait for another process that writes to the bank."""

# Seconds from the start of the process in which it notes calls that earlier hooks left.
_TAKING_SECONDS: Final = 1.5
_SERVICE_SECONDS: Final = 0.6  # that a hook waits for a service: the agent waits for the hook
_END_CHARS: Final = 6_000  # of an output that a service is sent, at either end


def answer_event(
    event: str | None, sent: object, size: int, options: dict[str, str], watch: "Watch"
) -> None:
    """Print the answer to one event, if there is one.

    `sent` is the host's input, of `size` bytes, and `options` are those of the command. `watch` ends this process when
    its time is over: what is not noted in the bank by then is written into the spool, a file of calls that wait.
    """
    settings = replace(
        Settings.from_env(),
        bank_busy_seconds=BUSY_SECONDS,
        sets_aside=False,
        log_level="error",
    )
    if size > settings.max_hook_bytes:
        return
    hook = read_hook(event, sent)
    if hook is None:
        return
    # The start of a session binds its folder to the project: whatever `.git` says later, that stays.
    settings = replace(settings, stores_names=hook.moment is Moment.START)
    hook = replace(hook, watched=is_watched(os.environ, hook.transcript))
    # Two handles of one file: calls that earlier hooks left are taken out by the first, and this call is added by the
    # second. They end differently: the first may be taken in part, the second is dropped when the call is noted.
    left_by_others = Spool(settings.bank_path)
    own_call = Spool(settings.bank_path)
    if "url" in options:
        own_call = team_spool(options, settings.bank_path)

    def keep_what_was_not_noted() -> None:
        """Write back what was taken out and not noted. A second time does nothing: it is no longer pending."""
        left_by_others.keep()
        own_call.keep()

    # The watch ends the process without running `finally`, so both have to keep.
    watch.at_end = keep_what_was_not_noted
    if isinstance(settings.bank, ServerUrl):
        watch.within(MAX_TEAM_SECONDS)
    try:
        if "url" in options:
            answer = _ask_service(hook, _transcript(hook, settings), own_call, options)
        else:
            answer = _answer(hook, settings, own_call, left_by_others, watch.began)
        watch.answer(answer and answer_for_host(answer, os.environ))
    finally:
        keep_what_was_not_noted()


def _answer(
    hook: HookInput, settings: Settings, own_call: Spool, left_by_others: Spool, began: float
) -> dict[str, Any] | None:
    """Return what the host reads, by the bank of this machine; None if there is nothing to say.

    A spool is a file of calls that wait for the bank: `own_call` takes this hook's, `left_by_others` has those of
    earlier hooks. `began` is the process's start, in monotonic seconds.
    """
    if settings.project is None and hook.folder:
        folder = _folder_of_session(Path(hook.folder))
        hook = replace(hook, began_with=_began_with(hook, settings))
        settings = replace(settings, folder=folder)
    if hook.moment is Moment.END:
        reflect_in_background(hook, settings)
    if not _needs_bank(hook, settings):
        return _first_words(hook, settings)
    if hook.moment is Moment.AFTER and hook.tool is not None:
        own_call.pending.append(kept_call(hook, Scopes.of(settings).own.project))
    return with_engine(
        lambda engine: _answer_by_bank(engine, hook, own_call, left_by_others, began), settings
    )


def _needs_bank(hook: HookInput, settings: Settings) -> bool:
    """Return whether to open the bank. A bank in a file that is not there is made only for something to note.

    That is a call, a last message, or, at the start of a session, the path of its transcript.
    """
    if isinstance(settings.bank, ServerUrl) or settings.bank_path.exists():
        return True
    if hook.moment is Moment.START:
        return bool(hook.transcript)
    return hook.moment in (Moment.AFTER, Moment.STOP)


def _first_words(hook: HookInput, settings: Settings) -> dict[str, Any] | None:
    """Return what a session without a bank is told: at its first start, to keep what it learns."""
    is_new = hook.moment is Moment.START and settings.ask != "off" and not hook.resumed
    if not is_new:
        return None
    return hook_answer(hook, KEEP)


def _began_with(hook: HookInput, settings: Settings) -> str | None:
    """Return the project with which the session began, else the folder that the host names; None where nothing says it."""
    project = None
    if not isinstance(settings.bank, ServerUrl):
        project = project_of_session(str(settings.bank_path), hook.root)
    return project or os.environ.get(SESSION_FOLDER) or None


def _folder_of_session(folder: Path) -> Path:
    """Return the folder whose project a hook works for.

    A host's hooks tell where the agent is now, such as /shop/web. Outside of a repository the project is that of the
    folder where the session began (/shop), which the host names in its environment.
    """
    began = os.environ.get(SESSION_FOLDER, "")
    is_below = bool(began) and Path(began) in folder.parents
    if is_below and Folder.of(folder).git is None:
        return Path(began)
    return folder


async def _answer_by_bank(
    engine: Engine, hook: HookInput, own_call: Spool, left_by_others: Spool, began: float
) -> dict[str, Any] | None:
    """Return what the host reads, after the calls of earlier hooks were noted; arguments as for `_answer`."""
    settings = engine.settings
    if hook.folder and settings.project is None and not isinstance(settings.bank, ServerUrl):
        # The next quick hook in this folder knows its project without asking git's files.
        with suppress(OSError):
            key = folder_key(hook.folder)
            note_project(str(engine.bank.path), key, engine.scopes.own.project)
            if hook.moment is Moment.START:
                note_session(
                    str(engine.bank.path), hook.root, engine.scopes.own.project, anew=hook.anew
                )
    seconds_left = _TAKING_SECONDS - (time.monotonic() - began)
    await services.spooled_calls.note_spooled(engine.context, left_by_others, seconds_left)
    line = await _claim_line(engine, hook)
    text, hold = await services.hooks.answer(engine.context, hook)
    own_call.pending.clear()
    if isinstance(settings.bank, ServerUrl) and hook.moment in (Moment.START, Moment.PROMPT):
        _keep_guards(hook, None, await services.enforced.enforced_guards(engine.context))
    answer: dict[str, Any] | None = None
    if text:
        answer = hook_answer(hook, text, hold=hold)
    if line:
        return {"systemMessage": line, **(answer or {})}
    return answer


async def _claim_line(engine: Engine, hook: HookInput) -> str:
    """Return the line that tells the person to which project a folder belongs, where that is new (`services.claims`).

    It is empty where there is nothing to tell, or the host shows no line at the start of a session.
    """
    if hook.moment is not Moment.START or not _shows_lines(hook_answer(hook, KEEP)):
        return ""
    return await accept_claim(engine) or await tell_new_origin(engine)


def _shows_lines(answer: Mapping[str, Any] | None) -> bool:
    """Return whether a host that reads such an answer shows the person a line that is beside it."""
    return answer is not None and "hookSpecificOutput" in answer


def reflect_in_background(hook: HookInput, settings: Settings) -> children.Child | None:
    """Reflect on the session's transcript in another process, for the project of the session's folder."""
    if hook.transcript is None or not Path(hook.transcript).is_file():
        return None
    log = Path(os.devnull)
    if settings.llm != "off":
        settings.bank_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = settings.bank_path.with_name(f"{settings.bank_path.name}.distil.log")
    if isinstance(settings.bank, Path):
        os.environ[BANK] = str(settings.bank_path)  # it works in another folder
    transcript, folder = Path(hook.transcript).absolute(), Path(hook.folder or "").absolute()
    session = ("--session", hook.session, "--folder", str(folder))
    return children.start_in_background(("reflect", "--json", *session, str(transcript)), log)


# A team's service.


def body_for(hook: HookInput, transcript: str) -> dict[str, Any]:
    """Return what a team's service is sent of a hook: without paths of this machine, which mean nothing there."""
    ends = {
        "result": clean_output(hook.result, _END_CHARS),
        "error": clean_output(hook.error, _END_CHARS),
    }
    sent = replace(hook, folder=None, began_with=None, transcript=None, **ends)
    return {"hook": compact(asdict(sent)), "transcript": transcript[-MOST_TRANSCRIPT_CHARS:]}


def _transcript(hook: HookInput, settings: Settings) -> str:
    """Return the transcript when the agent stops, for its last message; empty if it is longer than a hook may read."""
    path = Path(hook.transcript or "")
    if hook.moment is not Moment.STOP or not path.is_file():
        return ""
    if path.stat().st_size > settings.max_hook_bytes:
        return ""
    return path.read_text("utf-8", "replace")


def _ask_service(
    hook: HookInput, transcript: str, spool: Spool, options: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return what the host reads: the service's answer, or at the start of a session why there is none.

    | the service                | a call before it is made                | after a call                | at the start    |
    |----------------------------|-----------------------------------------|-----------------------------|-----------------|
    | answers                    | its text                                | is done with                | its text        |
    | does not (BankError)       | raises: the kept guards decide          | waits in the spool          | told once       |
    | refuses the token          | nothing                                 | waits in the spool          | told once       |
    | refuses the request        | nothing                                 | is dropped: it always would | nothing         |
    """
    body = body_for(hook, transcript)
    if hook.moment is Moment.END:
        spool.pending.append({**body, "file": hook.transcript})
        spool.keep()
        _deliver_in_background(options)
        return None
    if hook.moment is Moment.AFTER:
        spool.pending.append({**body, "file": None})
    try:
        answered = _send(options, body, seconds=_SERVICE_SECONDS)
    except BankError as error:
        if hook.moment is Moment.BEFORE:
            raise  # what this machine keeps of its guards decides
        return _out_of_reach(hook, str(error))
    except NotAllowedError as error:
        return _out_of_reach(hook, str(error))
    except InputError:  # it will not be read later either
        spool.pending.clear()
        return None
    spool.pending.clear()
    if spool.has_some():
        _deliver_in_background(options)
    _keep_guards(hook, options.get("url"), guards_from(answered.get("enforced")))
    if not answered.get("text"):
        return None
    from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - a hook that says nothing needs none

    return hook_answer(hook, clean_text(str(answered["text"])), hold=answered.get("hold") is True)


def _keep_guards(
    hook: HookInput, url: str | None, guards: tuple[EnforcedGuard, ...] | None
) -> None:
    """Keep the guards that a person enforces on this machine, for a day on which the bank or the service does not answer."""
    file = kept_file(url, hook.folder)
    if file is not None and guards is not None:
        keep_guards(file, guards)


def _send(options: Mapping[str, str], body: Mapping[str, Any], **limits: float) -> Any:
    """Return what the service answers to a hook; `limits` are further arguments of `ask_service`, such as seconds."""
    return ask_service(
        options["url"], options.get("token-env"), "hook", body, options.get("project"), **limits
    )


def _out_of_reach(hook: HookInput, fault: str) -> dict[str, Any] | None:
    """Return the answer that the service is not there: for the agent, and for the person where the host shows lines.

    It is told at the start of a session alone; at other moments there is nothing to say (None).
    """
    if hook.moment is not Moment.START:
        return None
    from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - see above

    line = clean_text(f"mcp-reflect: no lessons of the team in this session. {fault}")
    answer = hook_answer(hook, line)
    if answer is None or not _shows_lines(answer):
        return answer
    return {"systemMessage": line, **answer}


def deliver(options: Mapping[str, str]) -> None:
    """Send in order what earlier hooks could not send; keep it if the service still does not accept it."""

    def send(record: dict[str, Any]) -> None:
        """Send one call or session that waits. `send_all` keeps it, and all after it, where this raises.

        | the service                       | the record                                          |
        |-----------------------------------|-----------------------------------------------------|
        | accepts it                        | is delivered                                        |
        | refuses what it says (InputError) | is dropped: it would be refused each time           |
        | refuses the token                 | is kept: another token may be allowed to send it    |
        | does not answer (BankError)       | is kept                                             |
        """
        file = Path(record.get("file") or os.devnull)
        transcript = ""
        if file.is_file():
            transcript = file.read_text("utf-8", "replace")[-MOST_TRANSCRIPT_CHARS:]
        try:
            _send(options, {"hook": record["hook"], "transcript": transcript})
        except NotAllowedError:
            raise
        except InputError:
            return

    with suppress(BankError, NotAllowedError):
        team_spool(options, Settings.from_env().bank_path).send_all(send)


def _deliver_in_background(options: Mapping[str, str]) -> None:
    """Start a process that sends what waits for the service (`mcp-reflect hook deliver`)."""
    named = [f"--{name}={value}" for name, value in options.items()]
    children.start_in_background(("hook", *named, "deliver"), Path(os.devnull))
