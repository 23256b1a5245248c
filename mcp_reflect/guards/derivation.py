"""Derive a guard from a wrong call and a right call: from a difference in their structure, and from nothing else.

A structure is what a call is made of: its program, what starts it, its subcommand, its flags; of another tool its name,
its argument that is true or false, an argument that only one call has. A value, such as a file, a number or a branch, is
of one task and never decides. Where two differences compete, or none is left, there is no guard: it would be a guess.
"""

from collections.abc import Iterator

from mcp_reflect.guards.argument_differences import differing_arguments, missing_argument
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.flag_differences import differing_flags, missing_option
from mcp_reflect.guards.guard import POWERSHELL, SHELL, Guard, is_too_wide
from mcp_reflect.guards.heads import after_head
from mcp_reflect.guards.knowledge import forms_of_head, words_about
from mcp_reflect.guards.matching import matches
from mcp_reflect.guards.works import CommandWork, changed_works, same_work


def derive(wrong: Call, right: Call, *, is_chosen: bool = False) -> Guard | None:
    """Return the guard that meets the wrong call and not the right one; None if no difference of structure decides.

    `derive(git push -f, git push)` is "Bash: `git push` with `-f` or `--force`".

    With `is_chosen` somebody chose the two calls to tell wrong from right. Then a flag with a value that the wrong one
    lacks decides, too; of two calls that were only seen one after the other, it may be a value of the task.
    """
    guards = _guards_of_differences(wrong, right)
    if not guards and is_chosen:
        guards = _guards_of_missing_options(wrong, right)
    if len(guards) != 1:
        return None  # no difference, or several that compete
    guard = guards.pop()
    decides = matches(guard, wrong) and not matches(guard, right)
    if not decides or is_too_wide(guard):
        return None
    return guard


def _guards_of_differences(wrong: Call, right: Call) -> set[Guard]:
    """Return a guard for each difference of structure between two calls."""
    if wrong.shell:
        return set(_differing_commands(wrong, right))
    return set(differing_arguments(wrong, right))


def _guards_of_missing_options(wrong: Call, right: Call) -> set[Guard]:
    """Return the guard of the one option or argument that the wrong call lacks, if it is the same otherwise."""
    if wrong.shell:
        return set(missing_option(_shell_of(wrong), changed_works(wrong, right)))
    return set(missing_argument(wrong, right))


def _shell_of(call: Call) -> str:
    """Return the name that a guard has for the shell of a call."""
    if call.powershell:
        return POWERSHELL
    return SHELL


def _differing_commands(wrong: Call, right: Call) -> Iterator[Guard]:
    """Yield the guards of commands that both calls have in another form, else of one that replaces another.

    `git push -f` and `git push` are one command in two forms: its flags are compared. `npm install` and `pnpm install`
    are two: the second replaces the first, if nothing else was changed.
    """
    changed = changed_works(wrong, right)
    shell = _shell_of(wrong)
    has_same_work = False
    for wrong_work in changed.in_wrong:
        right_work = same_work(wrong_work, changed.in_right)
        if right_work is not None:
            has_same_work = True
            yield from differing_flags(shell, wrong_work, right_work)
    if not has_same_work and len(changed.in_wrong) == 1 and len(changed.in_right) == 1:
        yield from _replaced_head(shell, changed.in_wrong[0], changed.in_right[0])


def _replaced_head(shell: str, wrong: CommandWork, right: CommandWork) -> Iterator[Guard]:
    """Yield the guard of a program or subcommand that another one replaces.

    | wrong             | right                | guard                                                      |
    |-------------------|----------------------|------------------------------------------------------------|
    | `npm install`     | `pnpm install`       | `npm install`                                              |
    | `oldctl push web` | `newctl push web`    | `oldctl`: no more than the program is another              |
    | `relctl cut web`  | `relctl release web` | `relctl cut`                                               |
    | `deploy staging`  | `deploy production`  | none: a lone word behind an unknown program may be a value |
    | `git push`        | `git status`         | none: they have nothing in common                          |
    | `make a`          | `ninja b`            | none: the words behind differ as well                      |
    """
    wrong_head = wrong.known_head
    right_head = right.known_head
    if wrong.name == right.name and len(wrong_head) == 1:
        wrong_head = [wrong.name, *wrong.plain_words[:1]]
        right_head = [right.name, *right.plain_words[:1]]
        is_lone_word = len(wrong.operands) < 2
        if is_lone_word:
            return
    other_words = _words_behind(wrong_head, wrong)
    if other_words != _words_behind(right_head, right) or wrong_head == right_head:
        return
    is_ordinary = wrong.name in words_about("ordinary")
    ends_alike = wrong_head[-1] == right_head[-1]
    if is_ordinary and not other_words and not ends_alike:
        return  # `git push` and `git status` have nothing in common
    if wrong.name != right.name and ends_alike and not is_ordinary:
        wrong_head = wrong_head[:1]  # no more than the program is another
    yield Guard(shell, (forms_of_head(wrong_head),))


def _words_behind(head: list[str], work: CommandWork) -> list[str]:
    """Return the words of a command behind its subcommands, in alphabetical order."""
    return sorted(after_head(head, work.program) or ())
