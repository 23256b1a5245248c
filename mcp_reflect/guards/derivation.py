"""Derives a guard from a wrong call and a right call: from a difference in their structure, and from nothing else.

A structure is what a call is made of: its program, what starts it, its subcommand, its flags; of another tool its name,
its argument that is true or false, an argument that only one call has. A value, such as a file, a number or a branch, is
of one task and never decides. Where two differences compete, or none is left, there is no guard: it would be a guess.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import POWERSHELL, SHELL, Guard, is_too_wide
from mcp_reflect.guards.knowledge import (
    forms_of_flag,
    forms_of_head,
    is_open_group,
    subcommands_of,
    words_about,
)
from mcp_reflect.guards.matching import matches
from mcp_reflect.guards.program import Program, after_head
from mcp_reflect.shell import VALUED, is_viewed

_PLAIN_WORD: Final = re.compile(r"[a-z][a-z0-9]*(?:[-:][a-z0-9]+)*")
_LONG_OPTION: Final = re.compile(r"--?[a-z][a-z0-9]+(?:-[a-z0-9]+)*", re.IGNORECASE)
_TRUTH: Final = ("true", "false")
_PREPARING: Final = frozenset(
    "cd pushd popd export set source . true echo printf sleep alias [ [[ read".split()
)
# What only hands a script to a program that has the same name in both calls.
_SILENT_WRAPPERS: Final = frozenset("bash sh zsh eval node ruby php perl python".split())
_PYTHON_PROGRAMS: Final = ("manage.py", "runtests.py")


def derive(wrong: Call, right: Call, *, is_chosen: bool = False) -> Guard | None:
    """Return the guard that meets the wrong call and not the right one; None if no difference of structure decides.

    `is_chosen`: somebody chose the two calls to tell wrong from right. Then a flag with a value that the wrong one lacks
    decides, too; of two calls that were only seen one after the other, it may be a value of the task.
    """
    of_structure = _of_commands if wrong.shell else _of_arguments
    guards = dict.fromkeys(of_structure(wrong, right))
    if not guards and is_chosen:
        of_missing = _of_missing_option if wrong.shell else _of_missing_argument
        guards = dict.fromkeys(of_missing(wrong, right))
    if len(guards) != 1:
        return None
    guard = next(iter(guards))
    decides = matches(guard, wrong) and not matches(guard, right)
    if not decides or is_too_wide(guard):
        return None
    return guard


# Commands


@dataclass(frozen=True, slots=True)
class _Work:
    """The program that does the work of a command, behind all that starts it."""

    program: Program
    operands: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.program.found.name

    @property
    def wrappers(self) -> tuple[str, ...]:
        return tuple(
            one for one in self.program.found.wrappers if one and one not in _SILENT_WRAPPERS
        )

    @property
    def plain_words(self) -> list[str]:
        """The words up to the first that cannot be a subcommand, without flags and their values."""
        words: list[str] = []
        before = ""
        for word in self.program.found.arguments:
            if word[:1] != "-" and before not in VALUED:
                if not _PLAIN_WORD.fullmatch(word):
                    break
                words.append(word)
            before = word
        return words


def _of_commands(wrong: Call, right: Call) -> Iterator[Guard]:
    """Yield the guards of commands that both calls have in another form, else of the one that takes another's place."""
    changed, others = _changed_works(wrong, right)
    tool = _tool_of(wrong)
    pairs = [(one, _partner(one, others)) for one in changed]
    known = [(one, other) for one, other in pairs if other is not None]
    if known:
        for one, other in known:
            yield from _of_flags(tool, one, other)
    elif len(changed) == 1 and len(others) == 1:
        yield from _of_heads(tool, changed[0], others[0])


def _changed_works(wrong: Call, right: Call) -> tuple[list[_Work], list[_Work]]:
    """Return what each of two calls does that the other does not; nothing where they are of two kinds of shell."""
    if not right.shell or right.powershell != wrong.powershell:
        return [], []
    mine, theirs = _works(wrong), _works(right)
    same = {_words(one) for one in mine} & {_words(one) for one in theirs}
    changed = [one for one in mine if _words(one) not in same]
    others = [one for one in theirs if _words(one) not in same]
    return changed, others


def _tool_of(call: Call) -> str:
    return POWERSHELL if call.powershell else SHELL


def _of_missing_option(wrong: Call, right: Call) -> Iterator[Guard]:
    """Yield the guard of one option with a value that a subcommand lacks: `kubectl apply` without `--context`.

    The commands have to be the same but for it. Which value it has is no matter. An option may have a letter, too: a
    call that has its first letter is not met. A letter alone may stand for any option.
    """
    changed, others = _changed_works(wrong, right)
    if len(changed) != 1 or len(others) != 1:
        return
    one, other = changed[0], others[0]
    head = _head(one, other)
    if _partner(one, others) is None or len(head) == 1 or is_open_group(head):
        return
    option = _only_option_more(one, other)
    if option is None:
        return
    forms = forms_of_flag(option, head)
    if len(forms) == 1:
        forms = (option, f"-{option.lstrip('-')[0]}")
    yield Guard(_tool_of(wrong), (forms_of_head(head),), forms)


def _only_option_more(one: _Work, other: _Work) -> str | None:
    """Return the long option with a value that is all that the other command has and this one lacks."""
    mine, theirs = list(one.program.found.arguments), list(other.program.found.arguments)
    for word in mine:
        if word not in theirs:
            return None
        theirs.remove(word)
    name, equal, _ = (*theirs, "")[0].partition("=")
    has_value = len(theirs) == 1 if equal else len(theirs) == 2 and theirs[1][:1] != "-"
    if not has_value or not _LONG_OPTION.fullmatch(name) or name in words_about("noise"):
        return None
    return name


def _works(call: Call) -> list[_Work]:
    """Return what a call does, without what only prepares it and viewers at the end of a pipe."""
    works: list[_Work] = []
    for command, programs in call.by_command:
        chosen = programs[-1]
        if len(programs) > 1 and _is_script(chosen):
            chosen = programs[-2]
        if chosen.found.name in _PREPARING or is_viewed(command):
            continue
        operands = tuple(word for word in chosen.found.arguments if word[:1] != "-")
        works.append(_Work(chosen, operands))
    return works


def _is_script(program: Program) -> bool:
    """True for a file that an interpreter runs: its name is a value, the interpreter is the program."""
    wrapper = next(reversed(program.found.wrappers), "")
    return wrapper in _SILENT_WRAPPERS and program.found.name not in _PYTHON_PROGRAMS


def _words(work: _Work) -> tuple[str, ...]:
    return (*work.wrappers, work.name, *work.program.found.arguments)


def _head(one: _Work, other: _Work) -> list[str]:
    """Return a program with its subcommands; of a program that nobody knows, the first word that both have."""
    known = subcommands_of(one.name, one.plain_words)
    if known is not None:
        return [one.name, *known]
    mine, theirs = one.plain_words[:1], other.plain_words[:1]
    if mine != theirs:
        return [one.name]
    return [one.name, *mine]


def _partner(one: _Work, others: Sequence[_Work]) -> _Work | None:
    """Return the same program with the same subcommand in the other call: the one that shares most words with it."""
    words = {*one.program.found.arguments}
    same = [
        other for other in others if other.name == one.name and _full_head(one) == _full_head(other)
    ]
    return max(same, key=lambda other: len(words & {*other.program.found.arguments}), default=None)


def _full_head(work: _Work) -> list[str]:
    known = subcommands_of(work.name, work.plain_words)
    if known is None:
        known = work.plain_words[:1]
    return [work.name, *known]


def _of_flags(tool: str, one: _Work, other: _Work) -> Iterator[Guard]:
    """Yield the guard of flags that one of two commands has, else of what starts only one of them.

    The commands have to be the same but for that: where the right one has another value as well, it may be the cause.
    """
    head = _head(one, other)
    if is_open_group(head):  # `git stash` alone is one of many things that `git stash` does
        return
    mine, theirs = _flags_of(one, other), _flags_of(other, one)
    if not theirs.is_same_otherwise or not (theirs.flags or mine.is_same_otherwise):
        return
    extra = [forms for forms in _forms_of(mine, head) if not _is_there(forms, other)]
    added = [forms for forms in _forms_of(theirs, head) if not _is_there(forms, one)]
    has = _telling(extra)
    lacks = tuple(chain.from_iterable(_telling(added)))
    if not has and not lacks:
        has = extra  # only flags such as --verbose differ
    if not has and not lacks:
        has, lacks = _starters(one, other)
    if has or lacks:
        yield Guard(tool, (forms_of_head(head), *has), lacks)


def _telling(flags: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the flags that change what a program does, not only what it prints."""
    return [forms for forms in flags if forms[0] not in words_about("noise")]


def _starters(one: _Work, other: _Work) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """Return what starts only the wrong command, else what starts only the right one, which the wrong one lacks."""
    own = [name for name in one.wrappers if name not in other.wrappers]
    if own:
        return [(f"{own[0]} ...",)], ()
    missing = (name for name in other.wrappers if name not in one.wrappers)
    return [], tuple(f"{name} ..." for name in missing)


@dataclass(frozen=True, slots=True)
class _OwnFlags:
    """The flags without a value that only one of two commands has, and whether the other has all else of it."""

    flags: tuple[str, ...]
    is_same_otherwise: bool


def _flags_of(one: _Work, other: _Work) -> _OwnFlags:
    """Return the flags without a value that one command has and the other lacks.

    Of `rm -r -f x` against `rm -r x` that is `-f`, and they are the same otherwise. They are not where one has a word or
    a flag with a value that the other lacks: `rm -f y` against `rm x`, or `-n 5` against nothing.
    """
    words_of_other = {flag for flag, _ in other.program.flags} | {*other.program.found.arguments}
    flags: dict[str, None] = {}
    is_same = True
    for word, next_word in pairwise((*one.program.found.arguments, "")):
        if word in words_of_other:
            continue
        if not _is_flag(word):
            is_same = is_same and word.startswith("-")  # "-" and "--" say nothing by themselves
            continue
        letters = [flag for flag, _ in one.program.flags_of_word(word, next_word)]
        new = [flag for flag in letters if flag not in words_of_other]
        if not new:
            continue
        if _has_value(word, next_word, letters, other):
            is_same = False
        else:
            flags |= dict.fromkeys(new)
    return _OwnFlags(tuple(flags), is_same)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and word not in ("-", "--")


def _has_value(word: str, next_word: str, letters: Sequence[str], other: _Work) -> bool:
    """Return whether a flag has a value: `--depth=5`, `--depth 5`, `-n50`.

    The word behind a flag is its value, unless the other command has the same word as an operand: in `rm -f x` against
    `rm x` it is that operand. Of letters in one word, `-n50`, the last one may be the word itself: that is a value.
    """
    if "=" in word:
        return True
    is_value_behind = next_word[:1] not in ("", "-") and next_word not in other.operands
    is_value_in_word = len(letters) > 1 and letters[-1] == word
    return is_value_behind or is_value_in_word


def _forms_of(own: _OwnFlags, head: list[str]) -> list[tuple[str, ...]]:
    return [forms_of_flag(flag, head) for flag in own.flags]


def _is_there(forms: tuple[str, ...], work: _Work) -> bool:
    return work.program.has_one_of(forms, work.program.found.arguments)


def _of_heads(tool: str, one: _Work, other: _Work) -> Iterator[Guard]:
    """Yield the guard of a program or subcommand that another takes the place of.

    The two have to be the same but for that: a call that only came first is no replacement. Of a program that nobody
    knows, the first word is its subcommand if more words follow: `deploy production` may name a value.
    """
    mine, theirs = _own_head(one), _own_head(other)
    if one.name == other.name and len(mine) == 1:
        mine, theirs = [one.name, *one.plain_words[:1]], [other.name, *other.plain_words[:1]]
        if len(one.operands) < 2:
            return
    rest = _behind(mine, one)
    if rest != _behind(theirs, other) or mine == theirs:
        return
    is_ordinary = one.name in words_about("ordinary")
    has_same_end = mine[-1] == theirs[-1]
    if is_ordinary and not rest and not has_same_end:
        return  # `git push` and `git status` have nothing in common
    if one.name != other.name and has_same_end and not is_ordinary:
        mine = mine[:1]  # no more than the program is another
    yield Guard(tool, (forms_of_head(mine),))


def _behind(head: list[str], work: _Work) -> list[str]:
    """Return the words of a command behind its subcommands, in alphabetical order."""
    return sorted(after_head(head, work.program) or ())


def _own_head(work: _Work) -> list[str]:
    return [work.name, *(subcommands_of(work.name, work.plain_words) or ())]


# Other tools


def _of_arguments(wrong: Call, right: Call) -> Iterator[Guard]:
    """Yield the guard of a tool that another takes the place of, or of arguments that are true, false or absent."""
    if wrong.tool != right.tool:
        same_server = wrong.tool.rpartition("__")[0] == right.tool.rpartition("__")[0] != ""
        mine, theirs = {name for name, _ in wrong.values}, {name for name, _ in right.values}
        if same_server and mine & theirs:
            yield Guard(wrong.tool, ())
        return
    mine, theirs = dict(wrong.values), dict(right.values)
    has = tuple(
        (f"{key}: {value}",) for key, value in mine.items() if _is_turned(key, value, theirs)
    )
    lacks = tuple(
        f"{key}: {value}" for key, value in theirs.items() if _is_turned(key, value, mine)
    )
    turned = {item.partition(":")[0] for item in (*chain.from_iterable(has), *lacks)}
    if mine.keys() - turned != theirs.keys() - turned:
        return
    if has:
        yield Guard(wrong.tool, has)
    elif lacks:
        yield Guard(wrong.tool, (), lacks)


def _of_missing_argument(wrong: Call, right: Call) -> Iterator[Guard]:
    """Yield the guard of the one argument that a call of a server's tool lacks: `create_event` without `timezone`.

    The calls have to be the same but for it. Tools of the host itself, such as Read, are in every session.
    """
    if wrong.tool != right.tool or "__" not in wrong.tool:
        return
    mine, theirs = set(wrong.values), set(right.values)
    missing = {name for name, _ in theirs - mine}
    is_same_otherwise = bool(mine) and mine <= theirs
    if is_same_otherwise and len(missing) == 1 and missing.isdisjoint(name for name, _ in mine):
        yield Guard(wrong.tool, (), tuple(missing))


def _is_turned(key: str, value: str, others: dict[str, str]) -> bool:
    """True for an argument that is true or false where the other call has another or none."""
    return value in _TRUTH and others.get(key) != value
