"""Derives a guard from a wrong call and a right call: from a difference in their structure, and from nothing else.

A structure is what a call is made of: its program, what starts it, its subcommand, its flags; of another tool its name,
its argument that is true or false, an argument that only one call has. A value, such as a file, a number or a branch, is
of one task and never decides. Where two differences compete, or none is left, there is no guard: it would be a guess.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final, NamedTuple

from mcp_reflect.guards.argument_differences import differing_arguments, missing_argument
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
from mcp_reflect.shell.tables import usual_names

_PLAIN_WORD: Final = re.compile(r"[a-z][a-z0-9]*(?:[-:][a-z0-9]+)*")
_LONG_OPTION: Final = re.compile(r"--?[a-z][a-z0-9]+(?:-[a-z0-9]+)*", re.IGNORECASE)
_PREPARING: Final = frozenset(
    "cd pushd popd export set source . true echo printf sleep alias [ [[ read".split()
)
# Programs that only hand a script to another program or read it: what they start is what a call does.
_SILENT_WRAPPERS: Final = frozenset("bash sh zsh eval node ruby php perl python".split())
_PYTHON_PROGRAMS: Final = ("manage.py", "runtests.py")


def derive(wrong: Call, right: Call, *, is_chosen: bool = False) -> Guard | None:
    """Return the guard that meets the wrong call and not the right one; None if no difference of structure decides.

    `is_chosen`: somebody chose the two calls to tell wrong from right. Then a flag with a value that the wrong one lacks
    decides, too; of two calls that were only seen one after the other, it may be a value of the task.
    """
    compare_structures = _of_commands if wrong.shell else differing_arguments
    guards = set(compare_structures(wrong, right))
    if not guards and is_chosen:
        find_missing = _of_missing_option if wrong.shell else missing_argument
        guards = set(find_missing(wrong, right))
    if len(guards) != 1:
        return None  # no difference, or several that compete
    guard = guards.pop()
    decides = matches(guard, wrong) and not matches(guard, right)
    if not decides or is_too_wide(guard):
        return None
    return guard


# Commands


@dataclass(frozen=True, slots=True)
class _Work:
    """The program that does the work of a command, behind all that starts it: in `sudo npx tsc -p web` it is tsc.

    `operands` are its arguments that are no flags: `web`.
    """

    program: Program
    operands: tuple[str, ...]

    @property
    def name(self) -> str:
        """The program's name, without its folder and version."""
        return self.program.invocation.name

    @property
    def wrappers(self) -> tuple[str, ...]:
        """The programs that start it, such as sudo and npx, without those that only hand a script to it, such as bash."""
        started_by = self.program.invocation.wrappers
        return tuple(name for name in started_by if name and name not in _SILENT_WRAPPERS)

    @property
    def plain_words(self) -> list[str]:
        """The words up to the first that cannot be a subcommand, without flags and their values.

        Of `kubectl -n web rollout undo deploy/api` they are `rollout` and `undo`.
        """
        words: list[str] = []
        word_before = ""
        for word in self.program.invocation.arguments:
            is_value = word_before in VALUED
            if not word.startswith("-") and not is_value:
                if not _PLAIN_WORD.fullmatch(word):
                    break
                words.append(word)
            word_before = word
        return words


def _of_commands(wrong: Call, right: Call) -> Iterator[Guard]:
    """Yield the guards of commands that both calls have in another form, else of one that replaces another.

    `git push -f` and `git push` are one command in two forms: its flags are compared. `npm install` and `pnpm install`
    are two: the second replaces the first, if nothing else was changed.
    """
    changed = _changed_works(wrong, right)
    tool = _tool_of(wrong)
    partners = [(work, _partner(work, changed.in_right)) for work in changed.in_wrong]
    same_command = [(work, partner) for work, partner in partners if partner is not None]
    if same_command:
        for wrong_work, right_work in same_command:
            yield from _of_flags(tool, wrong_work, right_work)
    elif len(changed.in_wrong) == 1 and len(changed.in_right) == 1:
        yield from _of_heads(tool, changed.in_wrong[0], changed.in_right[0])


class _ChangedWorks(NamedTuple):
    """What each of two calls does that the other does not do in the same words."""

    in_wrong: list[_Work]
    in_right: list[_Work]


def _changed_works(wrong: Call, right: Call) -> _ChangedWorks:
    """Return what each of two calls does that the other does not; nothing where they are of two kinds of shell."""
    if not right.shell or right.powershell != wrong.powershell:
        return _ChangedWorks([], [])
    wrong_works = _works(wrong)
    right_works = _works(right)
    in_both = {_words(work) for work in wrong_works} & {_words(work) for work in right_works}
    return _ChangedWorks(
        [work for work in wrong_works if _words(work) not in in_both],
        [work for work in right_works if _words(work) not in in_both],
    )


def _tool_of(call: Call) -> str:
    """Return the name that a guard has for the shell of a call."""
    return POWERSHELL if call.powershell else SHELL


def _of_missing_option(wrong: Call, right: Call) -> Iterator[Guard]:
    """Yield the guard of one option with a value that a subcommand lacks: `kubectl apply` without `--context`.

    The two commands have to be the same otherwise; which value the option has does not count. An option that nobody
    knows may have a short form: so a call with its first letter (`-c`) does not go against the guard either.
    """
    changed = _changed_works(wrong, right)
    if len(changed.in_wrong) != 1 or len(changed.in_right) != 1:
        return
    wrong_work = changed.in_wrong[0]
    right_work = changed.in_right[0]
    head = _head(wrong_work, right_work)
    if _partner(wrong_work, changed.in_right) is None or len(head) == 1 or is_open_group(head):
        return
    option = _only_option_more(wrong_work, right_work)
    if option is None:
        return
    forms = forms_of_flag(option, head)
    if len(forms) == 1:
        first_letter = option.lstrip("-")[0]
        forms = (option, f"-{first_letter}")
    yield Guard(_tool_of(wrong), (forms_of_head(head),), forms)


def _only_option_more(wrong: _Work, right: _Work) -> str | None:
    """Return the long option with a value that is all that the right command has and the wrong one lacks.

    `apply -f a.yml` against `apply -f a.yml --context prod` gives `--context`. None if more was added, or anything lost.
    """
    added = list(right.program.invocation.arguments)
    for word in wrong.program.invocation.arguments:
        if word not in added:
            return None
        added.remove(word)
    if not added:
        return None
    name, equal, _ = added[0].partition("=")
    is_one_word = bool(equal) and len(added) == 1
    is_two_words = not equal and len(added) == 2 and not added[1].startswith("-")
    has_value = is_one_word or is_two_words
    if not has_value or not _LONG_OPTION.fullmatch(name) or name in words_about("noise"):
        return None
    return name


def _works(call: Call) -> list[_Work]:
    """Return what a call does, without what only prepares it and viewers at the end of a pipe.

    `cd web && npm test | tail -5` does one thing: `npm test`.
    """
    works: list[_Work] = []
    for command, programs in call.by_command:
        working = programs[-1]
        if len(programs) > 1 and (_is_script(working) or _is_usual_name(working)):
            working = programs[-2]
        if working.invocation.name in _PREPARING or is_viewed(command):
            continue
        operands = tuple(word for word in working.invocation.arguments if word[:1] != "-")
        works.append(_Work(working, operands))
    return works


def _is_script(program: Program) -> bool:
    """True for a file that an interpreter runs: in `python scripts/seed.py` python is the program, and the file a value.

    `manage.py` and the like are programs with subcommands.
    """
    wrapper = next(reversed(program.invocation.wrappers), "")
    return wrapper in _SILENT_WRAPPERS and program.invocation.name not in _PYTHON_PROGRAMS


def _is_usual_name(program: Program) -> bool:
    """True for `docker compose`, where `docker-compose` is written: that is what a guard has to name."""
    return next(reversed(program.invocation.wrappers), "") in usual_names()


def _words(work: _Work) -> tuple[str, ...]:
    """Return all words of a program with those that start it, to compare two: `("sudo", "rm", "-rf", "dist")`."""
    return (*work.wrappers, work.name, *work.program.invocation.arguments)


def _head(work: _Work, other: _Work) -> list[str]:
    """Return a program with its subcommands: `["git", "push"]`.

    The first word behind a program that nobody knows counts as its subcommand if the other command has the same one.
    """
    subcommands = subcommands_of(work.name, work.plain_words)
    if subcommands is not None:
        return [work.name, *subcommands]
    first_word, first_word_of_other = work.plain_words[:1], other.plain_words[:1]
    if first_word != first_word_of_other:
        return [work.name]
    return [work.name, *first_word]


def _partner(work: _Work, others: Sequence[_Work]) -> _Work | None:
    """Return the command of the other call with the same program and subcommand, None if there is none.

    Of several it is the one that shares most words.
    """
    words = {*work.program.invocation.arguments}
    same_head = [
        other
        for other in others
        if other.name == work.name and _full_head(work) == _full_head(other)
    ]
    return max(
        same_head,
        key=lambda other: len(words & {*other.program.invocation.arguments}),
        default=None,
    )


def _full_head(work: _Work) -> list[str]:
    """Return a program with its subcommands; the first word behind a program that nobody knows counts as one."""
    subcommands = subcommands_of(work.name, work.plain_words)
    if subcommands is None:
        subcommands = work.plain_words[:1]
    return [work.name, *subcommands]


def _of_flags(tool: str, wrong: _Work, right: _Work) -> Iterator[Guard]:
    """Yield the guard of the flags that only one of two commands has, else of what starts only one of them.

    | wrong             | right                         | guard                                                |
    | `git push -f`     | `git push`                    | `git push` with `-f` or `--force`                    |
    | `relctl cut`      | `relctl cut --no-rehearse`    | `relctl cut` without `--no-rehearse`                 |
    | `sudo npm i`      | `npm i`                       | `npm i` with `sudo ...`                              |
    | `rm -f a`         | `rm b`                        | none: the other value may be the cause               |
    """
    head = _head(wrong, right)
    if is_open_group(head):  # `git stash` alone is one of many things that `git stash` does
        return
    of_wrong, of_right = _flags_of(wrong, right), _flags_of(right, wrong)
    if not of_right.is_same_otherwise or not (of_right.flags or of_wrong.is_same_otherwise):
        return
    only_wrong = [forms for forms in _forms_of(of_wrong, head) if not _has_flag(right, forms)]
    only_right = [forms for forms in _forms_of(of_right, head) if not _has_flag(wrong, forms)]
    has = _telling(only_wrong)
    lacks = tuple(chain.from_iterable(_telling(only_right)))
    if not has and not lacks:
        has = only_wrong  # only flags such as --verbose differ
    if not has and not lacks:
        has, lacks = _starters(wrong, right)
    if has or lacks:
        yield Guard(tool, (forms_of_head(head), *has), lacks)


def _telling(flags: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the flags that change what a program does, not only what it prints."""
    return [forms for forms in flags if forms[0] not in words_about("noise")]


def _starters(wrong: _Work, right: _Work) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """Return `has` and `lacks` of a guard by what starts a command, such as sudo.

    Where something starts only the wrong command, the guard has it (`sudo ...`); else it lacks what starts only the right
    one.
    """
    only_wrong = [name for name in wrong.wrappers if name not in right.wrappers]
    if only_wrong:
        return [(f"{only_wrong[0]} ...",)], ()
    only_right = [name for name in right.wrappers if name not in wrong.wrappers]
    return [], tuple(f"{name} ..." for name in only_right)


@dataclass(frozen=True, slots=True)
class _OwnFlags:
    """The flags without a value that one of two commands has alone, and whether the other has all its other words."""

    flags: tuple[str, ...]
    is_same_otherwise: bool


def _flags_of(work: _Work, other: _Work) -> _OwnFlags:
    """Return the flags without a value that one command has and the other lacks.

    | command       | other       | flags | is the same otherwise                            |
    | `rm -r -f x`  | `rm -r x`   | `-f`  | yes                                              |
    | `rm -f y`     | `rm x`      | none  | no: y may be the value of `-f`, and the other lacks it |
    | `head -n 5 x` | `head x`    | none  | no: the other lacks a flag with a value          |
    """
    words_of_other = {flag for flag, _ in other.program.flags} | {
        *other.program.invocation.arguments
    }
    flags: dict[str, None] = {}
    is_same_otherwise = True
    for word, next_word in pairwise((*work.program.invocation.arguments, "")):
        if word in words_of_other:
            continue
        if not _is_flag(word):
            if word not in ("-", "--"):  # these two say nothing by themselves
                is_same_otherwise = False
            continue
        letters = [flag for flag, _ in work.program.flags_of_word(word, next_word)]
        new_letters = [flag for flag in letters if flag not in words_of_other]
        if not new_letters:
            continue
        if _has_value(word, next_word, letters, other):
            is_same_otherwise = False
        else:
            flags |= dict.fromkeys(new_letters)
    return _OwnFlags(tuple(flags), is_same_otherwise)


def _is_flag(word: str) -> bool:
    """True for a flag; `-` and `--` alone are none."""
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
    """Return each flag with the other ways to write it behind this head: `-f` and `--force`."""
    return [forms_of_flag(flag, head) for flag in own.flags]


def _has_flag(work: _Work, forms: tuple[str, ...]) -> bool:
    """Return whether a command has a flag in any of its forms."""
    return work.program.has_one_of(forms, work.program.invocation.arguments)


def _of_heads(tool: str, wrong: _Work, right: _Work) -> Iterator[Guard]:
    """Yield the guard of a program or subcommand that another one replaces.

    | wrong                 | right                  | guard                                                     |
    | `npm install`         | `pnpm install`         | `npm install`                                             |
    | `oldctl push web`     | `newctl push web`      | `oldctl`: no more than the program is another             |
    | `relctl cut web`      | `relctl release web`   | `relctl cut`                                              |
    | `deploy staging`      | `deploy production`    | none: a lone word behind an unknown program may be a value |
    | `git push`            | `git status`           | none: they have nothing in common                         |
    | `make a`              | `ninja b`              | none: the words behind differ as well                     |
    """
    wrong_head = _own_head(wrong)
    right_head = _own_head(right)
    if wrong.name == right.name and len(wrong_head) == 1:
        wrong_head = [wrong.name, *wrong.plain_words[:1]]
        right_head = [right.name, *right.plain_words[:1]]
        if len(wrong.operands) < 2:
            return
    words_behind = _behind(wrong_head, wrong)
    if words_behind != _behind(right_head, right) or wrong_head == right_head:
        return
    is_ordinary = wrong.name in words_about("ordinary")
    has_same_end = wrong_head[-1] == right_head[-1]
    if is_ordinary and not words_behind and not has_same_end:
        return  # `git push` and `git status` have nothing in common
    if wrong.name != right.name and has_same_end and not is_ordinary:
        wrong_head = wrong_head[:1]  # no more than the program is another
    yield Guard(tool, (forms_of_head(wrong_head),))


def _behind(head: list[str], work: _Work) -> list[str]:
    """Return the words of a command behind its subcommands, in alphabetical order."""
    return sorted(after_head(head, work.program) or ())


def _own_head(work: _Work) -> list[str]:
    """Return a program with its subcommands; of a program that nobody knows, its name alone."""
    return [work.name, *(subcommands_of(work.name, work.plain_words) or ())]
