"""Derives a guard from a wrong call, a right call and the words of a lesson.

The difference between the two calls that the words name decides; without a name, the plainest difference. Every guard
is tried on both calls, and the first that meets the wrong one alone is taken.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from mcp_reflect.guards.commands import Command, Invocation, base_name, fed_text
from mcp_reflect.guards.guard import (
    ANY_ARGUMENT,
    EDIT,
    ONE_DASH,
    POWERSHELL,
    SHELL,
    Call,
    Guard,
    after_head,
    has_words,
    is_operand,
    matches,
    meets_everything,
)
from mcp_reflect.guards.programs import DEPTHS, LONGER, SAME_FLAGS, SAME_HEADS, TARGETED
from mcp_reflect.guards.wording import Wording, common, names_flag
from mcp_reflect.patterns import lazy_compile

_GLOBAL_VALUES: Final = frozenset(
    "-C -c -f -n -p --context --namespace --prefix --profile --region --project --file --filter --cwd --dir".split()
)
_PLAIN_WORD: Final = lazy_compile(r"[a-z][a-z0-9]*(?:[-:][a-z0-9]+)*")
_CAPITALS: Final = lazy_compile(r"\b[A-Z]{3,}(?: (?:[A-Z]{2,}|\*))*")
_LONG_FLAG: Final = lazy_compile(r"--[a-z]+(?:-[a-z]+)*")
_CLUSTER: Final = lazy_compile(r"-[A-Za-z]{2,5}")
ORDER: Final = lazy_compile(r"(?i)\b(?:first|before|beforehand)\b|, then\b")
"""Words that say which call comes first."""

_CLUSTERED: Final = lazy_compile(r"(?:^|\s)-[A-Za-z]{2,5}$")
_ATTACHED: Final = lazy_compile(r"(-[A-Za-z])\d+")
_PLACEHOLDER: Final = lazy_compile(r"[A-Z][A-Z_]+|<.*>|\{.*\}|\[.*\]")
_FLAGS: Final = ("true", "false")
_NUMBER: Final = lazy_compile(r"-?\d+(?:\.\d+)?")
_SHELLS: Final = frozenset("bash sh zsh".split())
_SCRIPTED: Final = frozenset("python python3 node ruby php bash sh perl".split())


def derive(wrong: Call, right: Call | None, wording: Wording) -> Guard | None:
    """Return the first guard that meets the wrong call and not the right one; None where no difference decides."""
    for guard in _candidates(wrong, right, wording):
        if not meets_everything(guard) and matches(guard, wrong) and not (right and matches(guard, right)):
            return guard
    return None


def _candidates(wrong: Call, right: Call | None, wording: Wording) -> Iterator[Guard]:
    if wrong.shell:
        yield from _named_files(wrong, right, wording)
        yield from _of_commands(wrong, right, wording)
    elif wrong.written:
        if right is not None and right.tool != wrong.tool and right.written[:1] == wrong.written[:1]:
            yield Guard(wrong.tool, ((f'"{base_name(wrong.written[0])}"',),))
        yield from _named_files(wrong, right, wording)
        yield from _other_files(wrong, right)
    else:
        yield from _of_arguments(wrong, right, wording)


# Files


def _named_files(wrong: Call, right: Call | None, wording: Wording) -> Iterator[Guard]:
    """Guard the written file as the words name it: the file, its folder, a pattern.

    Where the right call writes a file of the same kind elsewhere, a folder is guarded against that kind alone.
    """
    if wrong.shell and any(found.name in wording.wrong for _, found in wrong.invocations):
        return
    for file in wrong.written:
        path = file.replace("\\", "/")
        parts = [part for part in path.split("/") if part and part != "."]
        tails = ["/".join(parts[at:]) for at in range(len(parts))]
        folders = [
            "/".join(parts[start:end]) + "/" for start in range(len(parts)) for end in range(len(parts) - 1, start, -1)
        ]
        endings = [f"*.{ending}" for at, ending in enumerate(_endings(parts[-1:])) if at < 3]
        for name in (*tails, *folders, *endings):
            forms = {name, name.rstrip("/")} if "/" in name.rstrip("/") or "_" in name or name[-1] != "/" else {name}
            if forms & wording.wrong:
                ending = f"*.{_endings(parts[-1:])[0]}" if parts[-1].count(".") > 1 else ""
                alike = right is not None and any(other.endswith(ending[1:]) for other in right.written)
                yield Guard(EDIT, ((f"{name}{ending}" if ending and alike and name[-1:] == "/" else name,),))


def _endings(names: Sequence[str]) -> list[str]:
    """Return the endings of a file's name, the longest first: `pb.go`, `go`."""
    parts = names[0].split(".") if names else []
    return [".".join(parts[at:]) for at in range(1, len(parts))]


def _other_files(wrong: Call, right: Call | None) -> Iterator[Guard]:
    """Guard the file that is written, with its folder where the right call writes into another one."""
    folder_of_right = PurePosixPath(right.written[0].replace("\\", "/")).parent.name if right and right.written else ""
    for file in wrong.written:
        path = PurePosixPath(file.replace("\\", "/"))
        name = path.name if path.parent.name in ("", folder_of_right) else f"{path.parent.name}/{path.name}"
        yield Guard(EDIT, ((name,),))


# Commands


class _Program(NamedTuple):
    """A program that a command of a call starts."""

    call: Call
    command: Command
    found: Invocation

    @property
    def flags(self) -> dict[str, str]:
        """Its flags, those of a cluster one by one, each with the word behind it."""
        flags: dict[str, str] = {}
        for word, behind in pairwise((*self.found.arguments, "")):
            if word[:1] != "-" or word in ("-", "--"):
                continue
            name, equal, value = word.partition("=")
            value = value if equal else "" if behind[:1] == "-" else behind
            clusters = self.found.name not in ONE_DASH and not self.call.powershell
            if attached := _ATTACHED.fullmatch(name):
                flags[attached[1]] = name[2:]
            elif clusters and _CLUSTER.fullmatch(name):
                flags |= {f"-{letter}": value for letter in name[1:]}
            else:
                flags[name] = value
        return flags

    @property
    def text(self) -> str:
        return fed_text(self.command, self.call.commands)

    @property
    def place(self) -> int:
        return self.call.commands.index(self.command)

    @property
    def readers(self) -> list[str]:
        """The programs that its output is piped into."""
        later = self.call.commands[self.place + 1 :]
        return [base_name(other.words[0]) for other in later if other.pipe == self.command.pipe]

    @property
    def is_reader(self) -> bool:
        return any(other.pipe == self.command.pipe for other in self.call.commands[: self.place])


def _programs(call: Call | None) -> list[_Program]:
    return [_Program(call, command, found) for command, found in call.invocations] if call is not None else []


class _Difference(NamedTuple):
    """Forms of one thing that one of two commands has and the other lacks; `named` where the words say so."""

    items: tuple[str, ...]
    named: bool = True


@dataclass
class _Differences:
    """What the wrong command has and the right one lacks, and the other way round."""

    has: list[_Difference] = field(default_factory=list[_Difference])
    lacks: list[_Difference] = field(default_factory=list[_Difference])

    @property
    def named(self) -> tuple[tuple[str, ...], ...]:
        """What the words name of what the wrong command has."""
        return tuple(dict.fromkeys(one.items for one in self.has if one.named))


def _of_commands(wrong: Call, right: Call | None, wording: Wording) -> Iterator[Guard]:
    mine = _chosen(wrong, right, wording)
    if mine is None:
        return
    name = mine.found.name
    subcommands = _subcommands(mine.found, right, wording)
    theirs = _partner((name, *subcommands), right, wording)
    found = _differences(mine, theirs, right, (name, *subcommands), wording)
    named_lacks = [one.items for one in found.lacks if one.named]
    right_is_named = any(program.found.name in wording.right for program in _programs(right))
    if (named_lacks or right_is_named) and _is_about_all(name, subcommands, named_lacks, wording):
        subcommands = []
    head = " ".join((name, *subcommands))
    heads = (head, *SAME_HEADS.get(head, ()))
    tool = POWERSHELL if wrong.powershell else SHELL
    groups = found.named
    if groups:
        yield Guard(tool, (heads, *groups))
    if named_lacks:
        yield Guard(tool, (heads, *groups), named_lacks[0])
    if theirs is None and (right is not None or subcommands):
        yield Guard(tool, (heads,))
    yield from (Guard(tool, (heads, *groups), one.items) for one in found.lacks if not one.named)
    yield from (Guard(tool, (heads, *groups, one.items)) for one in found.has if not one.named)


def _is_about_all(name: str, subcommands: list[str], lacks: Sequence[tuple[str, ...]], wording: Wording) -> bool:
    """True if the mistake names a program alone: the lesson is about all that it does.

    A flag belongs to the subcommand that the correction names with it.
    """
    if not subcommands or wording.follows(name, subcommands[0]) is not False:
        return False
    of_flag = any(items[0][:1] == "-" for items in lacks)
    return not (of_flag and subcommands[0] in wording.after(name, wording.correction))


def _chosen(wrong: Call, right: Call | None, wording: Wording) -> _Program | None:
    """Return the command that the lesson is about: named, and not also a part of the right call."""
    same = {command.words for command in right.commands} if right is not None else set[tuple[str, ...]]()
    said = {word.lower() for word in wording.wrong}

    def score(program: _Program) -> float:
        name, wrappers = program.found.name, program.found.wrappers
        points = 4.0 * (name in wording.wrong) + 2 * (name in wording.right) + 0.5 * len(wrappers)
        points -= 3 * (program.command.words in same)
        points -= 6 * ("piped" in said and program.is_reader)
        return points - 5 * (
            bool(wrappers) and wrappers[-1] in _SCRIPTED and wrappers[-1] in wording.wrong | wording.right
        )

    return max(_programs(wrong), key=score, default=None)


def _partner(head: Sequence[str], right: Call | None, wording: Wording) -> _Program | None:
    """Return the same program with the same subcommand in the right call, else in a code span of the correction."""
    spans = [Call(SHELL, {"command": span}) for span in wording.right_spans]
    for program in (program for call in (right, *spans) for program in _programs(call)):
        said = program.call is right or program.found.arguments
        if said and after_head(head, program.found) is not None:
            return program
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
            skip = word in _GLOBAL_VALUES and not words
        elif _PLAIN_WORD.fullmatch(word):
            words.append(word)
        else:
            break
    depth = DEPTHS.get(found.name)
    if depth is None:
        shared = words and any(after_head((found.name, words[0]), one.found) is not None for one in _programs(right))
        return words[:1] if words and (shared or wording.follows(found.name, words[0])) else []
    depth += " ".join((found.name, *words[:1])) in LONGER
    said = max((common(words, run) for run in wording.runs(found.name)), default=0) if depth else 0
    return words[: max(depth, said)]


def _differences(
    mine: _Program, theirs: _Program | None, right: Call | None, head: tuple[str, ...], wording: Wording
) -> _Differences:
    found = _Differences()
    _compare_texts(found, mine, theirs, wording)
    _compare_flags(found, mine, theirs, head, wording)
    their_variables = theirs.command.assignments if theirs else ()
    found.has += [
        _Difference((word,))
        for word in mine.command.assignments
        if word not in their_variables and word in wording.wrong
    ]
    if theirs is not None:
        _compare_starts(found, mine, theirs, wording)
    else:
        found.has += [_Difference((f"{name} ...",)) for name in mine.found.wrappers if name in wording.avoided]
    their_readers = theirs.readers if theirs else []
    found.has += [
        _Difference(tuple(f"| {form}" for form in dict.fromkeys((name, *(_SHELLS if name in _SHELLS else ())))))
        for name in mine.readers
        if name in wording.wrong and name not in their_readers
    ]
    new_readers = [name for name in their_readers if name not in mine.readers and name in wording.right]
    found.lacks += [_Difference((f"| {name}",)) for name in new_readers]
    background = right is not None and ("run_in_background", "true") in right.values
    if theirs is not None and (background or theirs.command.background):
        found.lacks.append(_Difference(("&",)))
    _compare_arguments(found, mine, theirs, right, head, wording)
    return found


def _compare_texts(found: _Differences, mine: _Program, theirs: _Program | None, wording: Wording) -> None:
    """Compare the words in capitals of the lesson: what SQL has and lacks."""
    phrases = [phrase for phrase in _phrases(wording.mistake) if has_words(mine.text, phrase)]
    if not phrases:
        return
    missing = _phrases(" ".join(wording.missing))
    found.has += [_Difference((f'"{phrase}"',)) for phrase in phrases if phrase not in missing][:2]
    needed = [*missing, *(word for word in _phrases(wording.correction) if theirs and has_words(theirs.text, word))]
    if lacks := dict.fromkeys(f'"{word}"' for word in needed if not has_words(mine.text, word)):
        found.lacks.append(_Difference(tuple(lacks)))


def _phrases(text: str) -> list[str]:
    return list(dict.fromkeys(match[0] for match in _CAPITALS.finditer(text)))


def _compare_flags(
    found: _Differences, mine: _Program, theirs: _Program | None, head: tuple[str, ...], wording: Wording
) -> None:
    my_flags, their_flags = mine.flags, theirs.flags if theirs else {}
    forms = {flag: _forms(flag, head, wording) for flag in (*my_flags, *their_flags)}
    extra = [flag for flag in my_flags if not set(forms[flag]) & their_flags.keys()]
    absent = [flag for flag in their_flags if not set(forms[flag]) & my_flags.keys()]
    said = wording.wrong if theirs else wording.after(head[0]) | wording.avoided
    replaced = {flag for flag in extra if any(other.startswith(f"{form}-") for form in forms[flag] for other in absent)}
    wrong = [flag for flag in extra if flag in replaced or names_flag(said, flag)]
    if not wrong and not found.has:  # what both have, and the lesson says of the wrong one, narrows it down
        scope = wording.after(head[0]) | wording.avoided
        wrong = [flag for flag in my_flags if flag not in extra and names_flag(scope, flag)]
    found.has += [_Difference(forms[flag]) for flag in wrong]
    named = [flag for flag in absent if names_flag(wording.right, flag)]
    named = [flag for flag in named if names_flag(wording.missing, flag)] or named
    needed = {flag: tuple(dict.fromkeys((*forms[flag], *_short_form(flag, mine)))) for flag in absent}
    if named:
        found.lacks.append(_Difference(tuple(form for flag in named for form in needed[flag])))
    found.lacks += [_Difference(needed[flag], named=False) for flag in absent]
    found.has += [_Difference(forms[flag], named=False) for flag in extra]


def _short_form(flag: str, mine: _Program) -> tuple[str, ...]:
    """Return the short form that a long flag may have, where the wrong call does not use that letter."""
    short = flag[1:3]
    plain = _LONG_FLAG.fullmatch(flag) and mine.found.name not in ONE_DASH
    return (short,) if plain and short not in mine.flags else ()


def _forms(flag: str, head: tuple[str, ...], wording: Wording) -> tuple[str, ...]:
    """Return a flag with its other forms: what the lesson names beside it, and what everybody knows."""
    pairs = next((SAME_FLAGS[name] for name in (" ".join(head[:2]), head[0]) if name in SAME_FLAGS), ())
    known = next((pair for pair in (*pairs, ("-y", "--yes")) if flag in pair), ())
    return tuple(dict.fromkeys((flag, *known, *wording.alternatives(flag))))


def _compare_starts(found: _Differences, mine: _Program, theirs: _Program, wording: Wording) -> None:
    """Compare what starts the program, the variables set for it, and the commands before it."""
    my_starts, their_starts = mine.found.wrappers, theirs.found.wrappers
    found.has += [
        _Difference((f"{name} ...",))
        for name in my_starts
        if name not in their_starts and name.split()[0] in wording.wrong and name not in _SCRIPTED
    ]
    for word in theirs.command.assignments:
        name = f"{word.partition('=')[0]}="
        found.lacks.append(_Difference((name,), any(term.startswith(name) for term in wording.right)))
    for items in _commands_before(theirs, mine):
        found.lacks.append(_Difference(items, bool({word for item in items for word in item.split()} & wording.right)))
    for name in their_starts:
        if name not in my_starts:
            found.lacks.append(_Difference((f"{name} ...",), name.split()[0] in wording.right))
    if theirs.found.program != mine.found.program and "/" in theirs.found.program:
        found.lacks.append(_Difference((theirs.found.program.removeprefix("./"),)))


def _commands_before(theirs: _Program, mine: _Program) -> list[tuple[str, ...]]:
    """Return the commands before the right one that the wrong call does not have."""
    have = {command.words for command in mine.call.commands}
    found: list[tuple[str, ...]] = []
    for command in theirs.call.commands[: theirs.place]:
        words = [word for word in command.words[:3] if word and " " not in word and word[:1] != "-"]
        if command.words in have or not words:
            continue
        earlier = f"{' '.join((base_name(words[0]), *words[1:2]))} &&"
        # A folder may also be the value of a flag: `npm --prefix web test`.
        found.append((earlier, *words[1:2]) if words[0] in ("cd", "pushd") else (earlier,))
    return found


def _compare_arguments(
    found: _Differences,
    mine: _Program,
    theirs: _Program | None,
    right: Call | None,
    head: tuple[str, ...],
    wording: Wording,
) -> None:
    words = [word for word in mine.found.arguments if word[:1] != "-" and word not in head[1:] and " " not in word]
    their_words = [word for word in theirs.found.arguments if word[:1] != "-"] if theirs else []
    different = [word for word in words if word not in their_words]
    if head[0] in TARGETED and not found.named:
        found.has += [_Difference((word,)) for word in words if word in their_words and word in wording.after(head[0])]
    said = wording.wrong if theirs else wording.after(head[0]) | wording.avoided
    if theirs is None and not DEPTHS.get(head[0], 1):  # another program for the same file
        others = {word for program in _programs(right) for word in program.found.arguments}
        shared = [word for word in words if word in others and word in wording.wrong | wording.right]
        found.has += [_Difference((word,)) for word in shared][:2]
    values = {value for flag, value in mine.flags.items() if f"{flag} {value}" in wording.mistake} if not theirs else ()
    for word in different:
        if word in values and not _CLUSTERED.search(" ".join(mine.found.arguments[: mine.found.arguments.index(word)])):
            continue
        parts = (word, word.removeprefix("./"), base_name(word), word.rsplit(":", 1)[-1])
        name = next((part for part in parts if part and part in said), None)
        if name and not _PLACEHOLDER.fullmatch(name) and len(found.named) < 4:
            found.has.append(_Difference((name,)))
    mine_has_none = not any(map(is_operand, words))
    if mine_has_none and any(word not in head and is_operand(word) for word in their_words):
        found.lacks.insert(0, _Difference((ANY_ARGUMENT,), named=False))
    new = (word for word in their_words if word not in (*head, *mine.found.arguments) and word in wording.right)
    if words and (name := next((word for word in new if not _PLACEHOLDER.fullmatch(word)), None)):
        found.lacks.append(_Difference((name,)))
    found.has += [
        _Difference((word,), named=False)
        for word in different
        if is_operand(word) and len(word) < 40 and "$" not in word
    ]


# Other tools


def _of_arguments(wrong: Call, right: Call | None, wording: Wording) -> Iterator[Guard]:
    mine = dict(wrong.values)
    theirs = dict(right.values) if right is not None and right.tool == wrong.tool else dict[str, str]()
    has = [
        item for key in mine if mine[key] != theirs.get(key) for item in _wrong_values(key, mine[key], theirs, wording)
    ]
    groups = tuple((item,) for item in has[:3])
    new = [(key, value) for key, value in theirs.items() if value != mine.get(key)]
    lacks = [item for key, value in new for item in _right_values(key, value, wording)]
    if groups:
        yield Guard(wrong.tool, groups)
    if lacks:
        yield Guard(wrong.tool, (), tuple(lacks[:1]))
    if right is not None and right.tool != wrong.tool and wrong.tool in wording.wrong:
        yield Guard(wrong.tool, ())
    for key, value in theirs.items():
        if key not in mine:
            yield Guard(wrong.tool, (), (f"{key}: {value}" if value in _FLAGS else key,))


def _right_values(key: str, value: str, wording: Wording) -> list[str]:
    named = value in wording.right or value.strip("#@ ") in wording.right
    if not named and key not in wording.right:
        return []
    return [f"{key}: {value}" if named or value in _FLAGS else key]


def _wrong_values(key: str, value: str, theirs: dict[str, str], wording: Wording) -> list[str]:
    """Return what the lesson names of a value that the right call does not have."""
    if _NUMBER.fullmatch(value) and (limit := _limit(float(value), theirs.get(key), wording)):
        return [f"{key}: {limit}"]
    if value in wording.wrong or value.strip("#@ ") in wording.wrong or (key in wording.wrong and value in _FLAGS):
        return [f"{key}: {value}"]
    if said := [phrase for phrase in _phrases(wording.mistake) if has_words(value, phrase)]:
        return [f'{key}: "{phrase}"' for phrase in said[:2]]
    telling = (term for term in sorted(wording.wrong, key=len, reverse=True) if _is_telling(term) and term in value)
    if (part := next(telling, None)) is not None:
        return [f'{key}: "{part}"']
    return [key] if theirs and key not in theirs and key in wording.wrong else []


def _limit(value: float, other: str | None, wording: Wording) -> str | None:
    """Return the number that the words name between the wrong value and the right one, as a condition."""
    theirs = float(other) if other is not None and _NUMBER.fullmatch(other) else None
    for term in sorted(wording.wrong | wording.right):
        if _NUMBER.fullmatch(term):
            limit = float(term)
            if value > limit and (theirs is None or theirs <= limit):
                return f"> {term}"
            if value < limit and theirs is not None and theirs >= limit:
                return f"< {term}"
    return None


def _is_telling(term: str) -> bool:
    return len(term) > 3 and any(sign in term for sign in "./_#@:")
