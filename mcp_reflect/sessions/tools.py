"""What a call does, by the name of its tool and its arguments: whether it runs, reads or searches, and its commands.

The same text means different things from different tools: an error message printed by a shell is a failure, the same
text in a file that was read is its content.
"""

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import Final

from mcp_reflect.guards.shell_tools import is_shell, joined, tool_words, with_arguments
from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.sessions.word_tables import word_set
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
_SHELL_KEYWORDS: Final = word_set("for while until case select if fi done esac set exec }")
"""Words of the shell's own, which run nothing."""

_CODE_SEARCHES: Final = word_set("grep rg egrep ag ack")
_WINDOWS_SHELLS: Final = word_set("pwsh cmd")
_FOLDERS: Final = ("cwd", "workdir", "dir_path", "directory")
_COMMANDS: Final = ("command", "cmd")
_COMMANDS_AND_CODE: Final = (*_COMMANDS, "code", "script", "input")
_MOST_WORDS_OF_FINISH: Final = 3  # words in the name of a tool that hands over an answer
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
    """How the answer of this call is to be read, by the words of the tool's name; the first row that fits decides.

    | the tool                                       | kind   |
    |------------------------------------------------|--------|
    | a shell or the like, that only prints files    | READ   |
    | a shell or the like (`run_tests`, `Bash`)      | RUN    |
    | a search (`grep`, `web_search`)                | SEARCH |
    | a reader (`Read`, `fetch_url`)                 | READ   |
    | any other (`Edit`, `send_mail`)                | OTHER  |
    """
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
    """True for a command that prints a file (`cat a.py`) or the history of one (`git log a.py`)."""
    part = doing_in(command)
    if part is None:
        return False
    if part.program == "git":
        return part.subcommand in _READING_GIT
    return part.program in READING_PROGRAMS


def without_labels(tool: str, arguments: Json) -> Json:
    """The arguments that decide what a call does, without those that only label it: see `LABEL_ARGUMENTS`."""
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
    """True for grep and its kin in a shell, where what they print is the answer: not with `-q`, nor into a file."""
    command = command_of(arguments)
    if not command or not tool_words(tool) & _RUNS:
        return False
    if ">" in command or " -q" in command:
        return False
    part = doing_in(command)
    return part is not None and part.program in _CODE_SEARCHES


def finishes(tool: str) -> bool:
    """True for a call with which an agent hands over its answer: Finish, submit, attempt_completion."""
    words = tool_words(tool)
    return len(words) <= _MOST_WORDS_OF_FINISH and bool(words & _FINISHES) and not words & _RUNS


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
    for name in _COMMANDS_AND_CODE:
        value = values.get(name)
        if isinstance(value, str) and name in _COMMANDS:
            return with_arguments(value, values)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return joined(list(map(str, value)))
    return None


def parts_of(tool: str, arguments: Json, *, syntax: bool = False) -> tuple[Part, ...]:
    """The commands of a call to a shell, in order; none for another tool.

    `Bash(command="npm ci && npm test", cwd="web")` gives `cd web`, `npm ci`, `npm test`: the folder among the arguments
    is a `cd` in front. `syntax`: with the words of the shell that run nothing, such as `for`.
    """
    command = command_of(arguments)
    if not command or not (is_shell(tool) or _is_tool_of_program(tool, command)):
        return ()
    if syntax:
        parts = parts_in(command)
    elif _is_windows_shell(tool):
        parts = _commands_of_powershell(command)
    else:
        parts = _running_commands(command)
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
def _commands_of_powershell(command: str) -> tuple[Part, ...]:
    """The commands of a script of PowerShell."""
    script = read_powershell(command)
    return tuple(part_of(command.words) for command in script.commands if command.words)


@lru_cache(maxsize=1_000)
def _running_commands(command: str) -> tuple[Part, ...]:
    """The commands of a script that run something: `for f in *.py; do ruff $f; done` has `ruff $f` alone."""
    return tuple(part for part in parts_in(command) if part.program not in _SHELL_KEYWORDS)
