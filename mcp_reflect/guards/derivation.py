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

_PLAIN_WORD: Final = re.compile(r"[a-z][a-z0-9]*(?:[-:][a-z0-9]+)*")
_LONG_OPTION: Final = re.compile(r"--?[a-z][a-z0-9]+(?:-[a-z0-9]+)*", re.IGNORECASE)
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
    """The program that does the work of a command, behind all that starts it: in `sudo npx tsc`, it is tsc.

    `operands` are its arguments that are no flags.
    """

    program: Program
    operands: tuple[str, ...]

    @property
    def name(self) -> str:
        """The program's name, without its folder and version."""
        return self.program.found.name

    @property
    def wrappers(self) -> tuple[str, ...]:
        """What starts it, such as sudo and npx, without what only hands a script to it."""
        started_by = self.program.found.wrappers
        return tuple(name for name in started_by if name and name not in _SILENT_WRAPPERS)

    @property
    def plain_words(self) -> list[str]:
        """The words up to the first that cannot be a subcommand, without flags and their values."""
        words: list[str] = []
        word_before = ""
        for word in self.program.found.arguments:
            is_value = word_before in VALUED
            if not word.startswith("-") and not is_value:
                if not _PLAIN_WORD.fullmatch(word):
                    break
                words.append(word)
            word_before = word
        return words


def _of_commands(wrong: Call, right: Call) -> Iterator[Guard]:
    """Yield the guards of commands that both calls have in another form, else of the one that takes another's place."""
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
    """The works of the wrong call that the right one has not in the same words, and the other way round."""

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

    The commands have to be the same but for it. Which value it has is no matter. An option may have a letter, too: a
    call that has its first letter is not met. A letter alone may stand for any option.
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
    """Return the long option with a value that is all that the right command has and the wrong one lacks."""
    added = list(right.program.found.arguments)
    for word in wrong.program.found.arguments:
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
    """Return what a call does, without what only prepares it and viewers at the end of a pipe."""
    works: list[_Work] = []
    for command, programs in call.by_command:
        working = programs[-1]
        if len(programs) > 1 and _is_script(working):
            working = programs[-2]
        if working.found.name in _PREPARING or is_viewed(command):
            continue
        operands = tuple(word for word in working.found.arguments if word[:1] != "-")
        works.append(_Work(working, operands))
    return works


def _is_script(program: Program) -> bool:
    """True for a file that an interpreter runs: its name is a value, the interpreter is the program."""
    wrapper = next(reversed(program.found.wrappers), "")
    return wrapper in _SILENT_WRAPPERS and program.found.name not in _PYTHON_PROGRAMS


def _words(work: _Work) -> tuple[str, ...]:
    """Return all words of a work, with what starts it, to compare it with others."""
    return (*work.wrappers, work.name, *work.program.found.arguments)


def _head(work: _Work, other: _Work) -> list[str]:
    """Return a program with its subcommands; of a program that nobody knows, the first word that both commands have."""
    known = subcommands_of(work.name, work.plain_words)
    if known is not None:
        return [work.name, *known]
    first_word, first_word_of_other = work.plain_words[:1], other.plain_words[:1]
    if first_word != first_word_of_other:
        return [work.name]
    return [work.name, *first_word]


def _partner(work: _Work, others: Sequence[_Work]) -> _Work | None:
    """Return the same program with the same subcommand in the other call: the one that shares most words with it."""
    words = {*work.program.found.arguments}
    same_head = [
        other
        for other in others
        if other.name == work.name and _full_head(work) == _full_head(other)
    ]
    return max(
        same_head, key=lambda other: len(words & {*other.program.found.arguments}), default=None
    )


def _full_head(work: _Work) -> list[str]:
    """Return a program with its subcommands; of a program that nobody knows, with its first word."""
    known = subcommands_of(work.name, work.plain_words)
    if known is None:
        known = work.plain_words[:1]
    return [work.name, *known]


def _of_flags(tool: str, wrong: _Work, right: _Work) -> Iterator[Guard]:
    """Yield the guard of flags that only the wrong command has or only the right one, else of what starts only one of them.

    The commands have to be the same but for that: where the right one has another value as well, it may be the
    cause.
    """
    head = _head(wrong, right)
    if is_open_group(head):  # `git stash` alone is one of many things that `git stash` does
        return
    of_wrong, of_right = _flags_of(wrong, right), _flags_of(right, wrong)
    if not of_right.is_same_otherwise or not (of_right.flags or of_wrong.is_same_otherwise):
        return
    only_wrong = [forms for forms in _forms_of(of_wrong, head) if not _is_there(forms, right)]
    only_right = [forms for forms in _forms_of(of_right, head) if not _is_there(forms, wrong)]
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
    """Return `has` and `lacks` of the guard of what starts a command, such as sudo.

    That is what starts only the wrong command, else what starts only the right one, which the wrong one lacks.
    """
    only_wrong = [name for name in wrong.wrappers if name not in right.wrappers]
    if only_wrong:
        return [(f"{only_wrong[0]} ...",)], ()
    only_right = [name for name in right.wrappers if name not in wrong.wrappers]
    return [], tuple(f"{name} ..." for name in only_right)


@dataclass(frozen=True, slots=True)
class _OwnFlags:
    """The flags without a value that only one of two commands has, and whether the other has all else of it."""

    flags: tuple[str, ...]
    is_same_otherwise: bool


def _flags_of(work: _Work, other: _Work) -> _OwnFlags:
    """Return the flags without a value that one command has and the other lacks.

    Of `rm -r -f x` against `rm -r x` that is `-f`, and they are the same otherwise. They are not where one has a word or
    a flag with a value that the other lacks: `rm -f y` against `rm x`, or `-n 5` against nothing.
    """
    words_of_other = {flag for flag, _ in other.program.flags} | {*other.program.found.arguments}
    flags: dict[str, None] = {}
    is_same_otherwise = True
    for word, next_word in pairwise((*work.program.found.arguments, "")):
        if word in words_of_other:
            continue
        if not _is_flag(word):
            if word not in ("-", "--"):  # these say nothing by themselves
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


def _is_there(forms: tuple[str, ...], work: _Work) -> bool:
    """Return whether a command has a flag in any of its forms."""
    return work.program.has_one_of(forms, work.program.found.arguments)


def _of_heads(tool: str, wrong: _Work, right: _Work) -> Iterator[Guard]:
    """Yield the guard of a program or subcommand that another takes the place of.

    The two have to be the same but for that: a call that only came first is no replacement. Of a program that nobody
    knows, the first word is its subcommand if more words follow: `deploy production` may name a value.
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
