"""Derives a guard from a wrong call, a right call and the words of a lesson.

The guard is the difference between the two calls that the lesson names, else the most obvious difference. Each
candidate is tried on both calls; the first that meets only the wrong one is used.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from mcp_reflect.guards.guard import (
    ANY_ARGUMENT,
    EDIT,
    POWERSHELL,
    SHELL,
    Call,
    Guard,
    Program,
    after_head,
    has_words,
    is_operand,
    matches,
    meets_everything,
)
from mcp_reflect.guards.wording import Wording, common, names_flag
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import VALUED, Command, Invocation, base_name

_PLAIN_WORD: Final = lazy_compile(r"[a-z][a-z0-9]*(?:[-:][a-z0-9]+)*")
_CAPITALS: Final = lazy_compile(r"\b[A-Z]{3,}(?: (?:[A-Z]{2,}|\*))*")
_LONG_FLAG: Final = lazy_compile(r"--[a-z]+(?:-[a-z]+)*")
_PLACEHOLDER: Final = lazy_compile(r"[A-Z][A-Z_]+|<.*>|\{.*\}|\[.*\]")
_FLAGS: Final = ("true", "false")
_NUMBER: Final = lazy_compile(r"-?\d+(?:\.\d+)?")
_SHELLS: Final = ("bash", "sh", "zsh")
_SCRIPTED: Final = frozenset("python python3 node ruby php bash sh perl".split())


# How many words after a program say what it does; unlisted programs: one, where both calls or the words have it.
_WITHOUT = """
    make gradle gradlew mvn mvnw just task rake ninja psql mysql sqlite3 pytest tsc eslint rm cp mv cat ls find
    grep egrep rg sed awk perl curl wget ssh scp rsync chmod chown tar python python3 node ruby php bash sh jest
    mocha prettier black mypy kill touch mkdir ln echo head tail sort sleep createdb dropdb redis-cli mongosh
    ansible-playbook pylint vitest
"""
_WITH_ONE = """
    git npm pnpm yarn bun pip pip3 uv poetry cargo go docker podman kubectl helm terraform tofu systemctl apt
    apt-get brew conda gem rustup flutter alembic manage.py artisan rails dbt docker-compose service dotnet
    bundle mix heroku fly vercel wrangler dnf yum apk snap
"""
_WITH_TWO = "gh glab aws az gcloud flask prisma supabase firebase doctl sam cdk"
DEPTHS: Final = {
    program: depth
    for depth, programs in enumerate((_WITHOUT, _WITH_ONE, _WITH_TWO))
    for program in programs.split()
}
LONGER: Final = frozenset(
    (
        "docker compose,docker system,docker image,docker container,docker volume,docker network,docker buildx,"
        "npm run,pnpm run,yarn run,bun run,npm audit,uv pip,uv tool,git stash,git remote,git worktree,git submodule,"
        "terraform state,terraform workspace,helm repo,kubectl rollout,cargo install"
    ).split(",")
)
TARGETED: Final = frozenset("make gradle gradlew mvn mvnw just task rake ninja".split())

# Long and short forms of one flag, where no lesson needs to say so.
SAME_FLAGS: Final = {
    head: tuple(tuple(pair.split("=")) for pair in pairs.split())
    for head, pairs in {
        "git push": "-f=--force -d=--delete",
        "git commit": "-a=--all -n=--no-verify",
        "git add": "-A=--all",
        "git rebase": "-i=--interactive",
        "git tag": "-a=--annotate",
        "rm": "-r=-R=--recursive -f=--force",
        "grep": "-r=-R=--recursive",
        "chmod": "-R=--recursive",
        "npm": "-g=--global -D=--save-dev",
        "docker": "-a=--all -v=--volumes -f=--force",
        "kubectl": "-n=--namespace -A=--all-namespaces",
        "curl": "-f=--fail -k=--insecure",
        "sed": "-i=--in-place",
        "kill": "-9=-KILL=-SIGKILL",
        "rsync": "-n=--dry-run",
        "poetry": "-G=--group",
        "cargo": "-r=--release -p=--package",
        "make": "-C=--directory",
    }.items()
}
SAME_HEADS: Final = {
    "npm install": ("npm i",),
    "pip": ("pip3",),
    "pip install": ("pip3 install",),
    "npm test": ("npm t",),
    "apt": ("apt-get",),
    "apt install": ("apt-get install",),
}


def derive(wrong: Call, right: Call | None, wording: Wording) -> Guard | None:
    """Return the first guard that meets the wrong call and not the right one; None if no difference decides."""
    for guard in _candidates(wrong, right, wording):
        if (
            not meets_everything(guard)
            and matches(guard, wrong)
            and not (right and matches(guard, right))
        ):
            return guard
    return None


def _candidates(wrong: Call, right: Call | None, wording: Wording) -> Iterator[Guard]:
    if wrong.shell:
        yield from _named_files(wrong, right, wording)
        yield from _of_commands(wrong, right, wording)
    elif wrong.written:
        if (
            right is not None
            and right.tool != wrong.tool
            and right.written[:1] == wrong.written[:1]
        ):
            yield Guard(wrong.tool, ((f'"{base_name(wrong.written[0])}"',),))
        yield from _named_files(wrong, right, wording)
        yield from _other_files(wrong)
    else:
        yield from _of_arguments(wrong, right, wording)


# Files


def _named_files(wrong: Call, right: Call | None, wording: Wording) -> Iterator[Guard]:
    """Guard the written file as the lesson names it: the file, its folder, or a pattern.

    If the right call writes a file of the same kind elsewhere, the guard of a folder is for that kind only.
    """
    if any(program.found.name in wording.wrong for program in wrong.programs):
        return
    for file in wrong.written:
        parts = [part for part in file.replace("\\", "/").split("/") if part and part != "."]
        places = range(len(parts))
        folders = [
            "/".join(parts[start:end]) + "/"
            for start in places
            for end in reversed(places)
            if end > start
        ]
        endings = [
            f"*.{ending}" for at in (1, 2) if (ending := parts[-1].split(".", at)[-1]) != parts[-1]
        ]
        kind = "".join(PurePosixPath(parts[-1]).suffixes[-2:])
        alike = (
            kind.count(".") > 1
            and right is not None
            and any(other.endswith(kind) for other in right.written)
        )
        for name in (*("/".join(parts[at:]) for at in places), *folders, *endings):
            plain = name.rstrip("/")
            if name in wording.wrong or (plain in wording.wrong and ("/" in plain or "_" in plain)):
                yield Guard(EDIT, ((f"{name}*{kind}" if alike and name[-1] == "/" else name,),))


def _other_files(wrong: Call) -> Iterator[Guard]:
    """Guard the file that is written, in its folder."""
    for file in wrong.written:
        path = PurePosixPath(file.replace("\\", "/"))
        yield Guard(EDIT, ((f"{path.parent.name}/{path.name}".lstrip("/"),),))


# Commands


@dataclass
class _Difference:
    """What the wrong command has and the right one lacks, and the other way round, each thing in all its forms."""

    has: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    lacks: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])


def _of_commands(wrong: Call, right: Call | None, wording: Wording) -> Iterator[Guard]:
    mine = _chosen(wrong, right, wording)
    if mine is None:
        return
    name = mine.found.name
    subcommands = _subcommands(mine.found, right, wording)
    theirs = _partner((name, *subcommands), mine, right, wording)
    found = _Difference()
    _compare_texts(found, mine, theirs, wording)
    _compare_flags(found, mine, theirs, (name, *subcommands), wording)
    _compare_surroundings(found, mine, theirs, wording)
    _compare_arguments(found, mine, theirs, right, (name, *subcommands), wording)
    right_is_named = any(program.found.name in wording.right for program in _programs(right))
    if (found.lacks or right_is_named) and _is_about_all(name, subcommands, found.lacks, wording):
        subcommands = []
    head = " ".join((name, *subcommands))
    heads = (head, *SAME_HEADS.get(head, ()))
    tool = POWERSHELL if wrong.powershell else SHELL
    groups = tuple(dict.fromkeys(found.has))
    if groups:
        yield Guard(tool, (heads, *groups))
    if found.lacks:
        yield Guard(tool, (heads, *groups), found.lacks[0])
    if theirs is None and (right is not None or subcommands):
        yield Guard(tool, (heads,))
    if theirs is not None and any(
        is_operand(word) for word in _operands(theirs) if word not in subcommands
    ):
        yield Guard(tool, (heads, *groups), (ANY_ARGUMENT,))


def _programs(call: Call | None) -> tuple[Program, ...]:
    return call.programs if call is not None else ()


def _operands(program: Program | None) -> list[str]:
    return (
        [word for word in program.found.arguments if word[:1] != "-"] if program is not None else []
    )


def _is_about_all(
    name: str, subcommands: list[str], lacks: Sequence[tuple[str, ...]], wording: Wording
) -> bool:
    """True if the mistake names a program alone: the lesson is about all that it does.

    A flag belongs to the subcommand that the correction names with it.
    """
    said = wording.runs(name)
    if (
        not subcommands
        or not said
        or any(run[:1] and run[0].startswith(subcommands[0]) for run in said)
    ):
        return False
    of_flag = any(forms[0][:1] == "-" for forms in lacks)
    return not (of_flag and subcommands[0] in wording.after(name, wording.correction))


def _chosen(wrong: Call, right: Call | None, wording: Wording) -> Program | None:
    """Return the command that the lesson is about: the one that it names."""
    scripts = {(program.found.name, *program.found.wrappers[-1:]) for program in _programs(right)}

    def score(program: Program) -> float:
        name, wrappers = program.found.name, program.found.wrappers
        points = 4.0 * (name in wording.wrong) + 2 * (name in wording.right) + 0.5 * len(wrappers)
        is_fed = any(other.feeds(program.command) for other in program.earlier)
        by_script = wrappers[-1:] != () and wrappers[-1] in _SCRIPTED & (
            wording.wrong | wording.right
        )
        return points - 6 * is_fed - 5 * (by_script and (name, wrappers[-1]) not in scripts)

    return max(wrong.programs, key=score, default=None)


def _partner(
    head: Sequence[str], mine: Program, right: Call | None, wording: Wording
) -> Program | None:
    """Return the same program with the same subcommand in the right call, else in a code span of the correction."""
    spans = [Call(SHELL, {"command": span}) for span in wording.right_spans]
    for call in (right, *spans):
        same = [program for program in _programs(call) if after_head(head, program) is not None]
        same = [program for program in same if call is right or program.found.arguments]
        if same:
            return max(
                same, key=lambda program: len({*program.found.arguments} & {*mine.found.arguments})
            )
    return None


def _subcommands(found: Invocation, right: Call | None, wording: Wording) -> list[str]:
    """Return the words that say what a program is to do: `compose down`.

    Of a program that is not listed it is the first word, where the mistake or the right call has it too.
    """
    words: list[str] = []
    skip = False
    for word in found.arguments:
        if skip:
            skip = False
        elif word[:1] == "-":
            skip = word in VALUED and not words
        elif _PLAIN_WORD.fullmatch(word):
            words.append(word)
        else:
            break
    runs = wording.runs(found.name)
    depth = DEPTHS.get(found.name)
    if depth is None:
        shared = words and any(
            after_head((found.name, words[0]), one) is not None for one in _programs(right)
        )
        return words[:1] if words and (shared or any(run[:1] == words[:1] for run in runs)) else []
    depth += " ".join((found.name, *words[:1])) in LONGER
    said = max((common(words, run) for run in runs), default=0) if depth else 0
    return words[: max(depth, said)]


def _compare_texts(
    found: _Difference, mine: Program, theirs: Program | None, wording: Wording
) -> None:
    """Compare the words in capitals of the lesson: what SQL has and lacks."""
    phrases = [phrase for phrase in _phrases(wording.mistake) if has_words(mine.text, phrase)]
    if not phrases:
        return
    missing = _phrases(" ".join(wording.missing))
    found.has += [(f'"{phrase}"',) for phrase in phrases if phrase not in missing][:2]
    needed = [
        *missing,
        *(word for word in _phrases(wording.correction) if theirs and has_words(theirs.text, word)),
    ]
    if lacks := dict.fromkeys(f'"{word}"' for word in needed if not has_words(mine.text, word)):
        found.lacks.append(tuple(lacks))


def _phrases(text: str) -> list[str]:
    return list(dict.fromkeys(match[0] for match in _CAPITALS.finditer(text)))


def _compare_flags(
    found: _Difference,
    mine: Program,
    theirs: Program | None,
    head: tuple[str, ...],
    wording: Wording,
) -> None:
    my_flags, their_flags = dict(mine.flags), dict(theirs.flags if theirs else ())
    forms = {flag: _forms(flag, head, wording) for flag in (*my_flags, *their_flags)}
    extra = [flag for flag in my_flags if not set(forms[flag]) & their_flags.keys()]
    absent = [flag for flag in their_flags if not set(forms[flag]) & my_flags.keys()]
    scope = wording.after(head[0]) | wording.avoided
    said = wording.wrong if theirs else scope
    replaced = {
        flag
        for flag in extra
        if any(other.startswith(f"{form}-") for form in forms[flag] for other in absent)
    }
    wrong = [flag for flag in extra if flag in replaced or names_flag(said, flag)]
    if (
        not wrong and not found.has
    ):  # what both have, and the lesson says of the wrong one, narrows it down
        wrong = [flag for flag in my_flags if flag not in extra and names_flag(scope, flag)]
    found.has += [forms[flag] for flag in wrong]
    named = [flag for flag in absent if names_flag(wording.right, flag)]
    missing = {word.lstrip("-") for word in wording.missing}
    named = [
        flag for flag in named if any(form.lstrip("-") in missing for form in forms[flag])
    ] or named
    # A long flag may have a short form, unless the wrong call uses that letter.
    short = {
        flag: (flag[1:3],) if _LONG_FLAG.fullmatch(flag) and flag[1:3] not in my_flags else ()
        for flag in absent
    }
    needed = {
        flag: tuple(dict.fromkeys((*forms[flag], *short[flag] * mine.has_clusters)))
        for flag in absent
    }
    if named:
        found.lacks.append(tuple(form for flag in named for form in needed[flag]))


def _forms(flag: str, head: tuple[str, ...], wording: Wording) -> tuple[str, ...]:
    """Return a flag with its other forms: what the lesson names beside it, and what everybody knows."""
    pairs = next(
        (SAME_FLAGS[name] for name in (" ".join(head[:2]), head[0]) if name in SAME_FLAGS), ()
    )
    known = next((pair for pair in (*pairs, ("-y", "--yes")) if flag in pair), ())
    return tuple(dict.fromkeys((flag, *known, *wording.alternatives(flag))))


def _compare_surroundings(
    found: _Difference, mine: Program, theirs: Program | None, wording: Wording
) -> None:
    """Compare what starts the program, its variables, the commands before it and what its output is piped into."""
    said = wording.wrong if theirs else wording.avoided
    wrong = [
        f"{name} ..."
        for name in mine.found.wrappers
        if name.split()[0] in said and name not in _SCRIPTED
    ]
    wrong += [word for word in mine.command.assignments if word in wording.wrong]
    wrong += [f"| {name}" for name in mine.readers if name in wording.wrong]
    for item in wrong:
        if theirs is None or not theirs.has(item):
            shell = item.startswith("| ") and item[2:] in _SHELLS
            found.has.append(tuple(f"| {name}" for name in _SHELLS) if shell else (item,))
    if theirs is None:
        return
    items: list[tuple[str, ...]] = [("&",)] if theirs.in_background else []
    items += [(f"| {name}",) for name in theirs.readers if name in wording.right]
    items += [(f"{word.partition('=')[0]}=",) for word in theirs.command.assignments]
    items += [_earlier(command) for command in theirs.earlier if any(command.words)]
    items += [(f"{name} ...",) for name in theirs.found.wrappers]
    items += [(theirs.found.program.removeprefix("./"),)] if "/" in theirs.found.program else []
    for forms in items:
        named = (
            any(term.startswith(forms[0]) for term in wording.right)
            if forms[0][-1] == "="
            else forms[0][0] in "|&"
        )
        named = named or not wording.right.isdisjoint(" ".join(forms).split()) or "/" in forms[0]
        if named and not mine.has(forms[0]):
            found.lacks.append(forms)


def _earlier(command: Command) -> tuple[str, ...]:
    """Return an earlier command as an item: its program and subcommand.

    A folder may also be the value of a flag: `npm --prefix web test`.
    """
    words = [word for word in command.words[:3] if word and " " not in word and word[:1] != "-"]
    words = words[: 2 + (" ".join(words[:2]) in LONGER)]
    return (f"{' '.join(words)} &&", *(words[1:] if words[0] in ("cd", "pushd") else ()))


def _compare_arguments(
    found: _Difference,
    mine: Program,
    theirs: Program | None,
    right: Call | None,
    head: tuple[str, ...],
    wording: Wording,
) -> None:
    words = [word for word in _operands(mine) if word not in head[1:] and " " not in word]
    their_words = _operands(theirs)
    different = [word for word in words if word not in their_words]
    said = wording.wrong if theirs else wording.after(head[0]) | wording.avoided
    if not DEPTHS.get(head[0], 1) and not found.has:  # `make deploy`
        found.has += [
            (word,) for word in words if word in their_words and word in wording.after(head[0])
        ]
    if theirs is None and not DEPTHS.get(head[0], 1):  # another program for the same file
        others = {word for program in _programs(right) for word in program.found.arguments}
        shared = [
            word for word in words if word in others and word in wording.wrong | wording.right
        ]
        found.has += [(word,) for word in shared][:2]
    # The value of a flag that decides alone is one of many.
    values = (
        ()
        if theirs
        else {value for flag, value in mine.flags if f"{flag} {value}" in wording.mistake}
    )
    for word in different:
        if word in values or (_NUMBER.fullmatch(word) and head[0] != "chmod"):
            continue  # `sleep 300`, `thermo set 21`
        parts = (word, word.removeprefix("./"), base_name(word), word.rsplit(":", 1)[-1])
        name = next((part for part in parts if part and part in said), None)
        if name and not _PLACEHOLDER.fullmatch(name) and len(found.has) < 4:
            found.has.append((name,))
    new = (
        word
        for word in their_words
        if word not in (*head, *mine.found.arguments) and word in wording.right
    )
    new = (word for word in new if not (_PLACEHOLDER.fullmatch(word) or _NUMBER.fullmatch(word)))
    if words and (name := next(new, None)):
        found.lacks.append((name,))


# Other tools


def _of_arguments(wrong: Call, right: Call | None, wording: Wording) -> Iterator[Guard]:
    mine = dict(wrong.values)
    theirs = (
        dict(right.values) if right is not None and right.tool == wrong.tool else dict[str, str]()
    )
    different = [(key, value) for key, value in mine.items() if value != theirs.get(key)]
    if has := [
        item for key, value in different for item in _wrong_values(key, value, theirs, wording)
    ]:
        yield Guard(wrong.tool, tuple((item,) for item in has[:3]))
    new = [(key, value) for key, value in theirs.items() if value != mine.get(key)]
    if lacks := [item for key, value in new for item in _right_values(key, value, wording)]:
        yield Guard(wrong.tool, (), (lacks[0],))
    if right is not None and right.tool != wrong.tool and wrong.tool in wording.wrong:
        yield Guard(wrong.tool, ())
    for key, value in new:
        if key not in mine:
            yield Guard(wrong.tool, (), (f"{key}: {value}" if value in _FLAGS else key,))


def _right_values(key: str, value: str, wording: Wording) -> list[str]:
    if not {value, value.strip("#@ ")}.isdisjoint(wording.right):
        return [f"{key}: {value}"]
    return [f"{key}: {value}" if value in _FLAGS else key] if key in wording.right else []


def _wrong_values(key: str, value: str, theirs: dict[str, str], wording: Wording) -> list[str]:
    """Return the values that the lesson names and the right call does not have."""
    if _NUMBER.fullmatch(value) and (limit := _limit(float(value), theirs.get(key), wording)):
        return [f"{key}: {limit}"]
    named = not _NUMBER.fullmatch(value) and not {value, value.strip("#@ ")}.isdisjoint(
        wording.wrong
    )
    if named or (key in wording.wrong and value in _FLAGS):
        return [f"{key}: {value}"]
    if said := [phrase for phrase in _phrases(wording.mistake) if has_words(value, phrase)]:
        return [f'{key}: "{phrase}"' for phrase in said[:2]]
    telling = [
        term
        for term in wording.wrong
        if len(term) > 3 and set("./_#@:") & set(term) and term in value
    ]
    if telling:
        return [f'{key}: "{max(telling, key=lambda term: (len(term), term))}"']
    return [key] if theirs and key not in theirs and key in wording.wrong else []


def _limit(value: float, other: str | None, wording: Wording) -> str | None:
    """Return the number that the words name between the wrong value and the right one, as a condition."""
    theirs = float(other) if other is not None and _NUMBER.fullmatch(other) else None
    for term in sorted(filter(_NUMBER.fullmatch, wording.wrong | wording.right)):
        if value > float(term) and (theirs is None or theirs <= float(term)):
            return f"> {term}"
        if value < float(term) and theirs is not None and theirs >= float(term):
            return f"< {term}"
    return None
