"""The guards that two forms of one command give by their flags: `git push -f` against `git push`.

A flag changes what is done; a value, such as a file or a number, is of one task. So a difference in flags decides only
where no value differs.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final, NamedTuple

from mcp_reflect.guards.guard import Guard
from mcp_reflect.guards.knowledge import forms_of_flag, forms_of_head, is_open_group, words_about
from mcp_reflect.guards.works import ChangedWorks, CommandWork, head_of_both, same_work

_LONG_OPTION: Final = re.compile(r"--?[a-z][a-z0-9]+(?:-[a-z0-9]+)*", re.IGNORECASE)
_WORDS_WITHOUT_MEANING: Final = ("-", "--")
"""Words that begin as a flag, and say nothing by themselves."""

FlagForms = tuple[str, ...]
"""A flag with the other ways to write it: ("-f", "--force")."""


def differing_flags(tool: str, wrong: CommandWork, right: CommandWork) -> Iterator[Guard]:
    """Yield the guard of the flags that only one of two commands has, else of what starts only one of them.

    | wrong         | right                      | guard                                  |
    |---------------|----------------------------|----------------------------------------|
    | `git push -f` | `git push`                 | `git push` with `-f` or `--force`      |
    | `relctl cut`  | `relctl cut --no-rehearse` | `relctl cut` without `--no-rehearse`   |
    | `sudo npm i`  | `npm i`                    | `npm i` with `sudo ...`                |
    | `rm -f a`     | `rm b`                     | none: the other value may be the cause |
    """
    head = head_of_both(wrong, right)
    if is_open_group(head):  # `git stash` alone is one of many things that `git stash` does
        return
    of_wrong = _flags_missing_in(right, wrong)
    of_right = _flags_missing_in(wrong, right)
    wrong_has_all_else = of_right.other_has_all_else
    right_has_all_else = of_wrong.other_has_all_else
    if not wrong_has_all_else or not (of_right.flags or right_has_all_else):
        return
    only_wrong = [forms for forms in _forms_of(of_wrong, head) if not _has_flag(right, forms)]
    only_right = [forms for forms in _forms_of(of_right, head) if not _has_flag(wrong, forms)]
    has = _without_noise(only_wrong)
    lacks = tuple(chain.from_iterable(_without_noise(only_right)))
    if not has and not lacks:
        has = only_wrong  # only flags such as --verbose differ
    if not has and not lacks:
        has, lacks = _differing_wrappers(wrong, right)
    if has or lacks:
        yield Guard(tool, (forms_of_head(head), *has), lacks)


def _without_noise(flags: Sequence[FlagForms]) -> list[FlagForms]:
    """Return the flags that change what a program does, not only what it prints, as `--verbose`."""
    return [forms for forms in flags if forms[0] not in words_about("noise")]


class _HasAndLacks(NamedTuple):
    """The two parts of a guard, as `Guard` has them."""

    has: list[tuple[str, ...]]
    lacks: tuple[str, ...]


def _differing_wrappers(wrong: CommandWork, right: CommandWork) -> _HasAndLacks:
    """Return the parts of a guard by what starts a command, such as sudo.

    | wrong        | right     | the guard       |
    |--------------|-----------|-----------------|
    | `sudo npm i` | `npm i`   | has `sudo ...`  |
    | `tsc`        | `npx tsc` | lacks `npx ...` |
    """
    only_wrong = [name for name in wrong.wrappers if name not in right.wrappers]
    if only_wrong:
        return _HasAndLacks([(f"{only_wrong[0]} ...",)], ())
    only_right = [name for name in right.wrappers if name not in wrong.wrappers]
    return _HasAndLacks([], tuple(f"{name} ..." for name in only_right))


@dataclass(frozen=True, slots=True)
class _MissingFlags:
    """The flags without a value that one command has and another lacks, and whether the other has all else of it."""

    flags: tuple[str, ...]
    other_has_all_else: bool


def _flags_missing_in(other: CommandWork, work: CommandWork) -> _MissingFlags:
    """Return the flags without a value that `work` has and `other` lacks.

    | work          | other     | flags | the other has all else                                 |
    |---------------|-----------|-------|--------------------------------------------------------|
    | `rm -r -f x`  | `rm -r x` | `-f`  | yes                                                    |
    | `rm -f y`     | `rm x`    | none  | no: y may be the value of `-f`, and the other lacks it |
    | `head -n 5 x` | `head x`  | none  | no: the other lacks a flag with a value                |
    """
    words_of_other = {flag for flag, _ in other.program.flags.all} | {*other.arguments}
    flags: dict[str, None] = {}
    other_has_all_else = True
    for word, next_word in pairwise((*work.arguments, "")):
        if word in words_of_other or word in _WORDS_WITHOUT_MEANING:
            continue
        if not word.startswith("-"):
            other_has_all_else = False
            continue
        flags_of_word = [flag for flag, _ in work.program.flags.of_word(word, next_word)]
        missing_flags = [flag for flag in flags_of_word if flag not in words_of_other]
        if not missing_flags:
            continue
        if _has_value(word, next_word, flags_of_word, other):
            other_has_all_else = False
        else:
            flags |= dict.fromkeys(missing_flags)
    return _MissingFlags(tuple(flags), other_has_all_else)


def _has_value(word: str, next_word: str, flags: Sequence[str], other: CommandWork) -> bool:
    """Return whether a flag has a value.

    | word        | next word | the other command  | has a value                                          |
    |-------------|-----------|--------------------|------------------------------------------------------|
    | `--depth=5` |           |                    | yes                                                  |
    | `--depth`   | `5`       | lacks `5`          | yes                                                  |
    | `-f` of rm  | `x`       | has `x` as operand | no: `x` is an operand of this one, too               |
    | `-n50`      |           |                    | yes: its flags are `-n` and the word itself (`-n50`) |
    """
    if "=" in word:
        return True
    is_value_next = next_word[:1] not in ("", "-") and next_word not in other.operands
    is_value_in_word = len(flags) > 1 and flags[-1] == word
    return is_value_next or is_value_in_word


def _forms_of(missing: _MissingFlags, head: list[str]) -> list[FlagForms]:
    """Return each flag with the other ways to write it behind this head: `-f` and `--force`."""
    return [forms_of_flag(flag, head) for flag in missing.flags]


def _has_flag(work: CommandWork, forms: FlagForms) -> bool:
    """Return whether a command has a flag in any of its forms."""
    return work.program.has_one_of(forms, work.arguments)


def missing_option(tool: str, changed: ChangedWorks) -> Iterator[Guard]:
    """Yield the guard of one option with a value that a subcommand lacks: `kubectl apply` without `--context`.

    The two commands have to be the same otherwise; which value the option has does not count. An option that nobody
    knows may have a short form: so a call with its first letter (`-c`) does not go against the guard either.
    """
    if len(changed.in_wrong) != 1 or len(changed.in_right) != 1:
        return
    wrong = changed.in_wrong[0]
    right = changed.in_right[0]
    head = head_of_both(wrong, right)
    if same_work(wrong, changed.in_right) is None or len(head) == 1 or is_open_group(head):
        return
    option = _only_added_option(wrong, right)
    if option is None:
        return
    forms = forms_of_flag(option, head)
    if len(forms) == 1:
        first_letter = option.lstrip("-")[0]
        forms = (option, f"-{first_letter}")
    yield Guard(tool, (forms_of_head(head),), forms)


def _only_added_option(wrong: CommandWork, right: CommandWork) -> str | None:
    """Return the long option with a value that is all that the right command has and the wrong one lacks.

    `apply -f a.yml` against `apply -f a.yml --context prod` gives `--context`. None if more was added, or anything lost.
    """
    added = list(right.arguments)
    for word in wrong.arguments:
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
