"""Commands of a shell, read by a parser (tree-sitter-bash): the one place that knows what a command line says.

    script = read_script("cd web && sudo npm --prefix . test 2>&1 | tail -5")
    [command.words for command in script.commands]   # ("cd", "web"), ("sudo", "npm", …), ("tail", "-5")
    script.commands[1].before                        # "&&"
    script.commands[1].feeds(script.commands[2])     # True: through a pipe
    [found.name for found in script.commands[1].invocations]    # "sudo", "npm"
    act_of(script.commands[1])                       # Act("npm", "test")
    written_files(command), read_files(command)      # by redirects and by what the program does

**What it reads**: quotes, escapes, braces, lists, pipes, loops, conditions, `$(…)`; functions and aliases where they are
called; programs that start others (wrappers.txt, interpreters.txt: `sudo -iu root`, `python3.12 -W ignore -m`, each
`-exec` of `find`); and what is fed to a shell (`bash -c`, `eval`, `ssh HOST`, `git rebase --exec`, a here-document,
`echo … | sh`). What stands behind the name of a script is not read: `bash deploy.sh -c prod` runs deploy.sh.

**Variables** are known where every way through the script gives them one value. A word with one that is not known stands
as it is written, and its index is in `Command.unknown`. Where a variable may have one of several values that stand in the
text (after an `if`, in a loop), `Script.possible` has the command with each of up to 16 choices: guards look there, what
proves something does not. A subshell, a part of a pipe and `bash -c` keep what they set for themselves; `bash -c` sees
what is exported, `ssh` and `sudo` nothing; `read`, `let`, `((i++))`, `source` and an unknown `eval` leave doubt.

**What it cannot know**: values from outside, the output of commands, files with scripts, aliases of git, keys sent to a
terminal, what code of Python or Node starts. docs/shell.md has the list.

**Bounds**: the parser is given up to 2 MB, and .25 s of the processor; a pipeline has up to 1,000 commands, a command up
to 200 redirections, and no NUL stands in it. Of that 64,000 characters are read (here-documents that no shell reads do
not count), 2,000 commands, 40 levels, 60,000 steps of the walk, and 256,000 characters of loops within loops, and of
words after expansion. Over one of these, or where the parser erred, the script `is_partial`: it has no commands, and
`why_partial` says why. Nobody may conclude anything from it; an enforced guard asks `Script.may_start`, which looks for
the program among the words of the text.
"""

from functools import lru_cache
from typing import Final

from mcp_reflect.shell.acts import (
    INTERPRETERS,
    READING_PROGRAMS,
    TELLING_FLAGS,
    Act,
    Part,
    act_of,
    acts_in,
    doing_in,
    is_idle,
    is_viewed,
    is_viewer,
    line_of,
    own_commands,
    part_of,
    parts_in,
)
from mcp_reflect.shell.bash_reader import read_bash
from mcp_reflect.shell.changed import (
    PathChange,
    changes_files,
    changes_of,
    exported_repository,
    named_folders,
    runs_elsewhere,
)
from mcp_reflect.shell.commands import (
    SUBSTITUTED,
    Command,
    Inside,
    PipePosition,
    Redirection,
    Script,
    Subshell,
)
from mcp_reflect.shell.files import copied_into, patched_files, read_files, written_files
from mcp_reflect.shell.options import VALUED, Option, read_option
from mcp_reflect.shell.powershell_reader import read_powershell
from mcp_reflect.shell.program_names import base_name, program_name
from mcp_reflect.shell.programs import Invocation, invocations_of, unwrapped

__all__ = [
    "COMMAND_LIMIT",
    "INTERPRETERS",
    "READING_PROGRAMS",
    "SUBSTITUTED",
    "TELLING_FLAGS",
    "VALUED",
    "Act",
    "Command",
    "Inside",
    "Invocation",
    "Option",
    "Part",
    "PathChange",
    "PipePosition",
    "Redirection",
    "Script",
    "Subshell",
    "act_of",
    "acts_in",
    "base_name",
    "changes_files",
    "changes_of",
    "copied_into",
    "doing_in",
    "exported_repository",
    "invocations_of",
    "is_idle",
    "is_viewed",
    "is_viewer",
    "line_of",
    "named_folders",
    "own_commands",
    "part_of",
    "parts_in",
    "patched_files",
    "program_name",
    "read_files",
    "read_option",
    "read_script",
    "runs_elsewhere",
    "unwrapped",
    "written_files",
]

COMMAND_LIMIT: Final = 4_000
"""Characters of a command that a comparison of texts looks at."""

_MOST_CACHED_CHARS: Final = 4_000  # of a text whose reading is kept for the next time


def read_script(text: str, *, is_powershell: bool = False) -> Script:
    """Return the commands of a script in their order, with those in `$(…)` and in what it feeds to a shell."""
    if is_powershell:
        return read_powershell(text)
    if len(text) <= _MOST_CACHED_CHARS:
        return _read_short(text)
    return read_bash(text)


@lru_cache(maxsize=256)
def _read_short(text: str) -> Script:
    """Return the reading of a short text, kept for the next time: hooks ask for the same command several times."""
    return read_bash(text)
