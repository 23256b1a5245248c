"""Why a failing call later worked, where the run shows it for certain.

A remedy is a lesson that a reader of the run would agree with. Each rule below reads one kind of proof: an edit
tool's own error and the edit that then worked, a directory that was listed, a user's reason for a refusal, a command
or an argument that differs in one telling place, a step that changed state between two equal calls. What no rule
reads for certain stays a finding, for a person or a model to write from.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mcp_reflect.analysis.call_results import Tried
from mcp_reflect.analysis.command_differences import (
    NO_QUESTIONS,
    NOT_THERE,
    PREPARES,
    SHOWN_COMMAND,
    SHOWN_VALUE,
    Difference,
    difference,
    is_absolute,
    is_short,
)
from mcp_reflect.analysis.related_calls import changes_between, mistyped, points_at, suggested
from mcp_reflect.analysis.shell import commands_in, head_of, segments
from mcp_reflect.analysis.text import call_text, pattern, quote, sentence, subject_only, without_own_values, word_set
from mcp_reflect.analysis.tools import (
    Kind,
    command_of,
    file_of,
    is_own_tool,
    is_shell,
    kind_of,
    may_change,
    tool_words,
)
from mcp_reflect.models.run import Change, ErrorCategory

HORIZON = 12  # later calls in which the proof must come
MAX_STEPS = 2  # steps between two equal calls that can be named as what made the difference

# Failures that pass by themselves, or that are what was asked for: nothing follows from their end.
_TEACHES_NOTHING = frozenset({ErrorCategory.RATE_LIMIT, ErrorCategory.ASSERTION, ErrorCategory.NO_RESULT})
_STOPPED = re.compile(
    r"(?i)user doesn't want to proceed|command aborted|interrupted by (?:the )?user|operation was cancell?ed"
    r"|haven't granted|request(?:ed)? permissions?|user (?:rejected|denied|declined|cancell?ed)"
)
_PROBES = frozenset(("which", "command", "type", "test", "["))
_PROBING = re.compile(r"(?:^|\s)(?:--help|--version|-V|--check|--dry-run)(?:\s|$)|\|\|\s*(?:true|echo|:)")
_NO_WORK = re.compile(
    r"(?i)\bnot done\b|\b0 (?:rows|results?|passed|selected|tests?|files?|matches|items|records)\b|no tests ran"
    r"|nothing to (?:do|commit|install|migrate)|no (?:results?|matches|rows) (?:found|returned)"
)
_REASON = re.compile(r"(?i)(?:reason for the rejection|user feedback|the user said):\s*(\S[^\n]{1,200})")
_PREFERENCE = re.compile(r"(?i)^\W{0,2}(?:please )?(?:use|don't|do not|never|always|prefer|avoid)\b|\binstead\b")

# What hides a failure is not a correction of it.
_SUPPRESSES = re.compile(
    r"(?i)continue-on-error|allow[_-]failure|--no-verify|--force\b|--legacy-peer-deps|\|\|\s*(?:true|:)|skip[_-]|ignore"
    r"|noqa|\bdisabled?\b|--no-check"
)
_EDITS = word_set("edit write replace patch multiedit create insert update str")
_LISTS = word_set("glob ls list dir tree find")
_READ_FIRST = re.compile(
    r"(?i)has not been read|read (?:it|the file) (?:first|before)|modified since (?:it was )?(?:last )?read"
)
_NOT_IN_FILE = pattern(
    r"""
    (?i)string to replace not found|could not find the exact text|did not appear verbatim|no replacement was performed
    |\b0 occurrences found|failed to find (?:expected lines|context)|invalid context|search block .{0,40}not
    |does not match (?:any|the) (?:text|content)|no match(?:es)? (?:was |were )?found for (?:old|search)"""
)
_OFTEN_IN_FILE = pattern(
    r"""
    (?i)found \d+ (?:matches|occurrences)|multiple (?:matches|occurrences)|expected 1 occurrence|is not unique
    |appears (?:\d+|multiple) times|must be unique"""
)

_FOLDERS = frozenset(("workdir", "cwd", "dir_path", "directory"))
_UNCONFINED = frozenset(("with_escalated_permissions", "sandbox_permissions", "dangerouslyDisableSandbox"))
_CONFIGURATION = re.compile(
    r"(?i)(?:^|/)(?:\.[\w.-]+|[\w.-]+\.(?:toml|ini|cfg|conf|ya?ml|env|properties)|dockerfile|makefile|package\.json"
    r"|tsconfig[\w.-]*\.json|[\w.-]*config\.(?:js|ts|json|mjs|cjs)|settings\.json|requirements[\w.-]*\.txt)$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What fails where, what to do instead, and the call that proves it.

    `symptom` is the error's line where that is not the fault's headline; `steps` are the calls that made it work.
    """

    mistake: str
    correction: str
    worked: Tried
    confidence: float
    symptom: str | None = None
    changes: tuple[Change, ...] = ()
    steps: tuple[Tried, ...] = ()


def remedy_for(tried: Sequence[Tried], failed: Tried) -> Remedy | None:
    """The remedy of a failing call, or None where the run does not show one for certain."""
    fault = failed.fault
    if (
        fault is None
        or not failed.call.made
        or not failed.call.tool
        or is_own_tool(failed.call.tool, failed.call.arguments)
    ):
        return None
    later = [item for item in tried[failed.index + 1 : failed.index + 1 + HORIZON] if item.call.made]
    if _STOPPED.search(fault.text[:2_000]):
        return _refused(failed, later)
    remedy = _edit(failed, later) or _directory(failed, later) or _unquoted(failed, later)
    if remedy is not None:
        return remedy
    if fault.category is ErrorCategory.TIMEOUT:
        remedy = _command(failed, later)
        return remedy if remedy is not None and any(word in remedy.correction for word in NO_QUESTIONS) else None
    if fault.category in _TEACHES_NOTHING:
        return None
    remedy = _command(failed, later) or _argument(failed, later) or _prepared(tried, failed) or _tool(failed, later)
    return remedy if remedy is not None and _lasted(tried, failed, remedy.worked) else None


def _lasted(tried: Sequence[Tried], failed: Tried, worked: Tried) -> bool:
    """True unless the call failed again later with the same error, or its program failed on what it was run for."""
    after = tried[worked.index + 1 :]
    if any(item.failed and item.exact == worked.exact and item.fingerprint == failed.fingerprint for item in after):
        return False
    program = _named(worked).split(" ")[0]
    return not any(item.fault and not item.fault.empty and _named(item).split(" ")[0] == program for item in after[:2])


def _did_work(item: Tried) -> bool:
    """True for a call that worked and whose answer holds something other than that nothing was done."""
    answer = item.call.answer.strip()
    return item.worked and answer not in ("", "(empty)") and not _NO_WORK.search(answer[:2_000])


# Errors of the tools with which agents edit and read files.


_EDIT_ERRORS = (
    (
        _OFTEN_IN_FILE,
        False,
        "`{tool}` with text that occurs more than once in the file is refused.",
        "Include more context (the neighbouring lines), so that the text is unique.",
    ),
    (
        _READ_FIRST,
        True,
        "`{tool}` on a file that was not read in this session, or that changed since, is refused.",
        "Read the file first; then the same edit works.",
    ),
    (
        _NOT_IN_FILE,
        True,
        "`{tool}` with text that is not exactly in the file (from memory, or from before it changed) is refused.",
        "Read those lines of the file again and copy their exact text, then edit.",
    ),
)
"""The error, whether the file must have been looked at before the edit that worked, mistake and correction."""


def _edit(failed: Tried, later: Sequence[Tried]) -> Remedy | None:
    """An edit that its tool refused, and the edit of the same file that worked."""
    file, error = _edited(failed), failed.fault.text[:2_000] if failed.fault else ""
    place = next((at for at, item in enumerate(later) if item.worked and file and _edited(item) == file), None)
    if file is None or place is None:
        return None
    worked = later[place]
    looked = any(item.worked and _reads(item, file) for item in later[:place])
    for words, must_look, mistake, correction in _EDIT_ERRORS:
        match = words.search(error)
        if match and (looked or not must_look):
            return Remedy(
                mistake=mistake.format(tool=failed.call.tool),
                correction=correction if must_look else _unique(failed, worked, correction),
                worked=worked,
                confidence=0.9,
                symptom=_line_at(error, match.start()),
            )
    return None


def _edited(item: Tried) -> str | None:
    """The name of the file that a call edits."""
    arguments, file = item.call.arguments, file_of(item.call.arguments)
    viewed = isinstance(arguments, dict) and arguments.get("command") == "view"
    edits = tool_words(item.call.tool) & _EDITS or "*** Begin Patch" in (command_of(arguments) or "")[:400]
    return _base(file) if file and edits and not viewed else None


def _reads(item: Tried, name: str) -> bool:
    """True for a call that looked into the file of that name."""
    command = command_of(item.call.arguments) if is_shell(item.call.tool) else None
    if command is not None:
        return name in command
    file = file_of(item.call.arguments)
    return file is not None and _base(file) == name and _edited(item) is None


def _unique(failed: Tried, worked: Tried, correction: str) -> str:
    before, after = failed.call.arguments, worked.call.arguments
    names = ("replace_all", "expected_replacements", "allow_multiple")
    everywhere = next((name for name in names if isinstance(after, dict) and after.get(name)), None)
    if everywhere:
        return f"Set `{everywhere}` where every place is meant."
    many = isinstance(before, dict) and "edits" in before
    return correction.replace("Include", "Make single edits, each with") if many else correction


def _base(file: str) -> str:
    return re.split(r"[/\\]", file.rstrip("/\\"))[-1]


def _line_at(text: str, place: int) -> str:
    """The line of a text at a place, without the tags of a host around it."""
    line = text[text.rfind("\n", 0, place) + 1 :].split("\n", 1)[0]
    return re.sub(r"</?\w{1,40}>", "", line).strip()


def _directory(failed: Tried, later: Sequence[Tried]) -> Remedy | None:
    """A directory that was read as a file, and then listed."""
    error = failed.fault.text[:500] if failed.fault else ""
    file = file_of(failed.call.arguments)
    if file is None or is_shell(failed.call.tool) or not re.search(r"EISDIR|(?i:is a directory)", error):
        return None
    listed = next((item for item in later[:6] if item.worked and _lists(item)), None)
    return listed and Remedy(
        mistake=f"`{failed.call.tool}` on a directory fails: it reads files only.",
        correction=f"List the directory first (`{_named(listed)}`), then read the files in it.",
        worked=listed,
        confidence=0.9,
    )


def _lists(item: Tried) -> bool:
    if is_shell(item.call.tool):
        return head_of(commands_in(command_of(item.call.arguments) or "")).split(" ")[0] in _LISTS
    return bool(tool_words(item.call.tool) & _LISTS)


def _named(item: Tried) -> str:
    """The tool, or the program that a shell ran."""
    command = command_of(item.call.arguments) if is_shell(item.call.tool) else None
    return head_of(commands_in(command)) if command else item.call.tool


def _refused(failed: Tried, later: Sequence[Tried]) -> Remedy | None:
    """A call that the user refused with a preference, and the call that then followed it."""
    match = _REASON.search(failed.fault.text[:2_000]) if failed.fault else None
    if match is None or "?" in match[1] or not _PREFERENCE.search(match[1]):
        return None
    wanted = set(re.findall(r"[\w.-]{3,}", match[1].lower()))
    before = set(re.findall(r"[\w.-]{3,}", str(failed.call.arguments).lower()))
    for item in later[:6]:
        now = set(re.findall(r"[\w.-]{3,}", str(item.call.arguments).lower()))
        if item.worked and item.call.tool == failed.call.tool and wanted & (now - before):
            reason = match[1].strip().rstrip(".")
            return Remedy(
                mistake=f"The user refused {_shown(failed)}.",
                correction=f"{reason[:1].upper()}{reason[1:]}: {_shown(item)} was accepted.",
                worked=item,
                confidence=0.9,
                symptom=f"the user's reason: {reason}",
            )
    return None


# Commands of a shell that differ in one place.


def _command(failed: Tried, later: Sequence[Tried]) -> Remedy | None:
    """The same command with one telling difference: its folder, environment, program, option or quotation marks."""
    first = command_of(failed.call.arguments)
    if first is None or not is_shell(failed.call.tool) or _PROBING.search(first):
        return None
    for item in later:
        second = command_of(item.call.arguments)
        if second is None or not is_shell(item.call.tool) or not _did_work(item):
            continue
        changes = changes_between(failed.call.arguments, item.call.arguments)
        error = failed.fault.text[:3_000] if failed.fault else ""
        found = difference(first, second, error) if first != second else _run_otherwise(changes, error)
        if found is not None:
            mistake = found.mistake or _failed(failed)
            return Remedy(mistake=mistake, correction=found.correction, worked=item, confidence=0.9, changes=changes)
    return None


def _run_otherwise(changes: Sequence[Change], error: str) -> Difference | None:
    """The correction where the same command was run in another folder, or outside of a sandbox."""
    for change in changes:
        if change.path in _FOLDERS and NOT_THERE.search(error):
            return Difference(correction=f"Set `{change.path}` to the project's folder.")
        if change.path in _UNCONFINED and change.after not in (None, False, "use_default"):
            correction = f"Run it with `{change.path}` = {quote(change.after)}: the sandbox refuses it."
            return Difference(correction=correction)
    return None


# Arguments of other tools.


def _argument(failed: Tried, later: Sequence[Tried]) -> Remedy | None:
    """The same call with one or two arguments changed that the error names, or that the tool proposed."""
    kind, before = kind_of(failed.call.tool, failed.call.arguments), failed.call.arguments
    if is_shell(failed.call.tool) or not isinstance(before, dict) or _edited(failed):
        return None
    error = (failed.fault.text if failed.fault else "")[:3_000].casefold()
    for item in later:
        if item.call.tool != failed.call.tool or not _did_work(item):
            continue
        changes = changes_between(before, item.call.arguments)
        if not 0 < len(changes) <= 2 or len(changes) >= max(2, len(before) + 1):
            continue
        if _absolute(changes, error):
            told = "send the absolute path"
        elif _slip(changes, error):
            told = _sent(changes[0])
        elif (kind is Kind.READ and not all(change.added for change in changes)) or kind is Kind.SEARCH:
            continue
        elif all(_proved(failed, change, error) for change in changes):
            told = ", and ".join(_sent(change) for change in changes)
        else:
            continue
        correction = f"{told[:1].upper()}{told[1:]}."
        mistake = _failed(failed, changes)
        return Remedy(mistake=mistake, correction=correction, worked=item, confidence=0.9, changes=changes)
    return None


def _unquoted(failed: Tried, later: Sequence[Tried]) -> Remedy | None:
    """A search that found something once its quotation marks were left out."""
    first = subject_only(failed.call.arguments)
    if kind_of(failed.call.tool, failed.call.arguments) is not Kind.SEARCH or not isinstance(first, str):
        return None
    for item in later:
        if (
            item.call.tool == failed.call.tool
            and _did_work(item)
            and subject_only(item.call.arguments) == first.strip("\"'")
        ):
            mistake = f"`{failed.call.tool}` with the query in quotation marks found nothing."
            correction = "Leave out the quotation marks."
            changes = changes_between(failed.call.arguments, item.call.arguments)
            return Remedy(mistake=mistake, correction=correction, worked=item, confidence=0.9, changes=changes)
    return None


def _tool(failed: Tried, later: Sequence[Tried]) -> Remedy | None:
    """The very next call sent the same arguments to another tool and worked: the tool was what was wrong."""
    same = [item for item in later[:1] if item.call.arguments == failed.call.arguments]
    passes = failed.fault is None or failed.fault.category in (ErrorCategory.NETWORK, ErrorCategory.PERMISSION)
    if not same or passes or not failed.call.arguments or not _did_work(same[0]):
        return None
    tool, other = failed.call.tool, same[0].call.tool
    if tool == other:
        return None
    correction = f"Use `{other}` instead of `{tool}`."
    return Remedy(mistake=_failed(failed), correction=correction, worked=same[0], confidence=0.8)


def _proved(failed: Tried, change: Change, error: str) -> bool:
    """True where the error names the argument or its value, and both values can stand in a lesson."""
    if any(isinstance(value, dict | list) for value in (change.before, change.after)):
        return False
    if not change.added and max(len(str(change.before)), len(str(change.after))) > SHOWN_VALUE:
        return False
    if isinstance(change.after, str) and suggested(change.after, failed):
        return True
    if change.added or change.removed:
        return points_at(replace(change, before=None, after=None), error)
    about_thing = failed.fault is not None and failed.fault.category is ErrorCategory.NOT_FOUND
    return not about_thing and points_at(change, error)


def _absolute(changes: Sequence[Change], error: str) -> bool:
    """True where the one change is a relative path that became an absolute one, after an error about it."""
    if len(changes) != 1 or not isinstance(changes[0].before, str) or not isinstance(changes[0].after, str):
        return False
    return is_absolute(changes[0].before, changes[0].after) and bool(NOT_THERE.search(error) or "absolute" in error)


def _slip(changes: Sequence[Change], error: str) -> bool:
    """True where one short name that was not found was sent again with one or two letters changed."""
    before, after = changes[0].before, changes[0].after
    if len(changes) != 1 or not isinstance(before, str) or not isinstance(after, str):
        return False
    return len(after) <= SHOWN_VALUE and bool(NOT_THERE.search(error)) and mistyped(before.casefold(), after.casefold())


def _sent(change: Change) -> str:
    if change.removed:
        return f"leave out `{change.path}`"
    if change.added and len(str(change.after)) > SHOWN_VALUE:
        return f"send `{change.path}` too"
    return f"send `{change.path or 'the argument'}` = {quote(change.after)}"


# Steps between two equal calls.


def _prepared(tried: Sequence[Tried], failed: Tried) -> Remedy | None:
    """The same call worked after one or two steps that changed the state in which it runs, and no other change."""
    worked = next((item for item in tried[failed.index + 1 : failed.index + 31] if item.exact == failed.exact), None)
    probes = is_shell(failed.call.tool) and _named(failed).split(" ")[0] in _PROBES
    if worked is None or not _did_work(worked) or probes:
        return None
    steps = list(_changing(tried[failed.index + 1 : worked.index]))
    told = [_step(item) for item in steps]
    if not 0 < len(steps) <= MAX_STEPS or not all(told):
        return None
    first = ", then ".join(text for text in told if text)
    return Remedy(
        mistake=_failed(failed),
        correction=f"First {first}; then the same call works.",
        worked=worked,
        confidence=0.8,
        steps=tuple(steps),
    )


def _changing(between: Sequence[Tried]) -> Iterator[Tried]:
    """The calls that worked and may have changed something."""
    for item in between:
        call = item.call
        if (
            item.worked
            and may_change(call.tool, call.arguments)
            and kind_of(call.tool, call.arguments) is not Kind.READ
        ):
            yield item


def _step(item: Tried) -> str | None:
    """A step in words; None where it is not one that prepares others, or too long to be told."""
    command = command_of(item.call.arguments) if is_shell(item.call.tool) else None
    if command is not None:
        words = [word for part in segments(command) for word in part[:4]]
        prepares = (
            any(word.lower() in PREPARES for word in words) and is_short(command) and not _SUPPRESSES.search(command)
        )
        return f"run `{without_own_values(command)}`" if prepares else None
    file = file_of(item.call.arguments)
    if file is not None and tool_words(item.call.tool) & _EDITS:
        return _configured(item, file)
    prepares = bool(tool_words(item.call.tool) & PREPARES)
    text = call_text(item.call.tool, item.call.arguments, SHOWN_COMMAND)
    return f"call `{text}`" if prepares and " ... " not in text else None


def _configured(item: Tried, file: str) -> str | None:
    """An edit of configuration in words, with what was written; an edit of anything else is not a correction."""
    arguments = item.call.arguments if isinstance(item.call.arguments, dict) else {}
    new = next((arguments[key] for key in ("new_string", "newText", "new_str", "content") if arguments.get(key)), None)
    old = next((arguments[key] for key in ("old_string", "oldText", "old_str") if arguments.get(key)), "")
    if not _CONFIGURATION.search(file) or not isinstance(new, str) or not isinstance(old, str):
        return None
    if _SUPPRESSES.search(new) and not _SUPPRESSES.search(old):
        return None
    lines = [line.strip() for line in new.split("\n") if line.strip() and line not in old.split("\n")]
    written = "; ".join(lines)
    name = _base(file)
    return f"write `{written}` into {name}" if written and len(written) <= SHOWN_COMMAND else None


# Calls and errors in words.


_SHELL_SAYS = re.compile(r"^(?:/bin/)?(?:ba|z|da)?sh: (?:line )?(?:\d+: )?|^\(eval\):(?:\w+:)?\d+: |^</?\w{1,40}>")


def _failed(failed: Tried, changes: Sequence[Change] = ()) -> str:
    """What failed and how: "`pytest` failed: pytest: command not found."."""
    error = sentence(_SHELL_SAYS.sub("", failed.fault.headline if failed.fault else ""), 160).rstrip(".")
    sent = ", ".join(
        f"`{change.path}` = {quote(change.before)}" for change in changes if change.path and not change.added
    )
    what = f"`{failed.call.tool}` with {sent}" if sent else _shown(failed)
    return f"{what} failed: {error}."


def _shown(item: Tried) -> str:
    """A call as it stands in a lesson: a short command in full, else by what it runs; another tool by its name."""
    command = command_of(item.call.arguments) if is_shell(item.call.tool) else None
    if command is None:
        return f"`{item.call.tool}`"
    return f"`{without_own_values(command) if is_short(command) else head_of(commands_in(command)) or item.call.tool}`"
