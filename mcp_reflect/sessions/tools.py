"""The kind of tool that a name stands for, its arguments, and answers without a result.

The same text means different things from different tools: an error message printed by a shell is a failure, the same
text in a file that was read is its content.
"""

import json
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import Final

from mcp_reflect.guards.shell_tools import is_shell, joined, tool_words, with_arguments
from mcp_reflect.models.common import Json, json_of
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.sessions.text import pattern, quote, without_paths, word_set
from mcp_reflect.shell import READING_PROGRAMS, Part, doing_in, part_of, parts_in, read_powershell

# Words of tools' names by what the tool does.
_RUNS: Final = word_set("""
    bash sh zsh shell terminal exec execute run command cmd python python3 code interpreter pytest test tests build npm
    make console powershell pwsh repl notebook jupyter ipython compile sql node script subprocess lint
""")
_READS: Final = word_set("""
    read cat view open fetch browse browser visit show load download log logs tail head page scroll crawl scrape
    retrieve extract wikipedia wiki docs documentation resource screenshot snapshot navigate goto
""")
_SEARCHES: Final = word_set(
    "search searches find lookup grep glob rg query retrieval recall websearch"
)
_CHANGES: Final = word_set("""
    write edit create update delete remove insert replace apply patch move rename copy install set add put post send
    book cancel modify upload save commit sleep wait login authenticate auth start restart configure str enable disable
    mkdir approve grant refresh
""")
_FINISHES: Final = word_set(
    "finish submit answer done complete terminate stop end respond exit final completion"
)
_OWN: Final = word_set(
    "replan_search recall_lessons store_lesson record_outcome forget_lesson should_reflect"
)
_READING_GIT: Final = word_set("log show diff blame status grep branch reflog")
_FILES: Final = (
    "file_path",
    "filepath",
    "filePath",
    "path",
    "filename",
    "file",
    "absolute_path",
    "notebook_path",
    "target_file",
    "uri",
)
_MOST_PATCH: Final = 4_000  # characters of a patch in which its first file is looked for
_PATCHED = lazy_compile(r"\*\*\* (?:Update|Delete) File: (.{1,300})")

_RUN_LABELS: Final = word_set("""
    description explanation goal justification security_risk timeout timeout_ms yield_time_ms max_output_tokens tty
    run_in_background is_background isBackground require_user_approval
""")
_EDIT_LABELS: Final = word_set("instruction instructions explanation security_risk")
LABEL_ARGUMENTS: Final = {
    **dict.fromkeys(("bash", "shell", "exec", "terminal", "task", "agent"), _RUN_LABELS),
    **dict.fromkeys(("edit", "replace", "editor", "read", "grep", "search"), _EDIT_LABELS),
}
"""Arguments that only label a call or say how to run and show it, by a word of the tool's name, of the hosts that send
them: Claude Code, Codex, Gemini CLI, Cursor, Copilot, OpenHands.

They decide nothing: signatures, comparisons and lessons leave them out.
"""


class Kind(Enum):
    """How the answer of a call is to be read."""

    RUN = auto()  # it ran something: the answer is the course of the run
    READ = auto()  # it fetched text that others wrote
    SEARCH = auto()  # it looked for something: an empty answer says something
    OTHER = auto()


def kind_of(tool: str, arguments: Json) -> Kind:
    """How the answer of this call is to be read; a shell that prints a file reads."""
    words = tool_words(tool)
    if words & _RUNS and not words & {"search", "find"}:
        if _only_reads(command_of(arguments) or ""):
            return Kind.READ
        return Kind.RUN
    if words & _SEARCHES and "replace" not in words:
        return Kind.SEARCH
    if words & _READS:
        return Kind.READ
    return Kind.OTHER


def _only_reads(command: str) -> bool:
    """True for a command that prints a file or the history of one."""
    part = doing_in(command)
    if part is None:
        return False
    if part.program == "git":
        return part.subcommand in _READING_GIT
    return part.program in READING_PROGRAMS


def is_own_tool(tool: str, arguments: Json) -> bool:
    """Return whether a call is of this server or its command; such calls are never the subject of a lesson."""
    name = tool.lower().replace("-", "_")
    if "mcp_reflect" in name or name.rsplit("__", 1)[-1] in _OWN:
        return True
    return is_shell(tool) and "mcp-reflect" in (command_of(arguments) or "")


_OWN_WORDS: Final = lazy_compile(r"\bmcp-reflect: (?!\d)")


def is_own_refusal(answer: str) -> bool:
    """True for the answer of a call that this server refused: our words teach nothing."""
    return bool(_OWN_WORDS.search(answer[:600]))


LESSON_ID: Final = lazy_compile(r"\bles_\w{10,40}")
"""The id of a lesson in an answer of this server."""

_TELLING_TOOLS: Final = ("store_lesson", "reflect")
_LESSON_FIELDS: Final = ("mistake", "correction", "lesson", "symptoms", "strategy", "reflection")


def told_in(tool: str, arguments: Json) -> str:
    """The text of the lesson that a call of this server brings: `store_lesson`, or `reflect` with an analysis."""
    name = tool.replace(".", "__").rsplit("__", 1)[-1]
    if name not in _TELLING_TOOLS or not isinstance(arguments, dict):
        return ""
    sent = arguments.get("analysis", arguments)
    if not isinstance(sent, dict):
        return str(sent)
    return " ".join(str(sent[field]) for field in _LESSON_FIELDS if sent.get(field))


def without_labels(tool: str, arguments: Json) -> Json:
    """The arguments that decide what a call does."""
    if not isinstance(arguments, dict):
        return arguments
    words = tool_words(tool)
    labels: set[str] = set()
    for word in words & LABEL_ARGUMENTS.keys():
        labels |= LABEL_ARGUMENTS[word]
    return {name: value for name, value in arguments.items() if name not in labels}


def file_of(arguments: Json) -> str | None:
    """The file that a call reads or edits; of a patch, the first that it changes."""
    named = first_text(named_arguments(arguments), _FILES)
    if named is not None:
        return named.strip()
    patched = _PATCHED.search((command_of(arguments) or "")[:_MOST_PATCH])
    if patched is None:
        return None
    return patched[1].strip()


def named_arguments(arguments: Json) -> dict[str, Json]:
    """The arguments by their names; empty where a call has none, or a text for them."""
    if isinstance(arguments, dict):
        return arguments
    return {}


def first_text(values: Mapping[str, Json], names: Iterable[str]) -> str | None:
    """The first of these values that is a text, be it empty; None where none is."""
    for name in names:
        value = values.get(name)
        if isinstance(value, str):
            return value
    return None


def is_code_search(tool: str, arguments: Json) -> bool:
    """True for a search by a shell command: grep and its kin."""
    command = command_of(arguments)
    if not command or not tool_words(tool) & _RUNS or ">" in command or " -q" in command:
        return False
    part = doing_in(command)
    return part is not None and part.program in {"grep", "rg", "egrep", "ag", "ack"}


def finishes(tool: str) -> bool:
    """True for a call that hands the answer over: Finish, submit, attempt_completion."""
    words = tool_words(tool)
    return len(words) <= 3 and bool(words & _FINISHES) and not words & _RUNS


def may_change(tool: str, arguments: Json) -> bool:
    """True for a call that may have changed something, so that another call can give another answer after it."""
    return bool(tool_words(tool) & _CHANGES) or kind_of(tool, arguments) is Kind.RUN


def command_of(arguments: Json) -> str | None:
    """Return the shell command, code or script among the arguments, None without one.

    Hosts name it differently, and some send a list of words: `{"command": ["bash", "-lc", "ls"]}` is one line as well.
    """
    if isinstance(arguments, str):
        return arguments
    values = named_arguments(arguments)
    for name in ("command", "cmd", "code", "script", "input"):
        value = values.get(name)
        if isinstance(value, str) and name in ("command", "cmd"):
            return with_arguments(value, values)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return joined(list(map(str, value)))
    return None


# Words of the shell's own, which run nothing.
_SYNTAX: Final = word_set("for while until case select if fi done esac set exec }")
_WINDOWS_SHELLS: Final = word_set("pwsh cmd")
_FOLDERS: Final = ("cwd", "workdir", "dir_path", "directory")


def parts_of(tool: str, arguments: Json, *, syntax: bool = False) -> tuple[Part, ...]:
    """The commands of a call to a shell, in order; none for another tool. Its folder is a `cd` in front.

    `syntax`: with the words that run nothing, such as `for`.
    """
    command = command_of(arguments)
    if not command or not (is_shell(tool) or _is_tool_of_program(tool, command)):
        return ()
    if syntax:
        parts = parts_in(command)
    elif _is_windows_shell(tool):
        parts = _windows_parts(command)
    else:
        parts = _running(command)
    folder = _folder_of(arguments)
    if not folder or not parts:
        return parts
    return (Part((), "cd", "", ("cd", folder)), *parts)


def _is_tool_of_program(tool: str, command: str) -> bool:
    """True for a tool that is named by the program whose command it takes: `git` with `git status`."""
    return command.startswith(f"{tool} ") and "\n" not in command


def _folder_of(arguments: Json) -> str:
    """The folder in which a command runs by its arguments, empty where none names it."""
    values = named_arguments(arguments)
    for name in _FOLDERS:
        folder = values.get(name)
        if isinstance(folder, str) and folder:
            return folder
    return ""


def _is_windows_shell(tool: str) -> bool:
    """True for PowerShell and cmd, by the tool's name."""
    return "powershell" in tool.lower() or bool(tool_words(tool) & _WINDOWS_SHELLS)


@lru_cache(maxsize=1_000)
def _windows_parts(command: str) -> tuple[Part, ...]:
    """The commands of a script of PowerShell."""
    script = read_powershell(command)
    return tuple(part_of(found.words) for found in script.commands if found.words)


@lru_cache(maxsize=1_000)
def _running(command: str) -> tuple[Part, ...]:
    """The commands of a script, without the shell's own words."""
    return tuple(part for part in parts_in(command) if part.program not in _SYNTAX)


# A call in the words of a sentence.

# Characters of a command or a value that is told whole; of a longer one, only what it is a call of.
_TOLD: Final = 80
_SUBJECTS: Final = ("query", "q", "pattern", "search", "url", "selector")


def in_words(tool: str, arguments: Json) -> str:
    """The call with its command, file or short value; without it where that is long: `Edit of app.py`, `git push`."""
    holds_code = not {"code", "script"}.isdisjoint(named_arguments(arguments))
    command = command_of(arguments)
    if is_shell(tool) and not holds_code and command:
        return f"`{_short_command(tool, command)}`"
    subject = subject_of(arguments)
    file = file_of(arguments)
    if file is not None and not isinstance(subject, str):
        name = file.replace("\\", "/").rsplit("/", 1)[-1]
        return f"{tool} of {name}"
    without_values = tool or _unnamed(arguments)
    if kind_of(tool, arguments) is Kind.OTHER or isinstance(subject, dict):
        return without_values  # its arguments are values of its task
    if subject is None:
        return without_values
    shown = without_paths(quote(subject, 2 * _TOLD))
    if 0 < len(shown) <= _TOLD:
        return f"{tool} {shown}"
    return without_values


def _short_command(tool: str, command: str) -> str:
    """A command on one line; of a longer one its program and subcommand, else the tool."""
    line = without_paths(command.strip())
    if len(line) <= _TOLD and "\n" not in line:
        return line
    part = doing_in(command)
    if part is None:
        return tool
    return part.head


def call_line(tool: str, arguments: Json) -> str:
    """The call as it was made, whole: its command, or the tool and its arguments as JSON."""
    command = command_of(arguments)
    if command and is_shell(tool):
        return command
    if arguments is None or arguments == {}:
        return tool
    return f"{tool} {json.dumps(arguments, ensure_ascii=False)}"


def _unnamed(arguments: Json) -> str:
    """The words for a call without a tool's name."""
    if isinstance(arguments, str):
        return quote(arguments, 2 * _TOLD)
    return "An event"


def subject_of(arguments: Json) -> Json:
    """The value that a call is about: its query, pattern or address, else its only value, else all; None for none."""
    values = named_arguments(arguments)
    named = first_text(values, _SUBJECTS)
    if named:
        return named
    if len(values) == 1:
        [only] = values.values()
        return only or None
    return arguments or None


# Answers that say that a search found nothing.

# Characters of an answer to a search: a longer one holds something, whatever its first words are.
SHORT: Final = 600
_MOST_JSON: Final = 20_000  # characters of an answer that is read as JSON

_SAYS_NOTHING = pattern(r"""
    (?i)^[\s"'(\[]{0,8}(?:error: {0,3})?(?:sorry, |unfortunately, )?(?:could(?:n't| not) find\b
    |no (?:\w{1,20} ){0,3}(?:results?|matches|match|hits|documents?|files?|records?|rows|entries|items|data)\b
    (?! (?:from|were lost|loss))
    |(?:the )?last page searched was not found|0 (?:results?|matches|hits|rows|records|documents|files|items)\b
    |nothing (?:was )?found|not found\b|found (?:0|no|nothing)\b|(?:your |the )?(?:search|query|term)\b.{0,300}?
    (?:returned (?:no|0|nothing)|did ?n[o']t match|did not return|found (?:no|nothing|0)|has no results|yielded no
    |no results)
    |there (?:are|were) no (?:\w{1,20} ){0,3}(?:results?|matches|records|documents)|empty (?:result|set|response)
    |none found|no (?:such )?(?:page|article|entry)\b.{0,80}(?:found|exists?)
    |that page (?:could not be found|does not exist))""")
_EMPTY: Final = frozenset(
    {"", "[]", "{}", "null", "none", "()", "[[]]", '""', "''", "n/a", "set()", "undefined"}
)
_LISTS: Final = (
    "results items hits data documents matches rows records entries organic value docs".split()
)
_COUNTS: Final = (
    "count total total_count totalCount num_results total_results numFound hits found".split()
)


def found_nothing(answer: str) -> bool:
    """True where the whole answer of a search says that there is nothing."""
    text = answer.strip()
    if text.lower() in _EMPTY:
        return True
    # What begins with a bracket may be text: `[SAS] was not found`.
    if text[:1] in "{[" and len(text) <= _MOST_JSON:
        value = json_of(text)
        if value is not None:
            return _holds_nothing(value)
    # An answer "Could not find ..." may go on with pages of suggestions.
    may_say_so = len(text) <= SHORT or text.lower().startswith("could not find")
    return may_say_so and bool(_SAYS_NOTHING.match(text))


def _holds_nothing(value: Json) -> bool:
    """True for an empty list or object, an object with an empty list of results, and one whose count is 0."""
    if isinstance(value, list):
        return all(item in ([], {}, None, "") for item in value)
    if not isinstance(value, dict) or not value:
        return value in (None, {})
    lists = [value[key] for key in _LISTS if isinstance(value.get(key), list)]
    counts = [value[key] for key in _COUNTS if key in value]
    if lists:
        return not any(lists)
    return bool(counts) and all(type(count) is int and count == 0 for count in counts)
