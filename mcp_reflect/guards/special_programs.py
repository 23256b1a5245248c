"""What guards know of single programs whose words mean something else than those of most: git, make, chmod, systemctl."""

from collections.abc import Iterator
from typing import Final

from mcp_reflect.guards.items import is_argument
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import Invocation

_PRETENDING_WITH_N: Final = ("make", "rsync")
_SUBCOMMANDS_OF_GIT_PRETENDING_WITH_N: Final = frozenset("push clean add rm mv".split())
_MOST_WORDS_BEFORE_SUBCOMMAND: Final = 2  # of git: an option with its value, `-C web`
_DELETING: Final = frozenset(("-d", "--delete"))  # of `git branch`
_FORCING: Final = frozenset(("-f", "--force"))
_OCTAL_MODE: Final = lazy_compile(r"[0-7]{1,6}")
_UNIT_ENDING: Final = ".service"  # of systemd, which takes a service without it as well


def implied_flags(invocation: Invocation, flags: frozenset[str]) -> Iterator[str]:
    """Yield the flags that a program with `flags` has by way of other words.

    | the command              | the flag  | why                              |
    |--------------------------|-----------|----------------------------------|
    | `git push origin +main`  | `--force` | a plus forces the push           |
    | `git branch -d -f topic` | `-D`      | which is both, in one letter     |
    """
    if invocation.name != "git":
        return
    has_forced_refspec = any(word.startswith("+") for word in invocation.arguments)
    if has_forced_refspec:
        yield "--force"
    is_forced = has_forced_refspec or not flags.isdisjoint(_FORCING)
    if "branch" in invocation.arguments and is_forced and not flags.isdisjoint(_DELETING):
        yield "-D"


def pretends_with_n(invocation: Invocation) -> bool:
    """Return whether `-n` means that nothing is done; of other programs it is a number or something else.

    `git clean -n` and `make -n` only say what they would do, `git log -n 5` and `head -n 5` do not.
    """
    if invocation.name == "git":
        first_words = invocation.arguments[: _MOST_WORDS_BEFORE_SUBCOMMAND + 1]
        return not _SUBCOMMANDS_OF_GIT_PRETENDING_WITH_N.isdisjoint(first_words)
    return invocation.name in _PRETENDING_WITH_N


def is_argument_of(program: str, word: str, item: str) -> bool:
    """Return whether a word of a program is the argument that an item names.

    | the program | the item        | the words that fit      |
    |-------------|-----------------|-------------------------|
    | `systemctl` | `nginx.service` | `nginx.service`, `nginx`|
    | `chmod`     | `777`           | `777`, `0777`           |
    | any other   | `main`          | as `is_argument` says   |
    """
    if program == "systemctl":
        return is_argument(word.removesuffix(_UNIT_ENDING), item.removesuffix(_UNIT_ENDING))
    if program == "chmod" and _OCTAL_MODE.fullmatch(item):
        return bool(_OCTAL_MODE.fullmatch(word)) and word.lstrip("0") == item.lstrip("0")
    return is_argument(word, item)
