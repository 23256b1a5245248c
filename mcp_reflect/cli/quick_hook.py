"""The first part of a hook, which ends at once if there is nothing to say about a call; this is nearly always so.

Before a call it looks in the bank for failures and guards that may apply. After a call it leaves the call in the spool,
for a later process to record, unless the call may correct a failure of this session, or its own failure may have a
known correction. `cli.hook` does everything else. This module imports only what it needs, because a host starts it
twice per call.
"""

import _thread
import json
import os
import sys
from contextlib import suppress
from time import monotonic
from typing import Any, Final, cast

from mcp_reflect.moments.payload import (
    child_prompt,
    error_of,
    output_ends,
    refusal,
    result_of,
    session_of,
    text_of,
    unpacked,
    was_only_started,
)
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.places import BANK, GUARDS, NESTED, PROJECT, bank_file, filled_in_name

MAX_SECONDS: Final = 3.0
"""The process ends after this time, whatever it waits for."""

MAX_TEAM_SECONDS: Final = 0.75
"""The same where it asks a team's service, and from when it is loaded where the bank is on a server."""

_GRACE: Final = 1.5  # seconds in which what was not noted is kept
_LATE_INPUT: Final = 1.0  # seconds more for a host that is slow to say what it asks about
_MOST_BYTES: Final = 1 << 26  # of the input; `Settings.max_hook_bytes` is less
_MOST_CHARS: Final = 12_000  # of arguments in the spool
_END_CHARS: Final = 6_000  # of an output in the spool, at either end
_SECRET_CHARS: Final = 4_000  # more, so that a secret at the cut is whole when it is looked for
_OPENING: Final = 600  # characters of an output, at either end, in which an error would stand
_LOOK_BACK: Final = 30  # calls of a session that a call may complete
_MOST_WORDS: Final = 20  # of a command that are compared
_BEFORE_PROGRAM: Final = ("sudo", "cd", "&&")
# Settings that a hook takes as options, because shells differ in how they set a variable for one command.
_VARIABLES: Final = {"project": PROJECT, "bank": BANK, "distil": "MCP_REFLECT_LLM"}
_DELIVER: Final = "deliver"  # stands for an event: send a team's service what hooks could not send
_BEFORE: Final = ("PreToolUse", "BeforeTool", "preToolUse")
_AFTER: Final = (
    "PostToolUse",
    "AfterTool",
    "postToolUse",
    "PostToolUseFailure",
    "postToolUseFailure",
)
UNCHECKED: Final = (
    "mcp-reflect: this call may go against lesson {}, which a person enforces, and it could not be checked: "
    "the machine is slow, or the bank does not answer. It was not made. Make it again; if this stays, ask the person to "
    "run `mcp-reflect doctor`."
)
"""What is said where a call could not be checked, with the id of the lesson."""

_HELP: Final = """\
usage: mcp-reflect hook [--project=NAME] [--bank=FILE] [--distil=PROGRAM] [EVENT]
       mcp-reflect hook --url=URL [--token-env=NAME] [--project=NAME] [EVENT]

Answers a host's hook input, which stdin has (docs/hooks.md). `mcp-reflect install HOST --hooks` registers it.

example: echo '{"session_id": "s", "prompt": "deploy"}' | mcp-reflect hook UserPromptSubmit
"""
# What the first or last lines of an output may have that reads as a failure, or that says that there is nothing. This
# only says where `sessions.calls` has to be asked, which judges it.
_SIGNS: Final = lazy_compile(
    r"(?i)err|fail|exception|expired|time.?out|timed out|interrupt|exit|panic|fatal|fault|denied|refused|forbidden"
    r"|n't |\bnot? |cannot|unable|unknown|invalid|missing|usage:|abort|kill|conflict|reject|reset|too many"
    r"|unavailable|quota|exceed|nothing|empty|\b0 \w|return ?code|status|http"
)


def run_hook(arguments: list[str]) -> int:
    """Answer one event. It prints nothing if there is nothing to say, or if we fail: the host's work continues."""
    if arguments[:1] in (["-h"], ["--help"]):
        sys.stdout.write(_HELP)
        return 0
    if os.environ.get(NESTED):
        return 0
    # argparse would end the process for an unknown argument.
    options = dict(
        word[2:].split("=", 1) for word in arguments if word.startswith("--") and "=" in word
    )
    events = [word for word in arguments if not word.startswith("--")]
    os.environ.update(
        {_VARIABLES[name]: text for name, text in options.items() if text and name in _VARIABLES}
    )
    if _DELIVER in events:
        from mcp_reflect.cli.hook import deliver  # noqa: PLC0415 - it runs beside hooks

        deliver(options)
        return 0
    seconds = MAX_SECONDS
    if "url" in options:
        seconds = MAX_TEAM_SECONDS
    watch = Watch(seconds)
    try:
        payload = sys.stdin.buffer.read()
        sent: dict[str, Any] = {}
        if 0 < len(payload) <= _MOST_BYTES:
            sent = _fields(json.loads(payload))
        event: Any = next(iter(events), sent.get("hook_event_name"))
        if event in _AFTER and "url" not in options:
            watch.at_end = lambda: _leave(event, sent)
        if event in _BEFORE:
            watch.unchecked = lambda: _unchecked(event, sent, options)
        watch.has_input()
        if sent and not _finish_call(event, sent, options):
            from mcp_reflect.cli.hook import answer_event  # noqa: PLC0415 - what is heavy, only where it is needed

            answer_event(event, sent, len(payload), options, watch)
    except Exception:  # noqa: BLE001 - the outermost handler: our failure must not become the host's
        watch.give_up()
    finally:
        watch.end()
    return 0


class Watch:
    """Ends the process after some seconds, and keeps what `at_end` has to keep; `end` calls it off.

    A thread alone would wait as long as a call into C holds the interpreter: the second limit does not. Who gives up
    without an answer prints what `unchecked` returns: a call that a person's enforced guard may meet does not pass
    because the machine is slow, or the bank is locked.
    """

    def __init__(self, seconds: float) -> None:
        import faulthandler  # noqa: PLC0415 - a module of the interpreter itself

        self.at_end: Any = None
        self.unchecked: Any = None
        self.began = monotonic()
        self._running = _thread.allocate_lock()
        self._running.acquire()
        self._reading = _thread.allocate_lock()
        self._reading.acquire()
        self._answering = _thread.allocate_lock()
        self._is_answered = False
        self._nowhere = open(os.devnull, "w")  # noqa: PTH123, SIM115 - open until the end
        faulthandler.dump_traceback_later(seconds + _GRACE, exit=True, file=self._nowhere)
        _thread.start_new_thread(self._wait, (seconds,))

    def within(self, seconds: float) -> None:
        """End the process after `seconds` from now, where that is sooner."""
        _thread.start_new_thread(self._wait, (seconds,))

    def has_input(self) -> None:
        """Say that the host's input is read, and what is to be done at the end is known."""
        self._reading.release()

    def answer(self, answer: dict[str, Any] | None) -> None:
        """Print the answer to the host, in ASCII, whatever the console's encoding; only the first one counts.

        None is an answer as well: nothing is to be said. After it, a watch that runs out while the hook tidies up prints
        no refusal of a call that was allowed.
        """
        with self._answering:
            if answer and not self._is_answered:
                sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()
            self._is_answered = True

    def give_up(self) -> None:
        """Answer what is said of a call that nobody could check."""
        with suppress(Exception):
            if self.unchecked is not None and not self._is_answered:
                self.answer(self.unchecked())

    def _wait(self, seconds: float) -> None:
        if self._running.acquire(timeout=seconds):
            self._running.release()  # another thread may wait for the end as well
            return
        self._reading.acquire(timeout=_LATE_INPUT)
        self.give_up()
        with suppress(Exception):
            if self.at_end is not None:
                self.at_end()
        os._exit(0)

    def end(self) -> None:
        import faulthandler  # noqa: PLC0415 - see above

        self.answer(None)
        faulthandler.cancel_dump_traceback_later()
        self._running.release()
        self._nowhere.close()


def _unchecked(event: str, sent: dict[str, Any], options: dict[str, str]) -> dict[str, Any] | None:
    """Return the refusal of a call that may go against a lesson which a person enforces; None where no guard may.

    The words of the call are compared with the names of the guards, as the bank's file has them: that needs no time.
    Of a bank elsewhere this machine keeps the guards themselves.
    """
    if "url" in options or bank_file(os.environ.get(BANK)) is None:
        return _unanswered(event, sent, options)
    from mcp_reflect.storage.spool import folder_key, project_in  # noqa: PLC0415 - calls alone need it
    from mcp_reflect.storage.sqlite.hook_reader import enforced_by_name  # noqa: PLC0415 - the same

    tool, folder, bank = sent.get("tool_name"), sent.get("cwd"), bank_file(os.environ.get(BANK))
    if bank is None or not isinstance(tool, str) or os.environ.get(GUARDS) == "off":
        return None
    project = os.environ.get(PROJECT)
    if project is None and isinstance(folder, str):
        project = project_in(bank, folder_key(folder))
    text = json.dumps(unpacked(sent.get("tool_input")), ensure_ascii=False)
    for escape in (r"\n", r"\t", r"\r"):  # a word begins after them
        text = text.replace(escape, " ")
    lesson = enforced_by_name(bank, project, tool, text)
    return None if lesson is None else refusal(event, UNCHECKED.format(lesson))


def _unanswered(event: str, sent: dict[str, Any], options: dict[str, str]) -> dict[str, Any] | None:
    """Return the refusal of a call that the bank elsewhere did not answer, by the guards that this machine keeps."""
    from mcp_reflect.cli.kept_guards import kept_file, refusal_text  # noqa: PLC0415 - a bank elsewhere alone needs it

    tool, folder = sent.get("tool_name"), sent.get("cwd")
    file = kept_file(options.get("url"), folder if isinstance(folder, str) else None)
    if file is None or not isinstance(tool, str):
        return None
    text = refusal_text(file, tool, unpacked(sent.get("tool_input")))
    return None if text is None else refusal(event, text)


def _finish_call(event: object, sent: dict[str, Any], options: dict[str, str]) -> bool:
    """Do what a call needs if that is little, and return whether it was; False leaves the event to `cli.hook`.

    Before a call there is nothing to do where the bank knows nothing of it. After a call that nothing is to be said of,
    this writes the call into the spool. What is no call of a known project, or what a team's service answers, is left.
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
    """True for a call of a tool in a session of this machine that begins no agent: of such a call the bank decides."""
    if child_prompt(event, sent) is not None:
        return False
    session, tool = sent.get("session_id"), sent.get("tool_name")
    has_names = isinstance(session, str) and session and isinstance(tool, str) and tool
    return bool(has_names) and "url" not in options and event in (*_BEFORE, *_AFTER)


def _project_of(bank: str, sent: dict[str, Any]) -> str | None:
    """Return the project of a call, as a setting or an earlier hook has it; None where finding it takes more than that."""
    from mcp_reflect.storage.spool import folder_key, project_in  # noqa: PLC0415 - calls alone need it

    named = os.environ.get(PROJECT)
    if named is not None:
        has_variables = filled_in_name(named) != named
        return None if has_variables else named
    folder = sent.get("cwd")
    if not isinstance(folder, str):
        return None
    return project_in(bank, folder_key(folder))


def _is_allowed(bank: str, project: str, sent: dict[str, Any]) -> bool:
    from mcp_reflect.storage.sqlite.hook_reader import may_be_known  # noqa: PLC0415 - calls alone need it

    given = unpacked(sent.get("tool_input"))
    return not may_be_known(
        bank, project, sent["tool_name"], given, json.dumps(given, ensure_ascii=False)
    )


def _put_into_spool(event: str, bank: str, project: str, sent: dict[str, Any]) -> bool:
    """Put a call into the spool if there is nothing to say about it; return whether this was done.

    Something may be to say of a call that worked where an earlier one failed, and of one that failed as a known one did.
    """
    from mcp_reflect.storage.spool import append  # noqa: PLC0415 - it imports the redaction
    from mcp_reflect.storage.sqlite.hook_reader import calls_of, may_be_corrected  # noqa: PLC0415 - calls alone need it

    record = _record(event, sent, project)
    tool, words = record["tool"], json.dumps(record["arguments"], ensure_ascii=False)
    if len(words) > _MOST_CHARS:
        return False
    if record["error"] is None:
        noted = calls_of(bank, project, record["session"])
        if noted is None or _may_complete(
            [*noted, *_spooled(bank, record["session"])], tool, record["arguments"]
        ):
            return False
    if _may_have_failed(record) and may_be_corrected(
        bank, project, tool, words, record["error"] or record["result"]
    ):
        return False
    return append(bank, record, most=_END_CHARS)


def _record(event: str, sent: dict[str, Any], project: str | None) -> dict[str, Any]:
    error, result = error_of(event, sent), text_of(result_of(sent))
    most = _END_CHARS + _SECRET_CHARS
    return {
        "tool": sent.get("tool_name"),
        "arguments": unpacked(sent.get("tool_input")),
        "result": output_ends(result, most),
        "error": error and output_ends(error, most),
        "session": session_of(sent),
        "project": project,
    }


def _spooled(bank: str, session: str) -> list[dict[str, Any]]:
    """Return the calls of a session in the spool, in the form in which the bank keeps them."""
    from mcp_reflect.storage.spool import waiting  # noqa: PLC0415 - it imports the redaction

    calls = (call for call in waiting(bank) if call.get("session") == session)
    return [{**call, "says_no": _may_have_failed(call)} for call in calls]


def _may_complete(before: list[dict[str, Any]], tool: str, arguments: Any) -> bool:
    """Return whether a call that worked may be what an earlier one failed at; `sessions.noticing` decides.

    An earlier call counts if its answer said no and it has not worked since.
    """
    asked = {*_words(arguments)}
    recent = before[-_LOOK_BACK:]
    worked = [call.get("arguments") for call in recent if not call.get("says_no")]
    return any(
        call.get("says_no")
        and call.get("arguments") not in worked
        and _is_akin(call, tool, arguments, asked)
        for call in recent
    )


def _is_akin(call: dict[str, Any], tool: str, arguments: Any, asked: set[str]) -> bool:
    """Return whether two calls share a word of their commands, a file, or the tool that has neither."""
    given = call.get("arguments")
    words = _words(given)
    if words and asked:
        return not asked.isdisjoint(words)
    return call.get("tool") == tool or _file(given) == _file(arguments) != ""


def _file(given: Any) -> str:
    fields = _fields(given)
    return str(fields.get("file_path") or fields.get("path") or "")


def _fields(given: Any) -> dict[str, Any]:
    """Return the named values of what a host or another process wrote; none if it wrote anything else."""
    if not isinstance(given, dict):
        return {}
    return cast("dict[str, Any]", given)


def _may_have_failed(call: dict[str, Any]) -> bool:
    text = call["result"].strip()
    first, last = text[:_OPENING].split("\n", 2)[:2], text[-_OPENING:].rsplit("\n", 3)[-3:]
    return call["error"] is not None or not text or bool(_SIGNS.search("\n".join((*first, *last))))


def _leave(event: str, sent: dict[str, Any]) -> None:
    from mcp_reflect.storage.spool import append  # noqa: PLC0415 - it imports the redaction

    bank = bank_file(os.environ.get(BANK))
    if bank is not None and not (sent.get("is_interrupt") is True or was_only_started(sent)):
        append(
            bank,
            {**_record(event, sent, os.environ.get(PROJECT)), "folder": sent.get("cwd")},
            most=_END_CHARS,
        )


def _words(given: Any) -> list[str]:
    command = _fields(given).get("command")
    if not isinstance(command, str):
        return []
    words = command[:_MOST_CHARS].split()
    for place, word in enumerate(words):
        if "=" not in word and word not in _BEFORE_PROGRAM:
            return words[place : place + _MOST_WORDS]
    return words[:_MOST_WORDS]
