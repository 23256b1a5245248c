"""The first part of a hook, which ends at once where there is nothing to say about a call, as nearly always.

| moment        | ends at once where                                                | after                     |
|---------------|-------------------------------------------------------------------|---------------------------|
| before a call | the bank has no failure and no guard that the call may meet       | nothing                   |
| after a call  | it corrects no failure of its session, nor has a known correction | writing it into the spool |

The *spool* is a file of calls, which a later process records in the bank. `cli.hook` does everything else. This module
imports only what it needs, because a host starts it twice per call.
"""

import gc
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_reflect.cli.hook_watch import Watch
from mcp_reflect.cli.late_call import END_CHARS, LateCall, spooled_record
from mcp_reflect.dense import is_dense
from mcp_reflect.moments.payload import child_prompt, unpacked, was_only_started
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.places import BANK, NESTED, PROJECT, bank_file, filled_in_name

if TYPE_CHECKING:
    from mcp_reflect.storage.sqlite.hook_reader import CallAtHand

MAX_SECONDS: Final = 3.0
"""The process ends after this time, whatever it waits for."""

MAX_TEAM_SECONDS: Final = 0.75
"""The same where it asks a team's service, and from when it is loaded where the bank is on a server."""

_LATE_SECONDS: Final = 1.0
"""Taken before the engine is loaded, which is ten times as much work: on such a machine it would not be in time."""

_MOST_WAITING: Final = 100_000
"""Objects that wait before garbage is looked for: a hook makes little of it, and reads tables that are none."""

_MOST_BYTES: Final = 1 << 26  # of the input; `Settings.max_hook_bytes` is less
_MOST_CHARS: Final = 12_000  # of arguments in the spool
_OPENING: Final = 600  # characters of an output, at either end, in which an error would stand
_LOOK_BACK: Final = 30  # calls of a session that a call may complete
_MOST_WORDS: Final = 20  # of a command that are compared
_BEFORE_PROGRAM: Final = ("sudo", "cd", "&&")
"""Words that a command may begin with before the name of its program, beside settings of variables."""

# Settings that a hook takes as options, because shells differ in how they set a variable for one command.
_VARIABLES: Final = {"project": PROJECT, "bank": BANK, "distil": "MCP_REFLECT_LLM"}
_NO_SERVICE: Final = "mcp-reflect hook deliver: it names no service. Add --url ADDRESS.\n"
_DELIVER: Final = "deliver"  # stands for an event: send a team's service what hooks could not send
_BEFORE: Final = ("PreToolUse", "BeforeTool", "preToolUse")
_AFTER: Final = (
    "PostToolUse",
    "AfterTool",
    "postToolUse",
    "PostToolUseFailure",
    "postToolUseFailure",
)
_HELP: Final = """\
usage: mcp-reflect hook [--project=NAME] [--bank=FILE] [--distil=PROGRAM] [EVENT]
       mcp-reflect hook --url=URL [--token-env=NAME] [--project=NAME] [EVENT]

Answers a host's hook input, which stdin has (docs/hooks.md). `mcp-reflect install HOST --hooks` registers it.

example: echo '{"session_id": "s", "prompt": "deploy"}' | mcp-reflect hook UserPromptSubmit
"""
# What the first or last lines of an output may have that reads as a failure, or that says that there is nothing. This
# only says where `sessions.calls` has to be asked, which judges it.
_WORDS_OF_FAILURE: Final = lazy_compile(
    r"(?i)err|fail|exception|expired|time.?out|timed out|interrupt|exit|panic|fatal|fault|denied|refused|forbidden"
    r"|n't |\bnot? |cannot|unable|unknown|invalid|missing|usage:|abort|kill|conflict|reject|reset|too many"
    r"|unavailable|quota|exceed|nothing|empty|\b0 \w|return ?code|status|http"
)


def run_hook(arguments: list[str]) -> int:
    """Answer one event of a host, or deliver what earlier hooks left (`deliver`); return the exit status.

    Nothing is printed where there is nothing to say, or where we fail: the host's work continues. A hook that runs within
    a command of ours (`NESTED`) does nothing.
    """
    if arguments[:1] in (["-h"], ["--help"]):
        sys.stdout.write(_HELP)
        return 0
    if os.environ.get(NESTED) and _is_within_our_command():
        return 0
    options = _options_in(arguments)
    _set_variables(options)
    events = [word for word in arguments if not word.startswith("--")]
    if _DELIVER in events:
        if "url" not in options:
            sys.stderr.write(_NO_SERVICE)
            return 2
        from mcp_reflect.cli.hook_by_service import deliver  # noqa: PLC0415 - it runs beside hooks

        deliver(options)
        return 0
    watch = Watch(MAX_TEAM_SECONDS if "url" in options else MAX_SECONDS)
    gc.set_threshold(_MOST_WAITING)
    try:
        payload = sys.stdin.buffer.read()
        if len(payload) > _MOST_BYTES or is_dense(payload):
            _answer_unread(events[:1], payload, options, watch)
        elif payload:
            sent = _fields(json.loads(payload))
            event: Any = events[0] if events else sent.get("hook_event_name")
            _answer(event, sent, len(payload), options, watch)
    except Exception:  # noqa: BLE001 - the outermost handler: our failure must not become the host's
        watch.give_up()
    finally:
        watch.end()
    return 0


def _is_within_our_command() -> bool:
    """Return whether this hook runs within a command of ours, and no file of the repository only says so."""
    from mcp_reflect.repository_settings import is_within_our_command  # noqa: PLC0415 - few hooks need it

    return is_within_our_command()


def _options_in(arguments: list[str]) -> dict[str, str]:
    """Return the options `--name=value` by name. argparse would end the process for an unknown argument."""
    options: dict[str, str] = {}
    for word in arguments:
        name, is_set, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and is_set:
            options[name] = value
    return options


def _set_variables(options: dict[str, str]) -> None:
    """Set the variables of the settings that the options name, for this process."""
    for name, variable in _VARIABLES.items():
        if options.get(name):
            os.environ[variable] = options[name]


def _refusal_if_unchecked(
    event: str, sent: dict[str, Any], options: dict[str, str]
) -> dict[str, Any] | None:
    """Return the refusal of a call that nobody could check, None for a call that may pass (`unchecked_calls`)."""
    from mcp_reflect.cli.unchecked_calls import refusal_unchecked  # noqa: PLC0415 - few calls need it

    return refusal_unchecked(event, sent, options)


def _answer_unread(
    events: list[str], payload: bytes, options: dict[str, str], watch: Watch
) -> None:
    """Answer an input that is too long or has too many values to be parsed: only a call is refused, by its words."""
    words = payload[:_MOST_BYTES].decode(errors="replace")
    # Not as JSON, which would be parsed after all.
    sent = {"tool_name": "", "tool_input": f"unread: {words}"}
    for event in events:
        if event in _BEFORE:
            watch.answer(_refusal_if_unchecked(event, sent, options))


def _answer(
    event: Any, sent: dict[str, Any], size: int, options: dict[str, str], watch: Watch
) -> None:
    """Answer an event, of which `size` bytes were read; a call of a hook that is late is kept and not looked at."""
    late_call: LateCall | None = None
    if event in _AFTER and "url" not in options:
        late_call = LateCall(event, sent)
        watch.at_end = late_call.keep
    if event in _BEFORE:
        watch.unchecked = lambda: _refusal_if_unchecked(event, sent, options)
    watch.has_input()
    if late_call is not None:
        late_call.prepare()
    if not sent or _finish_call(event, sent, options):
        return
    if late_call is not None and watch.seconds_taken() > _LATE_SECONDS:
        late_call.keep()
        return
    from mcp_reflect.cli.hook import answer_event  # noqa: PLC0415 - what is heavy, only where it is needed

    answer_event(event, sent, size, options, watch)


def _finish_call(event: object, sent: dict[str, Any], options: dict[str, str]) -> bool:
    """Do what a call needs if that is little, and return whether it was; False leaves the event to `cli.hook`.

    | the event                                                | what is done                   |
    |----------------------------------------------------------|--------------------------------|
    | is no call, or a team's service or a server has the bank | left                           |
    | before a call, where no bank is there yet                | nothing: nothing is known      |
    | of a folder whose project is not noted yet               | left                           |
    | before a call that the bank knows nothing of             | nothing                        |
    | after a call that was interrupted, or only started       | nothing: it has no result      |
    | after a call of which nothing is to be said              | the call is put into the spool |
    | any other                                                | left                           |
    """
    if not _is_plain_call(event, sent, options):
        return False
    bank = bank_file(os.environ.get(BANK))
    if bank is None:
        return False
    if event in _BEFORE and not os.path.exists(bank):  # noqa: PTH110 - pathlib takes as long to import as all of this
        return True
    project = _project_of(bank, sent)
    if project is None:
        return False
    if event in _BEFORE:
        return _is_allowed(bank, project, sent)
    if sent.get("is_interrupt") is True or was_only_started(sent):
        return True  # it has no result yet
    return _put_into_spool(cast("str", event), bank, project, sent)


def _is_plain_call(event: object, sent: dict[str, Any], options: dict[str, str]) -> bool:
    """Return whether this is a call of a tool, before or after it, that starts no subagent and asks no service."""
    if child_prompt(event, sent) is not None:
        return False
    for name in (sent.get("session_id"), sent.get("tool_name")):
        if not isinstance(name, str) or not name:
            return False
    return "url" not in options and event in (*_BEFORE, *_AFTER)


def _project_of(bank: str, sent: dict[str, Any]) -> str | None:
    """Return the project of a call, from the setting or as an earlier hook noted it; None where neither has it."""
    from mcp_reflect.storage.hook_projects import folder_key, project_in  # noqa: PLC0415 - calls alone need it

    setting = os.environ.get(PROJECT)
    if setting is not None:
        has_variables = filled_in_name(setting) != setting
        return None if has_variables else setting
    folder = sent.get("cwd")
    if not isinstance(folder, str):
        return None
    return project_in(bank, folder_key(folder))


def _is_allowed(bank: str, project: str, sent: dict[str, Any]) -> bool:
    """Return whether the bank surely knows no failure and no guard that a call may meet."""
    from mcp_reflect.storage.sqlite.hook_reader import may_be_known  # noqa: PLC0415 - calls alone need it

    return not may_be_known(bank, call_at_hand(bank, project, sent))


def call_at_hand(bank: str, project: str | None, sent: dict[str, Any]) -> "CallAtHand":
    """Return a call with where it is made; a setting that names the project names it for every folder."""
    from mcp_reflect.storage.hook_projects import (  # noqa: PLC0415 - calls alone need it
        SESSION_FOLDER,
        project_in,
        project_of_session,
    )
    from mcp_reflect.storage.sqlite.hook_reader import CallAtHand  # noqa: PLC0415 - the same

    arguments = unpacked(sent.get("tool_input"))
    text = json.dumps(arguments, ensure_ascii=False)
    tool, folder = sent["tool_name"], sent.get("cwd")
    if os.environ.get(PROJECT) is not None or not isinstance(folder, str):
        return CallAtHand(tool, arguments, text, project)
    began_with = project_of_session(bank, str(sent.get("session_id")))
    if began_with is None:
        began_with = project_in(bank, os.environ.get(SESSION_FOLDER) or "")
    return CallAtHand(tool, arguments, text, project, folder, began_with)


def _put_into_spool(event: str, bank: str, project: str, sent: dict[str, Any]) -> bool:
    """Put a call into the spool if there is nothing to say about it; return whether this was done.

    | the call                                             | is put into the spool                  |
    |------------------------------------------------------|----------------------------------------|
    | is too long to compare                               | no                                     |
    | worked, where an earlier one of its session failed   | no: it may be what puts that one right |
    | failed, or may have, and the bank knows a correction | no: the agent is told the correction   |
    | any other                                            | yes, if the spool has room             |
    """
    from mcp_reflect.storage.spool import append  # noqa: PLC0415 - it imports the redaction
    from mcp_reflect.storage.sqlite.hook_reader import calls_of, may_be_corrected  # noqa: PLC0415 - calls alone need it

    record = spooled_record(event, sent, project)
    tool, arguments, session = record["tool"], record["arguments"], record["session"]
    text = json.dumps(arguments, ensure_ascii=False)
    if len(text) > _MOST_CHARS:
        return False
    if record["error"] is None:
        earlier_calls = calls_of(bank, project, session)
        if earlier_calls is None:  # the bank cannot be read
            return False
        if _may_complete([*earlier_calls, *_spooled(bank, session)], tool, arguments):
            return False
    if _may_have_failed(record):
        output = record["error"] or record["result"]
        if may_be_corrected(bank, project, tool, text, output):
            return False
    return append(bank, record, most=END_CHARS)


def _spooled(bank: str, session: str) -> list[dict[str, Any]]:
    """Return the calls of a session in the spool, in the form in which the bank keeps them."""
    from mcp_reflect.storage.spool import waiting  # noqa: PLC0415 - it imports the redaction

    calls = (call for call in waiting(bank) if call.get("session") == session)
    return [{**call, "says_no": _may_have_failed(call)} for call in calls]


def _may_complete(before: list[dict[str, Any]], tool: str, arguments: Any) -> bool:
    """Return whether a call that worked may be what an earlier one failed at; `sessions.noticing` decides.

    An earlier call counts if its answer said no and it has not worked since.
    """
    recent = before[-_LOOK_BACK:]
    worked = [call.get("arguments") for call in recent if not call.get("says_no")]
    for call in recent:
        is_failing = call.get("says_no") and call.get("arguments") not in worked
        if is_failing and _may_do_the_same(call, tool, arguments):
            return True
    return False


def _may_do_the_same(earlier: dict[str, Any], tool: str, arguments: Any) -> bool:
    """Return whether two calls may do the same: `git push` and `git push -u` share a word of their commands.

    Where one of them has no command, they share their tool or their file.
    """
    earlier_arguments = earlier.get("arguments")
    earlier_words, words = _words(earlier_arguments), _words(arguments)
    if earlier_words and words:
        return not set(words).isdisjoint(earlier_words)
    if earlier.get("tool") == tool:
        return True
    file = _file(arguments)
    return file != "" and file == _file(earlier_arguments)


def _file(arguments: Any) -> str:
    """Return the file that a call is about, empty without one."""
    fields = _fields(arguments)
    return str(fields.get("file_path") or fields.get("path") or "")


def _fields(value: Any) -> dict[str, Any]:
    """Return the named values of what a host or another process wrote; none if it wrote anything else."""
    if not isinstance(value, dict):
        return {}
    return cast("dict[str, Any]", value)


def _may_have_failed(call: dict[str, Any]) -> bool:
    """Return whether a call failed or may have: an error, no output, or a word of failure in its first or last lines."""
    text = call["result"].strip()
    if call["error"] is not None or not text:
        return True
    first_lines = text[:_OPENING].split("\n", 2)[:2]
    last_lines = text[-_OPENING:].rsplit("\n", 3)[-3:]
    return _WORDS_OF_FAILURE.search("\n".join((*first_lines, *last_lines))) is not None


def _words(arguments: Any) -> list[str]:
    """Return the words of a shell's command from its program on: `npm test` of `CI=1 sudo npm test`.

    There are none for a call of another tool.
    """
    command = _fields(arguments).get("command")
    if not isinstance(command, str):
        return []
    words = command[:_MOST_CHARS].split()
    for index, word in enumerate(words):
        if "=" not in word and word not in _BEFORE_PROGRAM:
            return words[index : index + _MOST_WORDS]
    return words[:_MOST_WORDS]
