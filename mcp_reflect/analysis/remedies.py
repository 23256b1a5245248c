"""Why a failing call later worked, where the run shows it for certain.

A remedy is a lesson that a reader of the run would agree with. Each rule below reads one kind of proof: an edit tool's
own error and the edit that then worked, a directory that was listed, a user's reason for a refusal, a command or an
argument that differs in one place that the error explains, a step that changed state between two equal calls. All else
stays a finding, for a person or a model to write from.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from mcp_reflect.analysis.calls import Call
from mcp_reflect.analysis.related_calls import changes_between, mistyped, points_at, suggested
from mcp_reflect.analysis.shell import commands_in, head_of, segments
from mcp_reflect.analysis.text import call_text, pattern, quote, sentence, unique, without_own_values, word_set
from mcp_reflect.analysis.tools import Kind, command_of, file_of, is_shell, kind_of, may_change, tool_words
from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Change, Correction, ErrorCategory

HORIZON: Final = 12  # later calls in which the proof must come
SAME_HORIZON: Final = 30  # later calls in which the same call must work
MAX_STEPS: Final = 2  # steps between two equal calls that can be named as what made the difference
MAX_CORRECTIONS: Final = 5
MAX_KEYWORDS: Final = 8
IMPORTANCE: Final = 0.6  # of a correction, in 0..1
SHOWN_COMMAND: Final = 140  # characters of a command in a lesson; a longer one is named by what it runs
SHOWN_VALUE: Final = 60  # characters of an argument in a lesson; a longer one belongs to its task

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][\w.-]{2,60}")
# Words that say nothing of what a lesson is about.
COMMON_WORDS: Final = word_set("""
    failed does exist could find too many some requirement satisfies version while must expected got named attempting
    error the and not for with was that this from have has are file line most recent call last code none true first
    false instead again then that works same use run read include more
""")
# Failures that pass by themselves, or that are what was asked for: nothing follows from their end.
_TEACHES_NOTHING: Final = frozenset(
    {ErrorCategory.RATE_LIMIT, ErrorCategory.ASSERTION, ErrorCategory.NO_RESULT, ErrorCategory.TIMEOUT}
)
REFUSED: Final = re.compile(
    r"(?i)user doesn't want to proceed|command aborted|interrupted by (?:the )?user|operation was cancell?ed"
    r"|haven't granted|request(?:ed)? permissions?|user (?:rejected|denied|declined|cancell?ed)"
)
REASON: Final = re.compile(r"(?i)(?:reason for the rejection|user feedback|the user said):\s*(\S[^\n]{1,200})")
_PREFERENCE: Final = re.compile(r"(?i)^\W{0,2}(?:please )?(?:use|don't|do not|never|always|prefer|avoid)\b|\binstead\b")
_PROBES: Final = word_set(
    "which command type test [ ls stat ping pgrep lsof grep egrep rg ag find diff cmp curl wget nc dig host ps kill"
)
# Words after a program, of commands that change nothing.
_LOOKS: Final = word_set("cd ls list view show info status outdated why ps images")
_PROBING: Final = re.compile(r"(?:^|\s)(?:--help|--version|-V|--check|--dry-run)(?:\s|$)|\|\|\s*(?:true|echo|:)")
_NO_WORK: Final = re.compile(
    r"(?i)\bnot done\b|\b0 (?:rows|results?|passed|selected|tests?|files?|matches|items|records)\b|no tests ran"
    r"|nothing to (?:do|commit|install|migrate)|no (?:results?|matches|rows) (?:found|returned)"
)
# Hiding a failure does not correct it.
_SUPPRESSES: Final = re.compile(
    r"(?i)continue-on-error|allow[_-]failure|--no-verify|--force\b|--legacy-peer-deps|\|\|\s*(?:true|:)|skip[_-]|ignore"
    r"|noqa|\bdisabled?\b|--no-check"
)
_NOT_THERE: Final = re.compile(
    r"(?i)no such file|not found|no module named|does(?:n't| not) exist|(?:cannot|could not|can't|couldn't) find"
    r"|not a git repository"
)
_EDITS: Final = word_set("edit write replace patch multiedit create insert update str")
_RUNNERS: Final = word_set("sudo doas uv poetry pipenv npx pnpm yarn bundle python python3 pdm rye hatch conda env")
# Words of commands and tools that change the state in which others run.
_PREPARES: Final = word_set("""
    install add sync ci restore i login auth authenticate sso checkout switch pull fetch rebase merge stash submodule
    migrate migration upgrade export use-context update-kubeconfig set-context build rebuild reindex index init setup
    configure config bootstrap generate compile seed refresh up start restart enable register unlock link mkdir chmod
    chown ln source . activate conda nvm eval module workon pyenv use approve grant connect
""")
_CONFIGURATION: Final = re.compile(
    r"(?i)(?:^|/)(?:\.[\w.-]+|[\w.-]+\.(?:toml|ini|cfg|conf|ya?ml|env|properties)|dockerfile|makefile|package\.json"
    r"|tsconfig[\w.-]*\.json|[\w.-]*config\.(?:js|ts|json|mjs|cjs)|settings\.json|requirements[\w.-]*\.txt)$"
)


class Remedy(NamedTuple):
    """What fails, what to do instead, the call that proves it, and the error's line where it is not the headline."""

    mistake: str
    correction: str
    worked: Call
    confidence: float = 0.9
    symptom: str | None = None


def corrections_from(tried: Sequence[Call]) -> tuple[Correction, ...]:
    """The lessons of a run, the surest first; failures with one remedy are one lesson."""
    lessons: dict[tuple[str, str], Correction] = {}
    for failed in tried:
        remedy = _remedy_for(tried, failed)
        if remedy is None:
            continue
        before = lessons.get(remedy[:2])
        category, error = failed.category or ErrorCategory.UNKNOWN, sentence(failed.headline, 200)
        names = [name.strip(".-") for name in _IDENTIFIER.findall(f"{error} {remedy.correction}")]
        telling = [name for name in names if name.lower() not in COMMON_WORDS and len(name) >= 3]
        lessons[remedy[:2]] = Correction(
            failed_event_id=failed.failing_event,
            worked_event_id=remedy.worked.failing_event,
            also=(*before.also, before.failed_event_id) if before else (),
            tool=failed.tool,
            category=category,
            mistake=remedy.mistake,
            correction=remedy.correction,
            symptoms=(sentence(remedy.symptom, 200) if remedy.symptom else error,),
            keywords=unique([failed.tool, category.short, *telling])[:MAX_KEYWORDS],
            importance=IMPORTANCE,
            confidence=remedy.confidence,
        )
    return tuple(sorted(lessons.values(), key=lambda lesson: -lesson.confidence))[:MAX_CORRECTIONS]


def _remedy_for(tried: Sequence[Call], failed: Call) -> Remedy | None:
    """The remedy of a failing call, or None where the run does not show one for certain."""
    fault = failed.fault
    if fault is None or not failed.made or not failed.tool:
        return None
    error = fault.text[:3_000]
    later = [item for item in tried[failed.index + 1 : failed.index + 1 + HORIZON] if item.made]
    if REFUSED.search(error):
        return _refused(failed, later, error)
    remedy = _edit(failed, later, error)
    if remedy is not None or fault.category in _TEACHES_NOTHING:
        return remedy
    changed = _command(failed, later, error) if is_shell(failed.tool) else _argument(failed, later, error)
    if changed is not None and _program_fails(tried[changed.worked.index + 1 :][:2], changed.worked):
        return None
    remedy = changed or _prepared(tried, failed)
    return remedy if remedy is not None and _lasted(tried, failed, remedy.worked) else None


def _lasted(tried: Sequence[Call], failed: Call, worked: Call) -> bool:
    """True unless the call that worked failed again later with the same error."""
    again = (item for item in tried[worked.index + 1 :] if item.failed and item.fingerprint == failed.fingerprint)
    return not any(_is_same(item, worked) for item in again)


def _program_fails(after: Sequence[Call], worked: Call) -> bool:
    """True where the program of a changed call fails right after it: the change may be the cause."""
    program = _head(worked).split(" ")[0]
    return any(item.failed and not item.empty and _head(item).split(" ")[0] == program for item in after)


def _is_same(one: Call, other: Call) -> bool:
    """True for equal calls; commands are equal also where only one is cut by `| tail`."""
    first, second = _shell_command(one), _shell_command(other)
    return one.exact == other.exact or bool(first and second and segments(first) == segments(second))


def _did_work(item: Call) -> bool:
    """True for a call that worked and whose answer says more than that nothing was done."""
    answer = item.answer.strip()
    return item.worked and answer not in ("", "(empty)") and not _NO_WORK.search(answer[:2_000])


# Errors of the tools with which agents edit and read files, and refusals of the user.

_EDIT_ERRORS: Final = (
    (
        pattern(r"""
            (?i)found \d+ (?:matches|occurrences)|multiple (?:matches|occurrences)|expected 1 occurrence|is not unique
            |appears (?:\d+|multiple) times|must be unique"""),
        False,
        "`{tool}` with text that occurs more than once in the file is refused.",
        "Include more context (the neighbouring lines), so that the text is unique.",
    ),
    (
        re.compile(
            r"(?i)has not been read|read (?:it|the file) (?:first|before)|modified since (?:it was )?(?:last )?read"
        ),
        True,
        "`{tool}` on a file that was not read in this session, or that changed since, is refused.",
        "Read the file first; then the same edit works.",
    ),
    (
        pattern(r"""
            (?i)string to replace not found|could not find the exact text|did not appear verbatim
            |no replacement was performed|\b0 occurrences found|failed to find (?:expected lines|context)
            |invalid context|search block .{0,40}not|does not match (?:any|the) (?:text|content)
            |no match(?:es)? (?:was |were )?found for (?:old|search)"""),
        True,
        "`{tool}` with text that is not exactly in the file (from memory, or from before it changed) is refused.",
        "Read those lines of the file again and copy their exact text, then edit.",
    ),
)
"""The error, True where the file must be read before the edit that worked, mistake and correction."""


def _edit(failed: Call, later: Sequence[Call], error: str) -> Remedy | None:
    """An edit that its tool refused, and the edit of the same file that worked."""
    file = _edited(failed)
    place = next((at for at, item in enumerate(later) if item.worked and file and _edited(item) == file), None)
    if file is None or place is None:
        return None
    read = any(item.worked and _reads(item, file) for item in later[:place])
    for words, must_read, mistake, correction in _EDIT_ERRORS:
        match = words.search(error)
        if match is not None and (read or not must_read):
            line = error[error.rfind("\n", 0, match.start()) + 1 :].split("\n", 1)[0]
            symptom = re.sub(r"</?\w{1,40}>", "", line).strip()
            return Remedy(mistake.format(tool=failed.tool), correction, later[place], symptom=symptom)
    return None


def _edited(item: Call) -> str | None:
    """The name of the file that a call edits."""
    arguments, file = item.arguments, file_of(item.arguments)
    viewed = isinstance(arguments, dict) and arguments.get("command") == "view"
    edits = tool_words(item.tool) & _EDITS or "*** Begin Patch" in (command_of(arguments) or "")[:400]
    return _base(file) if file and edits and not viewed else None


def _reads(item: Call, name: str) -> bool:
    """True for a call that read the file of that name."""
    command, file = _shell_command(item), file_of(item.arguments)
    return name in command if command else file is not None and _base(file) == name and _edited(item) is None


def _base(file: str) -> str:
    return re.split(r"[/\\]", file.rstrip("/\\"))[-1]


def _refused(failed: Call, later: Sequence[Call], error: str) -> Remedy | None:
    """A call that the user refused with a preference, and the call that then followed it."""
    match = REASON.search(error)
    if match is None or "?" in match[1] or not _PREFERENCE.search(match[1]):
        return None
    wanted, before = (set(re.findall(r"[\w.-]{3,}", text.lower())) for text in (match[1], str(failed.arguments)))
    for item in later[:6]:
        now = set(re.findall(r"[\w.-]{3,}", str(item.arguments).lower()))
        if item.worked and item.tool == failed.tool and wanted & (now - before):
            reason = match[1].strip().rstrip(".")
            correction = f"{reason[:1].upper()}{reason[1:]}: {_shown(item)} was accepted."
            return Remedy(
                f"The user refused {_shown(failed)}.", correction, item, symptom=f"the user's reason: {reason}"
            )
    return None


# Commands that differ in one place that the error explains.

_KEEPS: Final = "the shell keeps its working folder between calls"
_ALREADY_THERE: Final = (
    "`cd` into a folder of the project failed: the shell was already in it.",
    f"Leave out the `cd`, or use absolute paths: {_KEEPS}.",
)
_ELSEWHERE: Final = (
    "A path relative to the project's root was not found: the shell was in another folder.",
    f"Use the absolute path, or change back to the root: {_KEEPS}.",
)


def _command(failed: Call, later: Sequence[Call], error: str) -> Remedy | None:
    """The same command with one difference: its folder, environment, program, option or quotation marks."""
    first = _shell_command(failed)
    if first is None or _PROBING.search(first):
        return None
    for item in later:
        second = _shell_command(item)
        if second is None or not _did_work(item):
            continue
        difference = _difference(first, second, error)
        if difference is not None:
            mistake, correction = (_failed(failed), difference) if isinstance(difference, str) else difference
            return Remedy(mistake, correction, item)
    return None


def _difference(first: str, second: str, error: str) -> str | tuple[str, str] | None:
    """The correction, or mistake and correction, where one difference of two commands explains the error."""
    old, new = segments(first), segments(second)
    if not old or not new or old == new:
        return None
    if old[0][0] == "cd" and re.search(r"(?i)\bcd\b.{0,20}no such file", error):
        return _ALREADY_THERE if [words[:2] for words in old[1:]] == [words[:2] for words in new] else None
    if len(new) > len(old) and new[-len(old) :] == old:
        added = new[: -len(old)]
        if all(words[0] == "cd" for words in added):
            folder = "the project's root" if added[0][-1].startswith(("/", "~")) else f"`{added[0][-1]}`"
            return f"Run it in {folder}: `cd` there in the same command." if _NOT_THERE.search(error) else None
        return _run_as(second) if any(set(words[:3]) & _PREPARES for words in added) else None
    places = [place for place, words in enumerate(old) if len(old) == len(new) and words != new[place]]
    if len(places) != 1 or (old[places[0]][0] in _PROBES and not _NOT_THERE.search(error)):
        return None
    return _one_word(old[places[0]], new[places[0]], second, error)


def _one_word(old: list[str], new: list[str], second: str, error: str) -> str | tuple[str, str] | None:
    """The correction where one run of words of a command differs."""
    changed = [code for code in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if code[0] != "equal"]
    if len(changed) != 1:
        return None
    _, start, end, new_start, new_end = changed[0]
    gone, come = old[start:end], new[new_start:new_end]
    before, after = " ".join(gone), " ".join(come)
    relative = before.removeprefix("./").strip("'\"")
    if relative and before[0] not in "/-" and after[:1] == "/" and after.endswith(f"/{relative}"):
        return _ELSEWHERE if _NOT_THERE.search(error) else None
    if max(len(before), len(after)) > SHOWN_VALUE:
        return None
    words = f"Use `{after}` instead of `{before}`." if gone and come else f"Add `{after}`."
    words = words if come else f"Leave out `{before}`."
    if start == 0 and not gone:  # another program runs the same command
        return _run_as(second) if come[0] in _RUNNERS or "=" in come[0] else None
    if start == 0:
        return words if len(gone) == 1 and _NOT_THERE.search(error) else None
    if (gone or come)[0].startswith("-") and (come or gone)[0].startswith("-"):
        names = [word.strip("-").split("=")[0].casefold() for word in (*gone, *come)]
        return words if any(len(name) > 1 and name in error.casefold() for name in names) else None
    proposed = len(gone) == len(come) == 1 and after.casefold() in error.casefold()
    return f"Use `{after}` instead of `{before}`, as the error says." if proposed else None


def _run_as(command: str) -> str | None:
    return f"Run it as `{without_own_values(command)}`." if _is_short(command) else None


def _is_short(command: str) -> bool:
    """True for a command on one line that can stand in a lesson."""
    return len(command.strip()) <= SHOWN_COMMAND and "\n" not in command.strip()


# Arguments of other tools.


def _argument(failed: Call, later: Sequence[Call], error: str) -> Remedy | None:
    """The same call with one or two arguments changed that the error names, or that the tool proposed."""
    before = failed.arguments
    if not isinstance(before, dict) or _edited(failed) or kind_of(failed.tool, before) is Kind.SEARCH:
        return None
    for item in later:
        changes = changes_between(before, item.arguments)
        related = item.tool == failed.tool and 0 < len(changes) <= 2 and _did_work(item)
        if related and all(_proved(failed, change, error) for change in changes):
            sent = ", and ".join(_sent(change) for change in changes)
            return Remedy(_failed(failed, changes), f"{sent[0].upper()}{sent[1:]}.", item)
    return None


def _proved(failed: Call, change: Change, error: str) -> bool:
    """True where the error names the argument or proposes its value, and both values can stand in a lesson."""
    before, after = str(change.before), str(change.after)
    if any(isinstance(value, dict | list) for value in (change.before, change.after)):
        return False
    if not change.added and max(len(before), len(after)) > SHOWN_VALUE:
        return False
    if isinstance(change.after, str) and suggested(change.after, failed):
        return True
    if change.added or change.removed:
        return points_at(Change(path=change.path, before=None, after=None), error.casefold())
    if failed.category is ErrorCategory.NOT_FOUND:  # else another thing may have been asked for
        return mistyped(before.casefold(), after.casefold())
    return points_at(change, error.casefold())


def _sent(change: Change) -> str:
    if change.removed:
        return f"leave out `{change.path}`"
    if change.added and len(str(change.after)) > SHOWN_VALUE:
        return f"send `{change.path}` too"
    return f"send `{change.path or 'the argument'}` = {quote(change.after)}"


# Steps between two equal calls.


def _prepared(tried: Sequence[Call], failed: Call) -> Remedy | None:
    """The same call worked after one or two steps that changed the state in which it runs, and no other change."""
    after = tried[failed.index + 1 : failed.index + 1 + SAME_HORIZON]
    worked = next((item for item in after if _is_same(item, failed)), None)
    if worked is None or not _did_work(worked) or _head(failed).split(" ")[0] in _PROBES:
        return None
    between = [item for item in tried[failed.index + 1 : worked.index] if item.worked]
    texts = [_step(item) for item in between if may_change(item.tool, item.arguments) and not _looks(item)]
    steps = [text for text in texts if text]
    if not 0 < len(texts) <= MAX_STEPS or len(steps) < len(texts):
        return None
    correction = f"First {', then '.join(steps)}; then the same call works."
    return Remedy(_failed(failed), correction, worked, confidence=0.8)


def _looks(item: Call) -> bool:
    """True for a call that only looks: it reads, or each of its commands does, as `npm ls` and `docker ps` do."""
    command = _shell_command(item)
    looks = command is not None and all(set(words[:2]) & _LOOKS for words in segments(command))
    return looks or kind_of(item.tool, item.arguments) is Kind.READ


def prepares(item: Call) -> bool:
    """True for a call that changes the state in which others run: an edit, an installation, a login."""
    command = _shell_command(item)
    if command is None:
        return bool(tool_words(item.tool) & (_EDITS | _PREPARES)) and "todo" not in tool_words(item.tool)
    return any(word.lower() in _PREPARES for part in segments(command) for word in part[:4])


def _step(item: Call) -> str | None:
    """A step in words; None where it is not one that prepares others, or is too long to tell."""
    command, file = _shell_command(item), file_of(item.arguments)
    if not prepares(item):
        return None
    if command is not None:
        short = _is_short(command) and not _SUPPRESSES.search(command)
        return f"run `{without_own_values(command)}`" if short else None
    if file is not None and tool_words(item.tool) & _EDITS:
        return _configured(item.arguments, file)
    text = call_text(item.tool, item.arguments, SHOWN_COMMAND)
    return f"call `{text}`" if tool_words(item.tool) & _PREPARES and " ... " not in text else None


def _configured(arguments: Json, file: str) -> str | None:
    """An edit of configuration with the text that it writes; an edit of anything else is not a correction."""
    values = arguments if isinstance(arguments, dict) else {}
    new = next((values[key] for key in ("new_string", "newText", "new_str", "content") if values.get(key)), None)
    old = next((values[key] for key in ("old_string", "oldText", "old_str") if values.get(key)), "")
    if not _CONFIGURATION.search(file) or not isinstance(new, str) or not isinstance(old, str):
        return None
    lines = [line.strip() for line in new.split("\n") if line.strip() and line not in old.split("\n")]
    written = "; ".join(lines)
    if not written or len(written) > SHOWN_COMMAND or (_SUPPRESSES.search(new) and not _SUPPRESSES.search(old)):
        return None
    return f"write `{written}` into {_base(file)}"


# Calls and errors in words.


def _shell_command(item: Call) -> str | None:
    return command_of(item.arguments) if is_shell(item.tool) else None


def _head(item: Call) -> str:
    """The tool, or the program that a shell ran with its subcommand."""
    command = _shell_command(item)
    return head_of(commands_in(command)) if command else item.tool


def _failed(failed: Call, changes: Sequence[Change] = ()) -> str:
    """The failure in words: "`pytest` failed: pytest: command not found."."""
    error = sentence(failed.headline, 160).rstrip(".")
    sent = [f"`{change.path}` = {quote(change.before)}" for change in changes if change.path and not change.added]
    call = f"`{failed.tool}` with {', '.join(sent)}" if sent else _shown(failed)
    return f"{call} failed: {error}."


def _shown(item: Call) -> str:
    """A call as it stands in a lesson: a short command in full, a long one by its program, another tool by its name."""
    command = _shell_command(item)
    if command is None:
        return f"`{item.tool}`"
    return f"`{without_own_values(command) if _is_short(command) else _head(item) or item.tool}`"
