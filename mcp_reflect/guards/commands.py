"""A shell command as the shell reads it: its commands, and the programs that each of them starts.

Nothing here fails or takes long, whatever the text: an open quote reaches to the end, and `LIMIT` characters are read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from mcp_reflect.patterns import lazy_compile

LIMIT: Final = 60_000
"""The characters of a command that are read."""

_MOST_COMMANDS: Final = 400
_MOST_DEPTH: Final = 6  # of commands in commands: `$(…)`, `bash -c '…'`
_MOST_WRAPPERS: Final = 6

_PLAIN: Final = lazy_compile(r"[^\s\\'\"`$()<>|&;]+|'[^']*'?")
_OPERATOR: Final = lazy_compile(
    r"&>>?|\d?>>|\d?>&[\d-]?|\d?>\|?(?!\()|<<<|<<-?|<&\d?|[<>]\(|<|&&|\|\||\|&?|;[;&]{0,2}|&"
)
_QUOTED: Final = lazy_compile(r'[^\\"`$]+')
_ASSIGNMENT: Final = lazy_compile(r"[A-Za-z_]\w*\+?=")
_DEVICES: Final = ("/dev/null", "/dev/stdout", "/dev/stderr", "$null")
_KEYWORDS: Final = frozenset("if then else elif fi do done while until ! { } esac".split())
_SHELLS: Final = frozenset("bash sh zsh dash ksh su pwsh powershell eval".split())
_FEEDERS: Final = frozenset("echo printf cat".split())

# Programs that start the program named after their options, and such options that take a value.
_WRAPPERS: Final = frozenset(
    (
        "nohup,command,exec,builtin,setsid,caffeinate,chronic,winpty,unbuffer,cross-env,coverage run,pixi run,"
        "devbox run,direnv exec,ddev exec,poetry run,pdm run,rye run,hatch run,pipenv run,deno run,bundle exec,"
        "docker exec,podman exec,docker run,podman run,docker compose exec,docker-compose exec,docker compose run,"
        "docker-compose run,kubectl exec,ssh,npm exec,yarn exec,yarn dlx,bun x,pipx run,npx,bunx,pnpm dlx,asdf exec,"
        "pnpm exec,uv run,uvx,mise exec,mise x,doppler run,op run,dotenv run,dotenv,conda run,micromamba run,sudo,doas,"
        "env,nice,ionice,flock,time,stdbuf,timeout,xvfb-run,xargs"
    ).split(",")
)
VALUED: Final = frozenset(
    (
        "-e -u -w -v -p -n -c -C -f -g -h -k -l -s -F -I -J -L -P -U --env --user --workdir --name --network "
        "--container --package --spec --filter --with --from --python --extra --group --project --directory --env-file "
        "--command --adjustment --signal --kill-after --server-args --unset --index --file --namespace --context "
        "--project-name --profile --prefix --workspace --cwd --dir --project-directory --config --kubeconfig "
        "--manifest-path --region"
    ).split()
)
"""Options of many programs whose value is the next word."""

_WRAPPING: Final = frozenset(wrapper.split()[0] for wrapper in _WRAPPERS)
# Those that name something else before the program: a container, a machine, a time.
_WITH_OPERAND: Final = frozenset(
    {
        name
        for name in _WRAPPERS
        if name.split()[0] in ("docker", "docker-compose", "podman", "kubectl")
    }
    | {"ssh", "flock", "timeout", "direnv exec"}
)
_PYTHON_PROGRAMS: Final = ("manage.py", "runtests.py")
_INTERPRETERS: Final = frozenset(
    "python python2 python3 py node ruby php perl deno bun ts-node tsx".split()
)
# What these do themselves; another first word is a program of the project that they start.
_RUNNERS: Final = {
    name: frozenset((
        "install i add remove rm uninstall update up upgrade run exec dlx why list ls ll audit outdated config cache "
        "create init publish pack link unlink test t start stop build dev store import patch prune rebuild version "
        "workspace workspaces global info node fetch dedupe deploy env licenses root bin x pm login logout"
    ).split())
    for name in ("pnpm", "yarn", "bun")
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a line, without its quotes.

    `writes` holds the files that it redirects to, `text` what stands in its here-documents, `before` the operator that
    it follows, and `line` its words as they are written, with its redirects. The commands of one pipe have the same
    number, and those of one script: 0 for the line itself, -1 for what stands in `$(…)`.
    """

    words: tuple[str, ...]
    assignments: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    text: str = ""
    pipe: int = 0
    background: bool = False
    before: str = ""
    line: tuple[str, ...] = ()
    script: int = 0


@dataclass(frozen=True, slots=True)
class Invocation:
    """A program that a command starts, with its arguments; `wrappers` start it: `("sudo", "npx")`."""

    program: str
    arguments: tuple[str, ...]
    wrappers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The program without its folder and, after npx, its version."""
        return base_name(self.program).partition("@")[0] or self.program


def base_name(path: str) -> str:
    """Return the last part of a path of any system."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def read_commands(text: str, *, powershell: bool = False) -> tuple[Command, ...]:
    """Return the commands of a line or script in their order, those in `$(…)` and `bash -c '…'` too."""
    return tuple(_commands(text, powershell, 0, count()))


def _commands(text: str, powershell: bool, depth: int, numbers: Iterator[int]) -> list[Command]:
    reader, number = _Reader(text[:LIMIT], powershell=powershell), next(numbers)
    while reader.at < len(reader.text) and len(reader.drafts) < _MOST_COMMANDS:
        reader.read("", depth)
    commands: list[Command] = []
    for draft in reader.drafts:
        command = draft.command(-1 if draft.inner else number)
        if command is None:
            continue
        commands.append(command)
        if depth < _MOST_DEPTH and (script := _script_of(command)):
            inner = _commands(script, powershell or "pwsh" in command.words[0], depth + 1, numbers)
            commands += [
                replace(one, assignments=(*command.assignments, *one.assignments)) for one in inner
            ]
    return commands[:_MOST_COMMANDS]


def _script_of(command: Command) -> str:
    """Return the script that a shell is given: `bash -lc '…'`, `eval …`, a here-document."""
    for invocation in invocations(command):
        name = invocation.name.lower().removesuffix(".exe")
        if " " in invocation.program:  # ssh HOST 'the command'
            return " ".join((invocation.program, *invocation.arguments))
        if name not in _SHELLS:
            continue
        if name == "eval":
            return " ".join(invocation.arguments)
        for at, word in enumerate(invocation.arguments[:-1]):
            if word.lower() in ("-command", "--command") or (
                word[:1] == "-" and word[-1:] == "c" and len(word) < 5
            ):
                return invocation.arguments[at + 1]
        return command.text
    return ""


@dataclass(slots=True)
class _Draft:
    """A command that is still being read."""

    pipe: int
    before: str
    inner: bool
    line: list[str] = field(default_factory=list[str])
    words: list[str] = field(default_factory=list[str])
    writes: list[str] = field(default_factory=list[str])
    texts: list[str] = field(default_factory=list[str])
    background: bool = False

    def command(self, script: int) -> Command | None:
        words = self.words
        start = next((at for at, word in enumerate(words) if word not in _KEYWORDS), len(words))
        end = next(
            (at for at in range(start, len(words)) if not _ASSIGNMENT.match(words[at])), len(words)
        )
        if end == len(words) and start == end and not self.writes:
            return None
        return Command(
            tuple(words[end:]) or ("",),
            tuple(words[start:end]),
            tuple(file for file in self.writes if file and file not in _DEVICES),
            "\n".join(self.texts),
            self.pipe,
            self.background,
            self.before,
            tuple(self.line),
            script,
        )


class _Reader:
    """Reads a text once, from its start to its end."""

    def __init__(self, text: str, *, powershell: bool) -> None:
        self.text = text
        self.at: int = 0
        self.drafts: list[_Draft] = []
        self._powershell = powershell
        self._escape = "`" if powershell else "\\"
        self._documents: list[tuple[_Draft, str]] = []
        self._pipe = 0

    def read(self, end: str, depth: int) -> None:
        """Read commands up to `end`, the sign that closes them."""
        inner = bool(end)
        draft, open_groups = self._begin("(" if inner else "", inner=inner), 0
        while self.at < len(self.text) and len(self.drafts) < _MOST_COMMANDS:
            sign = self.text[self.at]
            if sign == self._escape and self.text[self.at + 1 : self.at + 2] == "\n":
                self.at += 2
            elif sign == "\n":
                self.at += 1
                self._read_documents()
                draft = self._begin("\n", inner=inner) if draft.line else draft
            elif sign.isspace():
                self.at += 1
            elif sign == "#" and self.text[self.at - 1 : self.at] != "$":
                found = self.text.find("\n", self.at)
                self.at = len(self.text) if found < 0 else found
            elif sign in "()":
                self.at += 1
                if sign == end and not open_groups:
                    return
                open_groups = max(open_groups + (1 if sign == "(" else -1), 0)
                draft = self._begin(sign, inner=inner)
            elif operator := _OPERATOR.match(self.text, self.at):
                self.at = operator.end()
                draft = self._operate(operator[0], draft, depth, inner=inner)
            else:
                draft.words.append(self._word(depth))
                draft.line.append(draft.words[-1])

    def _begin(self, before: str, *, inner: bool) -> _Draft:
        self._pipe += before not in ("|", "|&")
        self.drafts.append(_Draft(self._pipe, before, inner))
        return self.drafts[-1]

    def _operate(self, operator: str, draft: _Draft, depth: int, *, inner: bool) -> _Draft:
        if operator[-1:] == "(":
            self._substitute(depth)
            draft.words.append("<(…)")
            draft.line.append("<(…)")
        elif operator in ("<<", "<<-"):
            self._skip_blanks()
            self._documents.append((draft, self._word(depth)))
            draft.line += ["<<", self._documents[-1][1]]
        elif operator == "<<<":
            self._skip_blanks()
            draft.texts.append(self._word(depth))
        elif "<" in operator or (">" in operator and operator[-1] in "0123456789-"):
            if operator == "<":
                self._skip_blanks()
                draft.line += ["<", self._word(depth)]
        elif ">" in operator:
            self._skip_blanks()
            draft.writes.append(self._word(depth))
            if draft.writes[-1] not in (*_DEVICES, "1", "2"):
                draft.line += [operator.strip("0123456789|"), draft.writes[-1]]
        else:
            draft.background = operator == "&"
            return self._begin(operator, inner=inner)
        return draft

    def _skip_blanks(self) -> None:
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1

    def _word(self, depth: int, *, quoted: bool = False) -> str:
        """Read a word, or, `quoted`, the part of one up to the closing quote."""
        parts: list[str] = []
        while self.at < len(self.text):
            sign = self.text[self.at]
            if plain := (_QUOTED if quoted else _PLAIN).match(self.text, self.at):
                parts.append(plain[0] if quoted else plain[0].strip("'"))
                self.at = plain.end()
            elif sign == '"':
                self.at += 1
                if quoted:
                    break
                parts.append(self._word(depth, quoted=True))
            elif sign == self._escape:
                follower = self.text[self.at + 1 : self.at + 2]
                if quoted:
                    parts.append(follower if follower in '"\\$`' else f"{sign}{follower}")
                elif follower != "\n":
                    parts.append(follower)
                self.at += 2
            elif sign in "$`":
                parts.append(self._expansion(depth))
            elif sign == "\\":  # PowerShell's folders
                parts.append(sign)
                self.at += 1
            else:
                break
        return "".join(parts)

    def _expansion(self, depth: int) -> str:
        """Read `$(…)`, `` `…` `` or `${…}`; the commands in it are commands of the line."""
        start = self.at
        following = self.text[start + 1 : start + 2]
        if self.text[start] == "`":
            found = self.text.find("`", start + 1)
            found = len(self.text) if found < 0 else found
            if depth < _MOST_DEPTH:
                inner = _Reader(self.text[start + 1 : found], powershell=False)
                inner.read("`", depth + 1)
                self.drafts[-1:-1] = inner.drafts
            self.at = found + 1
        elif following == "(" and depth < _MOST_DEPTH:
            self.at += 2
            self._substitute(depth)
        elif following == "{":
            found = self.text.find("}", start)
            self.at = len(self.text) if found < 0 else found + 1
        else:
            self.at += 1
        return self.text[start : self.at]

    def _substitute(self, depth: int) -> None:
        """Read the commands up to a closing parenthesis, and put them before the one that they stand in."""
        if depth >= _MOST_DEPTH:
            return
        outer, pipe = self.drafts.pop(), self._pipe
        self.read(")", depth + 1)
        self.drafts.append(outer)
        self._pipe = max(self._pipe, pipe) + 1
        outer.pipe = outer.pipe if outer.pipe != pipe else self._pipe

    def _read_documents(self) -> None:
        for draft, name in self._documents:
            closing = re.compile(rf"^\t*{re.escape(name)}[ \t]*$", re.MULTILINE).search(
                self.text, self.at
            )
            end = closing.start() if closing else len(self.text)
            draft.texts.append(self.text[self.at : end])
            self.at = closing.end() if closing else end
        self._documents.clear()


def invocations(command: Command) -> Iterator[Invocation]:
    """Yield the programs that a command starts, from the outside to the inside: `sudo`, `npx`, `tsc`."""
    words = command.words
    wrappers: tuple[str, ...] = ()
    for _ in range(_MOST_WRAPPERS):
        if not words or not words[0]:
            return
        found = Invocation(words[0], words[1:], wrappers)
        yield found
        wrapper, words = _unwrapped(found)
        wrappers = (*wrappers, wrapper)


def _unwrapped(outer: Invocation) -> tuple[str, tuple[str, ...]]:
    """Return what starts the inner program, and the words of that; no words where there is none."""
    name, words = outer.name, outer.arguments
    if wrapped := _in_wrapper(name, words):
        return wrapped
    first = words[0] if words else ""
    if name == "find":
        places = (place for place, word in enumerate(words) if word in ("-exec", "-execdir", "-ok"))
        return "find -exec", words[next(places, len(words)) + 1 :]
    if name in _RUNNERS:
        return name, words if first and first[0] != "-" and first not in _RUNNERS[name] else ()
    if name in _INTERPRETERS:
        start = next(
            (at for at, word in enumerate(words) if word[:1] != "-" or word in ("-c", "-e", "-m")),
            len(words),
        )
        if words[start : start + 1] == ("-m",):
            return f"{name} -m", words[start + 1 :]
        script = words[start] if start < len(words) else ""
        return name, words[start:] if script[:1] not in ("-", "") and " " not in script else ()
    return "", ()


def _in_wrapper(name: str, words: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
    """Return the wrapper that begins here, and the words that it starts; None if there is none."""
    if name not in _WRAPPING:
        return None
    places = [
        at
        for at, word in enumerate(words[:8])
        if word[:1] != "-" and (at == 0 or words[at - 1] not in VALUED)
    ]
    for taken in range(len(places[:2]), -1, -1):
        wrapper = " ".join((name, *(words[at] for at in places[:taken])))
        if wrapper in _WRAPPERS:
            left = words[places[taken - 1] + 1 :] if taken else words
            return wrapper, _after_options(left, wrapper)
    return None


def _after_options(words: Sequence[str], wrapper: str) -> tuple[str, ...]:
    at, operands = 0, int(wrapper in _WITH_OPERAND)
    while at < len(words):
        word = words[at]
        if word == "--":
            return tuple(words[at + 1 :])
        if word in VALUED or (wrapper == "ssh" and word in ("-i", "-o", "-R", "-D")):
            at += 2
        elif word[:1] == "-" or _ASSIGNMENT.match(word):
            at += 1
        elif operands:
            operands, at = operands - 1, at + 1
        else:
            break
    return tuple(words[at:])


def unwrapped(words: Sequence[str]) -> list[str]:
    """Return the words of a command without assignments and wrappers, its program by its bare name."""
    rest = tuple(words)
    for _ in range(_MOST_WRAPPERS):
        starts = (
            at for at, word in enumerate(rest) if not (_ASSIGNMENT.match(word) or word in _KEYWORDS)
        )
        rest = rest[next(starts, len(rest)) :]
        if not rest:
            break
        wrapper, inner = _unwrapped(Invocation(rest[0], rest[1:]))
        if not inner:
            break
        by_python = wrapper.startswith("py") and (
            wrapper[-2:] == "-m" or base_name(inner[0]) in _PYTHON_PROGRAMS
        )
        if not (wrapper in _WRAPPERS or by_python) or inner[0] == "build":
            break
        rest = inner
    return [_bare(rest[0]), *rest[1:]] if rest else []


def _bare(word: str) -> str:
    """Return a program's name without its folder, ending and version."""
    bare = base_name(word).removesuffix(".exe").removesuffix(".cmd")
    return {"gradlew": "gradle", "mvnw": "mvn"}.get(
        bare, re.sub(r"^(pip|python)[\d.]+$", r"\1", bare)
    )


def fed_text(command: Command, commands: Sequence[Command]) -> str:
    """Return the texts that a command is given: its arguments, its here-document, what echo pipes into it."""
    texts = [*command.words[1:], command.text]
    for other in commands:
        if (
            other.pipe == command.pipe
            and other is not command
            and base_name(other.words[0]) in _FEEDERS
        ):
            texts += [*other.words[1:], other.text]
    return "\n".join(texts)


_EDITORS: Final = frozenset(
    "tee truncate patch install ed ex set-content add-content out-file clear-content".split()
)
_FILTERS: Final = frozenset("sed gsed perl ruby awk gawk yq".split())
_IN_PLACE: Final = lazy_compile(r"--in-place|-[^-]?[^-]?i")
_COPIERS: Final = frozenset("cp mv copy-item move-item".split())
_PATCHED: Final = lazy_compile(r"(?m)^\*\*\* (?:Update|Delete|Add) File: (.+)$")


def patched_files(text: str) -> list[str]:
    """Return the files that a patch of `apply_patch` changes."""
    return _PATCHED.findall(text[:LIMIT])


def written_files(command: Command) -> list[str]:
    """Return the files that a command changes: by a redirect, `sed -i`, `tee`, `cp`, `mv` and similar."""
    files = list(command.writes)
    for invocation in invocations(command):
        name, words = invocation.name.lower(), invocation.arguments
        operands = [word for word in words if word[:1] != "-"]
        in_place = name in _FILTERS and any(_IN_PLACE.match(word) for word in words)
        if in_place or name in _EDITORS:
            files += operands
        elif name in _COPIERS and len(operands) > 1:
            files.append(operands[-1])
        elif name == "dd":
            files += [word[3:] for word in words if word.startswith("of=")]
        elif name == "apply_patch":
            files += patched_files("\n".join((*words, command.text)))
    return files
