"""A hook whose lessons a team's service has: it asks the service, and keeps what the service did not take.

An agent waits while its hook runs, so a hook waits .6 seconds at most. A call that could not be sent stays in a *spool*,
a file of records that a later process delivers in the background (`mcp-reflect hook deliver`).
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from mcp_reflect import children
from mcp_reflect.cli.kept_guards import guards_from, keep_guards_of_bank
from mcp_reflect.cli.person_line import shows_lines, with_line
from mcp_reflect.cli.service_client import MOST_TRANSCRIPT_CHARS, ask_service
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError, InputError, NotAllowedError
from mcp_reflect.models.common import compact
from mcp_reflect.models.warning import HookInput, Moment
from mcp_reflect.security.gate import clean_answer
from mcp_reflect.services.hook_events import hook_answer
from mcp_reflect.storage.spool import Spool, team_spool

_SERVICE_SECONDS: Final = 0.6  # that a hook waits for the service
_END_CHARS: Final = 6_000  # of an output that the service is sent, at either end


def answer_by_service(
    hook: HookInput, settings: Settings, spool: Spool, options: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return what the host reads: the service's answer, or at the start of a session why there is none.

    | the service          | a call before it is made       | after a call                | at the start |
    |----------------------|--------------------------------|-----------------------------|--------------|
    | answers              | its text                       | is done with                | its text     |
    | does not (BankError) | raises: the kept guards decide | waits in the spool          | told once    |
    | refuses the token    | nothing                        | waits in the spool          | told once    |
    | refuses the request  | nothing                        | is dropped: it always would | nothing      |

    The end of a session is not sent from here: hosts give that hook one second, so a process in the background does it.
    """
    body = body_for(hook, _transcript(hook, settings))
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
            raise  # the guards that this machine keeps decide
        return _out_of_reach(hook, str(error))
    except NotAllowedError as error:
        return _out_of_reach(hook, str(error))
    except InputError:  # the service would refuse it later as well
        spool.pending.clear()
        return None
    spool.pending.clear()
    if spool.has_some():
        _deliver_in_background(options)
    keep_guards_of_bank(options.get("url"), hook.folder, guards_from(answered.get("enforced")))
    if not answered.get("text"):
        return None
    from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - a hook that says nothing needs none

    return hook_answer(hook, clean_text(str(answered["text"])), hold=answered.get("hold") is True)


def body_for(hook: HookInput, transcript: str) -> dict[str, Any]:
    """Return what the service is sent of a hook: without paths of this machine, which mean nothing there.

    Outputs are cut to their ends, and the transcript to its last characters, so that a request stays small.
    """
    answer = clean_answer(hook.arguments, hook.result, hook.error, _END_CHARS)
    output_ends: dict[str, Any] = answer._asdict()
    sent = replace(hook, folder=None, began_with=None, transcript=None, **output_ends)
    return {"hook": compact(asdict(sent)), "transcript": transcript[-MOST_TRANSCRIPT_CHARS:]}


def deliver(options: Mapping[str, str]) -> None:
    """Send in order what earlier hooks could not send; keep it if the service still does not accept it."""

    def send(record: dict[str, Any]) -> None:
        """Send one call or session that waits. To return means that it is done with; to raise keeps it, and all after it.

        | the service                       | the record                                       |
        |-----------------------------------|--------------------------------------------------|
        | accepts it                        | is delivered                                     |
        | refuses what it says (InputError) | is dropped: it would be refused each time        |
        | refuses the token                 | is kept: another token may be allowed to send it |
        | does not answer (BankError)       | is kept                                          |
        """
        file = Path(record.get("file") or os.devnull)
        transcript = ""
        if file.is_file():
            transcript = file.read_text("utf-8", "replace")[-MOST_TRANSCRIPT_CHARS:]
        try:
            _send(options, {"hook": record["hook"], "transcript": transcript})
        except InputError as error:
            if isinstance(error, NotAllowedError):  # a kind of InputError
                raise

    with suppress(BankError, NotAllowedError):
        team_spool(options, Settings.from_env().bank_path).send_all(send)


def _deliver_in_background(options: Mapping[str, str]) -> None:
    """Start a process that sends what waits for the service (`mcp-reflect hook deliver`)."""
    named = [f"--{name}={value}" for name, value in options.items()]
    children.start_in_background(("hook", *named, "deliver"), Path(os.devnull))


def _transcript(hook: HookInput, settings: Settings) -> str:
    """Return the transcript when the agent stops, since the last message stands in it; empty at any other moment.

    A transcript that is longer than a hook may read is empty too: to read it would take too long.
    """
    path = Path(hook.transcript or "")
    if hook.moment is not Moment.STOP or not path.is_file():
        return ""
    if path.stat().st_size > settings.max_hook_bytes:
        return ""
    return path.read_text("utf-8", "replace")


def _send(options: Mapping[str, str], body: Mapping[str, Any], **limits: float) -> Any:
    """Return what the service answers to a hook; `limits` are further arguments of `ask_service`, such as seconds."""
    return ask_service(
        options["url"], options.get("token-env"), "hook", body, options.get("project"), **limits
    )


def _out_of_reach(hook: HookInput, fault: str) -> dict[str, Any] | None:
    """Return the answer that the service is not there: for the agent, and for the person where the host shows lines.

    Only the start of a session says so; at any other moment the answer is None, or each call would repeat it.
    """
    if hook.moment is not Moment.START:
        return None
    from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - only an error needs it

    line = clean_text(f"mcp-reflect: no lessons of the team in this session. {fault}")
    answer = hook_answer(hook, line)
    if not shows_lines(answer):
        return answer
    return with_line(answer, line)
