"""The forms in which a call is compared with calls that are known to fail, from the strictest to the loosest.

A call is read by what it does: a shell command as commands, a read or an edit by its file, a search by its
query, anything else by its arguments.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.patterns import late
from mcp_reflect.reflect.rules.tools import Kind, command_of, kind_of, tool_words
from mcp_reflect.reflect.shell import commands_in, head_of, line_of, unwrapped
from mcp_reflect.signature import bounded, dressed_call, normalised_call, steady, unquoted

_FILES: Final = ("file_path", "filepath", "path", "filename", "file", "absolute_path", "notebook_path", "target_file")
_QUERIES: Final = ("query", "q", "search_query", "keywords", "keyword", "search", "term", "question", "text")
# Arguments that say how a call is to be made or shown, and do not decide whether it fails.
_BESIDE: Final = frozenset(
    (
        *("description", "explanation", "reason", "timeout", "timeout_ms", "run_in_background", "is_background"),
        *("yield_time_ms", "max_output_tokens", "offset", "limit", "start_line", "end_line", "toolSummary"),
    )
)
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "shell", "terminal", "exec", "command", "powershell", "pwsh"})
_FILE_TOOLS: Final = frozenset({"read", "edit", "write", "view", "open", "replace", "patch", "notebook", "file", "str"})
_LOOSE_SPACE: Final = late(r"\s+")


@dataclass(frozen=True, slots=True)
class Forms:
    """A call in its forms.

    `head` is what it is a call of (`shell:git push`, `read:src/a.py`, `search`), `exact` the call without
    white space and order, `bare` without quotation marks too, `loose` without what differs from day to day.
    """

    head: str
    exact: str
    bare: str
    loose: str

    @property
    def family(self) -> str:
        """What stands for the tool: all shells are one."""
        return self.loose.partition("(")[0]

    @property
    def exact_key(self) -> str:
        """16 hex digits over the exact form."""
        return _digest(self.exact)

    @property
    def loose_key(self) -> str:
        """16 hex digits over the loose form."""
        return _digest(self.loose)

    @property
    def bare_key(self) -> str:
        """16 hex digits over the bare form."""
        return _digest(self.bare)


def forms_of(tool: str, arguments: Json) -> Forms:
    """The forms of a call; bounded, whatever its arguments are."""
    name = tool.strip().lower()[:200]
    words = tool_words(tool)
    command = _command(arguments) if words & _SHELLS else None
    if command and command.strip():
        return _shell_forms(command, arguments)
    if isinstance(arguments, dict):
        if kind_of(tool, arguments) is Kind.SEARCH:
            return _search_forms(name, arguments)
        file = next((arguments[key] for key in _FILES if isinstance(arguments.get(key), str)), None)
        if isinstance(file, str) and words & _FILE_TOOLS:
            return _forms(name, _without_beside(arguments), f"{name}:{steady(file.strip())}")
        return _forms(name, _without_beside(arguments), name)
    return _search_forms(name, arguments) if kind_of(tool, arguments) is Kind.SEARCH else _forms(name, arguments, name)


def _command(arguments: Json) -> str | None:
    """The command among the arguments; a list of words may be a shell that is to run one."""
    if isinstance(arguments, dict):
        for key in ("command", "cmd"):
            words = arguments.get(key)
            if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
                return unwrapped([str(word) for word in words])
    return command_of(arguments)


def _shell_forms(command: str, arguments: Json) -> Forms:
    """A command in one form for all shells; the folder it is run in belongs to it."""
    commands = commands_in(command)
    folder = ""
    if isinstance(arguments, dict):
        told = next((arguments[key] for key in ("cwd", "workdir", "dir_path", "directory") if arguments.get(key)), "")
        folder = f"{told}$ " if isinstance(told, str) and told else ""
    line = f"{folder}{line_of(commands)}" if commands else _LOOSE_SPACE.sub(" ", command).strip()
    line += command[4_000:]
    bare = line.replace("'", "").replace('"', "")
    head = bounded(f"shell:{steady(head_of(commands))}", 200)
    return Forms(head, bounded(f"shell({line})"), bounded(f"shell({bare})"), bounded(f"shell({steady(bare)})"))


def _search_forms(name: str, arguments: Json) -> Forms:
    """A search by its query: case does not count, the other arguments do."""
    folded = _folded(arguments) if isinstance(arguments, dict) else arguments
    if isinstance(folded, str):
        folded = folded.casefold()
    return _forms(name, folded, name)


def _folded(arguments: dict[str, Json]) -> Json:
    """The query in small letters; alone it is the same by any name."""
    folded = {
        key: value.casefold() if key.lower() in _QUERIES and isinstance(value, str) else value
        for key, value in arguments.items()
        if key not in _BESIDE
    }
    only = next(iter(folded)) if len(folded) == 1 else ""
    return folded[only] if only.lower() in _QUERIES and only else folded


def _forms(name: str, arguments: Json, head: str) -> Forms:
    return Forms(
        bounded(head, 200),
        bounded(dressed_call(name, arguments)),
        bounded(unquoted(name, arguments)),
        normalised_call(name, arguments),
    )


def _without_beside(arguments: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in arguments.items() if key not in _BESIDE}


def undresses(new: Forms, known: Forms) -> bool:
    """Whether the new call is the known one with quotation marks taken away: that can be the correction."""
    return new.bare == known.bare and len(new.exact) < len(known.exact)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
