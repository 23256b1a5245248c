"""Guards: the calls that go against a lesson, in a form that a person reads and edits.

    Bash: `git push` with `--force` or `-f` without `--force-with-lease`
    Edit or a shell redirect: dist/bundle.js
    mcp__jira__search: with `limit: > 100`

`has` holds groups, one item of each group has to be there; nothing of `lacks` may be there. The first group of a
shell's guard names programs with their subcommands, that of an edit's guard files. Items of a shell's guard:

    --force  -f  --context=prod   a flag, in any cluster, with its value after = or as the next word
    main  dist/  *.pb.go          an argument: whole, or the end of a path; a folder; a pattern
    an argument                   any argument that is not a flag
    NAME=  NAME=value             a variable of the environment
    sudo ...                      what starts the program
    cd web &&                     an earlier command of the line
    | tail                        a program that the output is piped into
    &                             in the background
    "DROP TABLE"                  words in its text, in any case

Items of another tool's guard: `key`, `key: value`, `key: > 100`, `"words"`.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final

from mcp_reflect.errors import InputError
from mcp_reflect.guards.knowledge import words_about
from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import (
    Command,
    Invocation,
    Script,
    base_name,
    patched_files,
    program_name,
    read_script,
    written_files,
)

SHELL: Final = "Bash"
POWERSHELL: Final = "PowerShell"
EDIT: Final = "Edit"
ANY_ARGUMENT: Final = "an argument"

MOST_CHARS: Final = 400
"""The longest guard, as text."""

FORMS: Final = (
    "Write it like: Bash: `git push` with `--force` without `--force-with-lease`; Edit: dist/bundle.js; "
    "mcp__jira__search: with `limit: > 100`"
)
"""The forms of a guard, for a person who wrote another."""

_EDIT_HEAD: Final = "Edit or a shell redirect"
_MOST_ITEMS: Final = 12
_MOST_VALUES: Final = 400  # of a call's arguments that are looked at
_MOST_VALUE_CHARS: Final = 20_000
_WORDS: Final = lazy_compile(r"[A-Z]{2,32}(?![a-z])|[A-Z]?[a-z]{1,32}|\d{1,8}")
_SHELL_WORDS: Final = frozenset(
    "bash sh zsh shell terminal exec command cmd powershell pwsh".split()
)
_POWERSHELL_WORDS: Final = frozenset("powershell pwsh power".split())
_EDIT_WORDS: Final = frozenset("edit write create insert replace patch update str".split())
_FEEDERS: Final = frozenset("echo printf cat".split())
_PATHS: Final = (
    "file_path",
    "path",
    "filePath",
    "filename",
    "file",
    "absolute_path",
    "notebook_path",
    "target_file",
)
_ASKING: Final = frozenset(
    "--help -help --version -version help version list ls --list show status info --abort --continue --quit".split()
)
_CLUSTER: Final = lazy_compile(r"-[A-Za-z]{1,5}")
_NUMBER: Final = lazy_compile(r"-?\d+(?:\.\d+)?")
_VARIABLE: Final = lazy_compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_ITEM: Final = lazy_compile(r"`([^`]*)`|(without|with|and|or)\b|an argument|([^\s`]+)")


@dataclass(frozen=True, slots=True)
class Guard:
    """What a call has, and what it lacks, to go against a lesson."""

    tool: str
    has: tuple[tuple[str, ...], ...]
    lacks: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.tool == EDIT:
            first = " or ".join(path if " " not in path else f"`{path}`" for path in self.has[0])
            text, groups = f"{_EDIT_HEAD}: {first}", self.has[1:]
        elif self.tool in (SHELL, POWERSHELL):
            text, groups = f"{self.tool}: {_alternatives(self.has[0])}", self.has[1:]
        else:
            text, groups = f"{self.tool}:", self.has
        text += f" with {' and '.join(map(_alternatives, groups))}" if groups else ""
        text += f" without {_alternatives(self.lacks)}" if self.lacks else ""
        return text.removesuffix(":")

    @property
    def told(self) -> str:
        """What it meets, in a sentence: `relctl cut` without `--no-rehearse`."""
        return str(self).removeprefix(f"{SHELL}: ")

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys under which it is looked up: at least one is among the keys of each call that it matches."""
        if self.tool in (SHELL, POWERSHELL):
            return tuple({f"$ {_name_of(head)}": None for head in self.has[0]})
        if self.tool == EDIT:
            return tuple({_path_key(path): None for path in self.has[0]})
        return (_tool_key(self.tool),)


def _alternatives(items: Sequence[str]) -> str:
    return " or ".join(item if item == ANY_ARGUMENT else f"`{item}`" for item in items)


def parse_guard(text: str) -> Guard:
    """Return the guard of its readable form; InputError says what is wrong with it, and gives an example."""
    if not text.strip() or len(text) > MOST_CHARS:
        raise InputError("guard", f"it is empty or longer than {MOST_CHARS} characters", FORMS)
    tool, colon, rest = text.strip().partition(":")
    if not colon or "`" in tool:
        tool, rest = (SHELL, text) if "`" in text else (text.strip(), "")
    of_file = tool.lower().startswith("edit or") or (
        tool.strip().lower() == "edit" and not rest.lstrip().startswith("with")
    )
    tool = EDIT if of_file else tool.strip()
    has, lacks = _read_items(rest, joined=tool in (SHELL, POWERSHELL))
    groups = tuple(tuple(filter(None, group)) for group in has)
    groups = tuple(group for group in groups if group)
    known = tool in (SHELL, POWERSHELL, EDIT)
    if not tool or " " in tool or (known and not has[0]):
        about = "the file" if tool == EDIT else "the program" if known else "the tool's name"
        raise InputError("guard", f"it does not name {about}", FORMS)
    if sum(map(len, groups)) + len(lacks) > _MOST_ITEMS:
        raise InputError("guard", f"it has more than {_MOST_ITEMS} parts", FORMS)
    guard = Guard(tool, groups, tuple(filter(None, lacks)))
    if meets_everything(guard):
        raise InputError(
            "guard", "it would meet every call", f"Name what the wrong call has. {FORMS}"
        )
    return guard


def _read_items(text: str, *, joined: bool) -> tuple[list[list[str]], list[str]]:
    """Return the groups of what a call has, and what it lacks; `joined` words without backticks are one item."""
    has: list[list[str]] = [[]]
    lacks: list[str] = []
    into, bare = has[0], False
    for match in _ITEM.finditer(text):
        if (word := match[2]) is None:
            if match[3] and bare and joined:
                into[-1] += f" {match[3]}"
            else:
                into.append((match[1] if match[1] is not None else match[0]).strip())
        elif word == "without":
            into = lacks
        elif word == "with" or (word == "and" and into is not lacks):
            has.append([])
            into = has[-1]
        bare = bool(match[3])
    return has, lacks


def is_too_wide(guard: Guard) -> bool:
    """Return whether a guard names no more than a program that every session uses, or a flag that most calls lack."""
    if meets_everything(guard):
        return True
    if guard.tool in (SHELL, POWERSHELL):
        is_bare = len(guard.has) == 1 and any(" " not in head for head in guard.has[0])
        return is_bare and any(_name_of(head) in words_about("ordinary") for head in guard.has[0])
    return not guard.has and not guard.lacks and "__" not in guard.tool


def meets_everything(guard: Guard) -> bool:
    """Return whether a guard only names a tool that every session uses, or names every file."""
    if guard.tool == EDIT:
        return any(not path.strip("*/.") for path in guard.has[0])
    if guard.tool in (SHELL, POWERSHELL):
        return any(not head.split()[0].strip("*") for head in guard.has[0])
    return not guard.has and (
        is_shell(guard.tool) or guard.tool.lower() in ("read", "write", "edit", "grep", "glob")
    )


# What a call is


def is_shell(tool: str) -> bool:
    """True for a tool that runs commands of a shell."""
    return bool(tool_words(tool) & _SHELL_WORDS)


@lru_cache(maxsize=200)
def tool_words(tool: str) -> frozenset[str]:
    """Return the words of a tool's name in lower case: `getUser_details` is get, user, details."""
    return frozenset(word.lower() for word in _WORDS.findall(tool[:200]))


def command_text(arguments: Json) -> str:
    """Return the command among the arguments of a shell's call; one that is a list of words, as a line."""
    values = arguments if isinstance(arguments, dict) else {"command": arguments}
    for name in ("command", "cmd", "script", "input"):
        value = values.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value:
            return joined([str(word) for word in value])
    return ""


def joined(words: Sequence[str]) -> str:
    """Return a command given as a list: what `bash -lc` is to run, else the words as a line."""
    by_shell = base_name(words[0]) in ("bash", "sh", "zsh", "pwsh", "powershell")
    script = by_shell and len(words) > 2 and words[-2].lower() in ("-c", "-lc", "-ic", "-command")
    return words[-1] if script else shlex.join(words)


class Call:
    """A call as guards see it. Each part is read when it is first asked for."""

    def __init__(self, tool: str, arguments: Json) -> None:
        self.tool = tool[:200]
        self.arguments = arguments
        self.shell = is_shell(self.tool)
        self.powershell = bool(tool_words(self.tool) & _POWERSHELL_WORDS)

    @cached_property
    def script(self) -> Script:
        """What a shell's call runs."""
        if not self.shell:
            return Script(())
        return read_script(command_text(self.arguments), is_powershell=self.powershell)

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands of a shell's call."""
        return self.script.commands

    @cached_property
    def by_command(self) -> "tuple[tuple[Command, tuple[Program, ...]], ...]":
        """The commands that start a program, each with its programs, from the outside to the inside."""
        return tuple(
            (command, tuple(Program(self, command, found) for found in command.invocations))
            for command in self.commands
            if command.invocations
        )

    @cached_property
    def programs(self) -> "tuple[Program, ...]":
        """The programs that it starts, and those that it may start by one of several values of a variable."""
        certain = tuple(program for _, programs in self.by_command for program in programs)
        possible = tuple(
            Program(self, command, found)
            for command in self.script.possible
            for found in command.invocations
        )
        return certain + possible

    @cached_property
    def by_name(self) -> "dict[str, list[Program]]":
        """The programs that it starts by their names in lower case."""
        found: dict[str, list[Program]] = {}
        for program in self.programs:
            found.setdefault(program.found.name.lower(), []).append(program)
        return found

    def uses_of(self, head: str) -> "HeadUses":
        """The programs of a guard's head, with their arguments behind it."""
        if head not in self._uses:
            named = self.by_name.get(_name_of(head), ())
            behind = ((program, after_head(head.split(), program)) for program in named)
            found = tuple((program, rest) for program, rest in behind if rest is not None)
            self._uses[head] = HeadUses(found)
        return self._uses[head]

    @cached_property
    def _uses(self) -> "dict[str, HeadUses]":
        return {}

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The files that it changes."""
        if self.shell:
            commands = (*self.commands, *self.script.possible)
            return tuple(file for command in commands for file in written_files(command))
        values = self.arguments if isinstance(self.arguments, dict) else {"patch": self.arguments}
        if not tool_words(self.tool) & _EDIT_WORDS:
            return ()
        named = [value for name in _PATHS if isinstance(value := values.get(name), str)]
        return tuple(
            named
            or [
                file
                for text in values.values()
                if isinstance(text, str)
                for file in patched_files(text)
            ]
        )

    @cached_property
    def values(self) -> tuple[tuple[str, str], ...]:
        """The plain values among its arguments, each with the name that it stands under."""
        found: list[tuple[str, str]] = []
        waiting: list[tuple[str, Json]] = [("", self.arguments)]
        while waiting and len(found) < _MOST_VALUES:
            name, value = waiting.pop()
            if isinstance(value, dict):
                waiting += [(str(key), part) for key, part in list(value.items())[:_MOST_VALUES]]
            elif isinstance(value, list):
                waiting += [(name, part) for part in value[:_MOST_VALUES]]
            else:
                text = str(value).lower() if isinstance(value, bool) else str(value)
                found.append((name, text[:_MOST_VALUE_CHARS]))
        return tuple(found)

    @property
    def keys(self) -> set[str]:
        """The keys under which guards of this call are looked up."""
        keys = {f"$ {name}" for name in self.by_name}
        for file in self.written:
            *folders, last = [part for part in file.replace("\\", "/").split("/") if part] or [""]
            keys |= {
                last,
                "*",
                f"*.{last.rsplit('.', 1)[-1]}",
                f"{last}/",
                *(f"{folder}/" for folder in folders),
            }
        return keys | {_tool_key(self.tool)}


def _tool_key(tool: str) -> str:
    return f"tool {tool.rsplit('__', 1)[-1].lower()}"


def _path_key(path: str) -> str:
    last = base_name(path)
    if any(sign in last for sign in "*?["):
        extension = last.rsplit(".", 1)[-1]
        return f"*.{extension}" if last != extension and not set("*?[") & set(extension) else "*"
    return f"{last}/" if path.endswith("/") else last


@dataclass(frozen=True)
class Program:
    """A program that a command of a call starts."""

    call: Call
    command: Command
    found: Invocation

    @property
    def earlier(self) -> tuple[Command, ...]:
        """The commands before it."""
        return self.call.commands[: self.command.number]

    @property
    def readers(self) -> list[str]:
        """The programs that its output is piped into."""
        if not self.command.pipes:
            return []
        later = self.call.commands[self.command.number + 1 :]
        return [
            found.name
            for other in later
            if self.command.feeds(other)
            for found in other.invocations
        ]

    @property
    def in_background(self) -> bool:
        """Whether nobody waits for it."""
        return self.command.is_background or ("run_in_background", "true") in self.call.values

    @property
    def text(self) -> str:
        """The text that it is given: its arguments, a here-document, what is piped into it."""
        texts = [*self.command.arguments, self.command.document]
        for other in self.earlier if self.command.pipes else ():
            if other.feeds(self.command) and base_name(other.program) in _FEEDERS:
                texts += [*other.arguments, other.document]
        return "\n".join(texts)

    @property
    def has_clusters(self) -> bool:
        """Whether `-rf` means `-r -f`."""
        return self.found.name not in words_about("one dash") and not self.call.powershell

    @cached_property
    def flags(self) -> list[tuple[str, str]]:
        """Its flags, those of a cluster one by one, each with its value or the next word."""
        words = pairwise((*self.found.arguments, ""))
        flags = [flag for word, behind in words for flag in self.flags_of_word(word, behind)]
        if self.found.name == "git" and any(word[:1] == "+" for word in self.found.arguments):
            flags.append(("--force", ""))  # `git push origin +main`
        return flags

    def flags_of_word(self, word: str, behind: str) -> list[tuple[str, str]]:
        """Return the flags of one word, each with its value, which may be the word behind it."""
        if word[:1] != "-" or word in ("-", "--"):
            return []
        sign = ":" if self.call.powershell and ":" in word else "="
        name, equal, value = word.partition(sign)
        if not equal:
            value = "" if behind[:1] == "-" else behind
        if not self.has_clusters or len(name) == 2 or name[:2] == "--":
            return [(name, value)]
        if _CLUSTER.fullmatch(name):
            return [(f"-{letter}", value) for letter in name[1:]]
        return [(word[:2], word[2:]), (name, value)]  # -n50, and a long flag with one dash

    def has(self, item: str, arguments: Sequence[str] | None = None) -> bool:
        """Return whether the call has an item of a guard; `arguments` are those after the subcommands."""
        words = self.found.arguments if arguments is None else arguments
        if item == ANY_ARGUMENT:
            return any(is_operand(word) for word in words)
        if item == "&":
            return self.in_background
        if item.startswith("| "):
            return item[2:] in self.readers
        if item.endswith(" &&"):
            return any(_starts_with(other, item.split()[:-1]) for other in self.earlier)
        if item.endswith(" ..."):
            return item[:-4] in self.found.wrappers
        if item[:1] == '"':
            return has_words(self.text, item.strip('"'))
        if item[:1] == "-":
            return self._has_flag(item)
        if variable := _VARIABLE.fullmatch(item):
            return self._sets(variable[1], variable[2])
        return any(_is_argument(word, item) for word in words) or (
            "/" in item and _is_path(self.found.program, item)
        )

    @cached_property
    def _values(self) -> dict[str, set[str]]:
        """The values of each flag, and the flags as they are written."""
        values = {word: set[str]() for word in self.found.arguments if word[:1] == "-"}
        for flag, value in self.flags:
            values.setdefault(flag.lower() if self.call.powershell else flag, set()).add(value)
        return values

    def _has_flag(self, item: str) -> bool:
        name, equal, value = item.partition("=")
        values = self._values.get(name.lower() if self.call.powershell else name)
        return item in self._values or (values is not None and (not equal or value in values))

    def _sets(self, name: str, value: str) -> bool:
        set_here = [*self.command.assignments, *self.command.words]
        for other in self.earlier:
            if other.words[0] in ("", "export", "set", "declare"):
                set_here += [*other.assignments, *other.words]
        pairs = (word.partition("=") for word in set_here)
        return any(
            found == name and equal and value in ("", given) for found, equal, given in pairs
        )


@dataclass(frozen=True)
class HeadUses:
    """The programs of a call that a guard's head names, each with its arguments behind the subcommands."""

    programs: tuple[tuple[Program, tuple[str, ...]], ...]

    @cached_property
    def _flags(self) -> frozenset[str]:
        written = {word for _, rest in self.programs for word in rest if word[:1] == "-"}
        return frozenset(written) | {flag for one, _ in self.programs for flag, _ in one.flags}

    def may_have(self, group: Sequence[str]) -> bool:
        """Return whether any of them may have an item of a group: of plain flags, whether one of them is there at all."""
        if any(item[:1] != "-" or "=" in item for item in group):
            return True
        return self._is_powershell or not self._flags.isdisjoint(group)

    @cached_property
    def _is_powershell(self) -> bool:
        return any(one.call.powershell for one, _ in self.programs)


def _starts_with(command: Command, words: Sequence[str]) -> bool:
    for found in command.invocations:
        if found.name == program_name(words[0]) or _is_path(found.program, words[0]):
            rest = iter(found.arguments)
            if all(any(_is_argument(given, word) for given in rest) for word in words[1:]):
                return True
    return False


# Matching


def matches(guard: Guard, call: Call) -> bool:
    """True for a call that goes against the guard."""
    if guard.tool == EDIT and guard.has:
        written = (
            file for file in call.written if any(_is_path(file, path) for path in guard.has[0])
        )
        return any(not any(_is_path(file, path) for path in guard.lacks) for file in written)
    if guard.tool in (SHELL, POWERSHELL):
        here = guard.tool == SHELL or call.powershell
        return here and any(_is_met(guard, call.uses_of(head)) for head in guard.has[0])
    return (
        _is_same_tool(guard.tool, call.tool)
        and all(any(_has_value(call, item) for item in group) for group in guard.has)
        and not any(_has_value(call, item) for item in guard.lacks)
    )


def may_be_met(guard: Guard, call: Call) -> bool:
    """True for a call that was not read to its end, and has the program of a guard as a word.

    Nothing is concluded from it but that an enforced guard cannot let the call pass.
    """
    if guard.tool not in (SHELL, POWERSHELL) or not call.script.is_partial:
        return False
    return any(call.script.may_start(_name_of(head)) for head in guard.has[0])


def key_may_be_met(key: str, call: Call) -> bool:
    """Return whether a key may be of a guard that `may_be_met` says yes to."""
    return key.startswith("$ ") and call.script.may_start(key[2:])


def _name_of(head: str) -> str:
    return program_name(head.split(maxsplit=1)[0]).lower()


def _is_same_tool(one: str, other: str) -> bool:
    """True for one name; hosts write the server before it in their own way, or leave it out."""
    (servers, _, name), (others, _, same) = (
        one.lower().rpartition("__"),
        other.lower().rpartition("__"),
    )
    return name == same and (servers.endswith(others) or others.endswith(servers))


def _is_met(guard: Guard, uses: HeadUses) -> bool:
    """Return whether one of the programs of a guard's head has each of its groups, and nothing that it has to lack."""
    groups = guard.has[1:]
    if not all(uses.may_have(group) for group in groups):
        return False
    for program, rest in uses.programs:
        if rest and rest[0] in _ASKING:
            continue
        has_all = all(any(program.has(item, rest) for item in group) for group in groups)
        if has_all and not any(program.has(item, rest) for item in guard.lacks):
            return True
    return False


def after_head(head: Sequence[str], program: Program) -> tuple[str, ...] | None:
    """Return the arguments without the subcommands of `head`, None if the program or a subcommand is another."""
    name, *subcommands = head
    found = program.found
    same = _is_path(found.program, name) if "/" in name else found.name == program_name(name)
    if not same and not (program.call.powershell and found.name.lower() == name.lower()):
        return None
    words = list(found.arguments)
    at = 0
    for subcommand in subcommands:
        while at < len(words) and words[at] != subcommand and not _is_path(words[at], subcommand):
            # A word behind a flag may be its value: `git -C web push`.
            if words[at][:1] != "-" and (
                at == 0 or words[at - 1][:1] != "-" or "=" in words[at - 1]
            ):
                return None
            at += 1
        if at == len(words):
            return None
        del words[at]
    return tuple(words)


def is_operand(word: str) -> bool:
    """True for an argument that is neither a flag nor a number nor a setting."""
    return bool(word) and word[0] not in "-<>" and not _NUMBER.fullmatch(word) and "=" not in word


def _is_argument(word: str, item: str) -> bool:
    if word[:1] == "-":
        word = word.partition("=")[2] or word[2:]
    return _is_path(word, item) or word.rsplit(":", 1)[-1] == item


def _is_path(path: str, item: str) -> bool:
    """True if a path is `item` or ends with it, lies in the folder `item/`, or matches the pattern `item`."""
    path, item = (
        path.replace("\\", "/").removeprefix("./"),
        item.replace("\\", "/").removeprefix("./"),
    )
    if not path or not item:
        return False
    if item == "/":
        return path == item
    if path == item or f"/{path.rstrip('/')}".endswith(f"/{item}"):
        return True
    if item[-1] == "/":
        return f"/{item}" in f"/{path}/"
    if any(sign in item for sign in "*?[") and item != "*" and len(path) < 1_000:
        return fnmatchcase(path if "/" in item else base_name(path), item) or fnmatchcase(
            path, f"*/{item}"
        )
    return False


def has_words(text: str, phrase: str) -> bool:
    """True if words stand in a text one after the other, in any case."""
    pattern = r"\s+".join(re.escape(word) for word in phrase.split())
    return (
        bool(pattern)
        and re.search(rf"(?i)(?<!\w){pattern}(?!\w)", text[:_MOST_VALUE_CHARS]) is not None
    )


def _has_value(call: Call, item: str) -> bool:
    if item[:1] == '"':
        return any(has_words(value, item.strip('"')) for _, value in call.values)
    name, colon, wanted = item.partition(": ")
    for key, value in call.values:
        if key != name:
            continue
        if not colon:
            return True
        if (
            wanted[:1] in "<>"
            and _NUMBER.fullmatch(value)
            and _NUMBER.fullmatch(limit := wanted[1:].strip())
        ):
            if (float(value) > float(limit)) if wanted[0] == ">" else (float(value) < float(limit)):
                return True
        elif wanted[:1] == '"':
            if has_words(value, wanted.strip('"')):
                return True
        elif value.strip("#@ ").lower() == wanted.strip("#@ ").lower():
            return True
    return False
