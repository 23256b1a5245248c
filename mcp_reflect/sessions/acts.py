"""The acts of a call, by which two calls are known to do the same.

An act of a shell is a program and its subcommand (`kubectl get`); of another tool it is the tool and the argument that
names its object (`Edit app.ts`). What only looks or prepares (`cd`, `ls`) is no act.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from mcp_reflect.evidence.command_kinds import kinds_of
from mcp_reflect.evidence.kinds import CHECKS
from mcp_reflect.guards.shell_tools import is_shell, tool_words
from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import SessionCall
from mcp_reflect.sessions.tools import Kind, command_of, file_of, kind_of, named_arguments, parts_of
from mcp_reflect.sessions.word_tables import word_set
from mcp_reflect.shell import INTERPRETERS, READING_PROGRAMS, TELLING_FLAGS, Part, is_idle

_WITHOUT_EFFECT: Final = word_set(
    "cd pushd popd echo printf export set source . true false : sleep wait test [ exit return local"
)
_SETTING: Final = word_set("export set source . setx $env")
_PROBES: Final = word_set(
    "which command type whereis ping pgrep lsof ps find fd diff cmp nc dig host ls stat pwd date env printenv"
)
_FILE_HANDLING: Final = word_set("cp mv rm mkdir touch chmod chown ln tee sed awk perl kill pkill")
# Programs that are no act by themselves. What jq refuses is its own doing, not that of the program before it.
_SILENT: Final = (_WITHOUT_EFFECT | READING_PROGRAMS | _PROBES | _FILE_HANDLING) - {"jq"}
_CHECK_WORDS: Final = word_set(
    "check status verify validate test tests health ready doctor lint ping state"
)
_TASK_WORDS: Final = _CHECK_WORDS | word_set("build compile typecheck tsc types format ci")
_TASK_RUNNERS: Final = word_set(
    "npm pnpm yarn bun make just task rake invoke nx turbo composer poe"
)
# Programs whose checks are about code: that they fail is a normal part of the work.
_CODE_PROGRAMS: Final = word_set("""
    git ruff cargo go tsc deno biome gradle gradlew mvn mvnw sbt dotnet swift mix rails rake poetry uv hatch tox nox
    python python3 node pre-commit bazel flutter dart ng vite vitest jest zig cabal stack dune terraform tofu ty mypy
    black isort prettier eslint helm cypress playwright phpunit artisan rubocop xcodebuild node
""")
_RUNNERS_OF_DOTTED_TASKS: Final = word_set("mix gradle gradlew sbt")  # mix ecto.migrate
_SCRIPT_ENDINGS: Final = (".ps1", ".sh", ".bat", ".cmd", ".py", ".rb", ".js", ".ts")
_DEEDS_ON_A_PAGE: Final = word_set("click type fill press drag upload submit")
_EDITS: Final = word_set("edit write replace patch multiedit create insert str")
_OBJECTS: Final = (
    "file_path path filename file notebook_path target_file url uri id key name title card issue ticket"
).split()
_HELP: Final = TELLING_FLAGS | {"help", "man", "usage"}
_HELP_ALONE: Final = word_set("-h -v -V version")


@dataclass(frozen=True, slots=True)
class SessionAct:
    """One act of a call.

    `cd web && export CI=1 && npx vitest run a.ts --bail` has one act: its `name` is `vitest run`, its `operands` are
    {"a.ts"}, its `flags` {"--bail"}, its `folder` is `web`, and its `setup` is `export CI=1` and `npx`. Of a call of
    another tool, `operands` are the values of the arguments, `flags` their names, and `part` is None.
    """

    name: str
    operands: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    part: Part | None = None
    folder: str = ""
    setup: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The program of a command; of another tool the whole name."""
        if self.part is None:
            return self.name
        return program_of(self.part)

    @property
    def words(self) -> frozenset[str]:
        """What the program is told to do: its subcommand and operands."""
        return self.operands | {*self.name.split(" ")[1:]}

    @property
    def is_test(self) -> bool:
        """True for tests, type checks, lint and builds: that they fail is a normal part of the work."""
        return self.part is not None and is_code_check(self.part)

    @property
    def is_idle(self) -> bool:
        """True for a command that does not do its work: it lists, or only pretends (`--dry-run`)."""
        return self.part is not None and is_idle(self.part.own_words)

    @property
    def is_own_check(self) -> bool:
        """True for a check by the program that does the work: `./shopctl check`, `./vault verify box7`."""
        return self.part is not None and is_own_check(self.part)


def acts_of(call: SessionCall) -> tuple[SessionAct, ...]:
    """Return the acts of a call, in order; none for words of the shell without effect, looks and probes."""
    parts = parts_of(call.tool, call.arguments)
    if not parts and not is_shell(call.tool):
        return (_act_of_tool(call),)
    acts: list[SessionAct] = []
    folder = ""
    setup: tuple[str, ...] = ()
    for part in parts:
        if part.program == "cd":
            folder = part.words[-1]
        elif part.program in _SETTING:
            setup = (*setup, part.text)
        elif not _is_silent(part):
            act = act_of_part(part)
            acts.append(replace(act, folder=folder, setup=(*setup, *part.runner)))
    return tuple(acts)


def ends_with_look(call: SessionCall) -> bool:
    """True where the last command of a line only shows or filters (`make; tail log`): the output is not that of the act."""
    parts = parts_of(call.tool, call.arguments)
    return bool(parts) and _is_silent(parts[-1])


@lru_cache(maxsize=2_000)
def act_of_part(part: Part) -> SessionAct:
    """Return the act of one command: its program with its subcommand, or the script that an interpreter runs."""
    program = program_of(part)
    subcommand = part.subcommand
    if program in _RUNNERS_OF_DOTTED_TASKS:
        subcommand = next(iter(part.operands), "")
    rest = [word for word in part.own_words[1:] if word != subcommand]
    operands = [word for word in rest if not word.startswith("-")]
    if program in INTERPRETERS | {"powershell", "pwsh"}:
        program, operands = _script_of(part, operands)
        subcommand = ""
    elif program.endswith(_SCRIPT_ENDINGS):
        program = PurePosixPath(program).stem.lstrip(".")
    if part.runner[-1:] == ("-m",):  # `python -m scripts.export` is `python scripts/export.py`
        program = program.rsplit(".", 1)[-1]
    flags = frozenset(word.partition("=")[0] for word in rest if word.startswith("-"))
    name = f"{program} {subcommand}".strip()
    return SessionAct(name, frozenset(operands), flags, part)


def program_of(part: Part) -> str:
    """Return the program's name without its folder and the ending of Windows."""
    name = _base_name(part.program)
    if not name.endswith(".exe"):
        return name
    return name.removesuffix(".exe").casefold()


def _script_of(part: Part, operands: Sequence[str]) -> tuple[str, list[str]]:
    """Return what an interpreter runs, a script or a module under one name, and its other operands.

    `python scripts/export.py shop` gives ("export", ["shop"]), and `python -c "…"` gives ("python -c", []).
    """
    if not operands:
        return part.program, []
    runs_code_of_its_own = "-c" in part.own_words or "-e" in part.own_words
    if runs_code_of_its_own:
        return f"{part.program} -c", []
    scripts = [word for word in operands if word.endswith(_SCRIPT_ENDINGS)]
    script = (*scripts, operands[0])[0]
    others = [*operands[operands.index(script) + 1 :]]
    if "-m" in part.own_words:  # a module
        return script.rsplit(".", 1)[-1], others
    return PurePosixPath(_base_name(script)).stem.lstrip("."), others


def _act_of_tool(call: SessionCall) -> SessionAct:
    """Return the act of a call that is no shell's: the tool with its object, `create_card fixlogin`."""
    values = named_arguments(call.arguments)
    tool = "edit" if is_edit(call) else call.tool  # one file, whichever tool edits it
    name = f"{tool} {_object_of(call)}".strip()
    operands = frozenset(str(value)[:200] for value in values.values())
    return SessionAct(name, operands, frozenset(values))


def _object_of(call: SessionCall) -> str:
    """Return what a call is about: a file by its name, an address whole, anything else by its letters and digits.

    So `fix login` and `fix-login` are one object. Empty where no argument names one.
    """
    file = file_of(call.arguments)
    if file and "://" in file:
        return file
    if file:
        return _base_name(file)
    values = named_arguments(call.arguments)
    for key in _OBJECTS:
        name = values.get(key)
        if name:
            return str(name) if "://" in str(name) else _plain(str(name))
    return ""


def _base_name(path: str) -> str:
    """Return the name of a file without its folders, of Windows too."""
    return path.rstrip("/").replace("\\", "/").rsplit("/", 1)[-1]


def _plain(name: str) -> str:
    """Return the letters and digits of a name, in one case: "fixlogin" of "Fix-login"."""
    return re.sub(r"[\W_]+", "", name.casefold())


def _is_silent(part: Part) -> bool:
    """True for a command that is no act: it only looks, or asks for help."""
    program = program_of(part)
    return program in _SILENT or asks_for_help(part)


def asks_for_help(part: Part) -> bool:
    """True where a command asks what a program can do: `git push --help`, `kubectl help`, `node -v`."""
    words = {*part.own_words[1:]}
    return bool(_HELP & words) or (len(words) == 1 and words <= _HELP_ALONE)


@lru_cache(maxsize=2_000)
def is_code_check(part: Part) -> bool:
    """True for a run of tests, a type check, lint or a build: `pytest`, `tsc`, also as a project's task: `npm run lint`."""
    is_task = part.program in _TASK_RUNNERS and not _TASK_WORDS.isdisjoint(
        part.subcommand.replace(":", " ").split()
    )
    return is_task or (not CHECKS.isdisjoint(kinds_of(part.own_words)) and not is_own_check(part))


@lru_cache(maxsize=2_000)
def is_own_check(part: Part) -> bool:
    """True for a check by the program that does the work: `./shopctl check`, `./vault verify box7`."""
    last = part.subcommand.rsplit(" ", 1)[-1]
    return last in _CHECK_WORDS and program_of(part) not in _CODE_PROGRAMS | _TASK_RUNNERS


def is_edit(call: SessionCall) -> bool:
    """True for a call that only changes files: `Edit`, `sed -i`, `echo … > notes.md`."""
    if is_shell(call.tool):
        return not acts_of(call) and _writes_files(call)
    if named_arguments(call.arguments).get("command") == "view":
        return False  # an editor that shows a file
    named = file_of(call.arguments) is not None or call.tool == "edit"
    return named and bool(tool_words(call.tool) & _EDITS)


def _writes_files(call: SessionCall) -> bool:
    """True for a command that handles files or writes into one."""
    parts = parts_of(call.tool, call.arguments)
    handles = any(program_of(part) in _FILE_HANDLING for part in parts)
    return handles or ">" in (command_of(call.arguments) or "")


def is_look(call: SessionCall) -> bool:
    """True for a call of a tool that reads or searches, and of a shell that does nothing else."""
    if is_shell(call.tool):
        return not acts_of(call) and not _writes_files(call)
    if tool_words(call.tool) & _DEEDS_ON_A_PAGE:
        return False
    return kind_of(call.tool, call.arguments) in (Kind.READ, Kind.SEARCH)


def changes_something(call: SessionCall) -> bool:
    """True for a call that worked and may have changed what another call meets."""
    return not call.failed and not is_look(call)


def waits(call: SessionCall) -> bool:
    """True for a call in which time passes."""
    return any(part.program in ("sleep", "wait") for part in parts_of(call.tool, call.arguments))


def normalized(arguments: Json) -> str:
    """Return arguments as a text with single blanks, to compare them."""
    return " ".join(str(arguments).split())
