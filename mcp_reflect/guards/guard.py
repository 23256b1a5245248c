"""Guards: each says which calls go against a lesson, in a form that a person reads and edits.

    Bash: `git push` with `--force` or `-f` without `--force-with-lease`
    Edit or a shell redirect: dist/bundle.js
    mcp__jira__search: with `limit: > 100`

`has` holds groups of *items*: one item of each group has to be there, and nothing of `lacks` may be there. The first
group of a shell's guard holds its *heads*, which are programs with their subcommands (`git push`), that of an edit's
guard files. Items of a shell's guard:

    --force  -f  --context=prod   a flag, in any cluster, with its value after = or as the next word
    main  dist/  *.pb.go          an argument: whole, or the end of a path; a folder; a pattern
    an argument                   any argument that is not a flag
    NAME=  NAME=value             a variable of the environment
    sudo ...                      what starts the program
    cd web &&                     an earlier command of the line
    | tail                        a program that the output is piped into
    &                             in the background
    "DROP TABLE"                  words in its text, in any case

Items of another tool's guard: `key`, `key: value`, `key: > 100`, `"words"`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcp_reflect.errors import InputError
from mcp_reflect.guards.item_kinds import ANY_ARGUMENT
from mcp_reflect.guards.items import name_of, path_key, tool_key
from mcp_reflect.guards.knowledge import words_about
from mcp_reflect.guards.options import valued_options
from mcp_reflect.guards.shell_tools import is_shell
from mcp_reflect.patterns import lazy_compile

SHELL: Final = "Bash"
POWERSHELL: Final = "PowerShell"
EDIT: Final = "Edit"
MOST_CHARS: Final = 400
"""The longest guard, as text."""

FORMS: Final = (
    "Write it like: Bash: `git push` with `--force` without `--force-with-lease`; Edit: dist/bundle.js; "
    "mcp__jira__search: with `limit: > 100`"
)
"""The forms of a guard, for a person who wrote another."""

_NAMED: Final = {EDIT: "the file", SHELL: "the program", POWERSHELL: "the program"}
_EDIT_HEAD: Final = "Edit or a shell redirect"
_MOST_ITEMS: Final = 12
_TOOLS_OF_EVERY_SESSION: Final = ("read", "write", "edit", "grep", "glob")
_ITEM: Final = lazy_compile(r"`([^`]*)`|(without|with|and|or)\b|an argument|([^\s`]+)")


@dataclass(frozen=True, slots=True)
class Guard:
    """What a call has, and what it lacks, to go against a lesson: `has` and `lacks` as the module says.

    `Guard("Bash", (("git push",), ("--force", "-f")), ("--dry-run",))` is the guard "Bash: `git push` with `--force` or
    `-f` without `--dry-run`".
    """

    tool: str
    has: tuple[tuple[str, ...], ...]
    lacks: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the guard as a person writes it; `parse_guard` reads it back."""
        text = f"{self.tool}:"
        groups = self.has
        if self.tool == EDIT:
            paths = " or ".join(map(_path_shown, self.has[0]))
            text = f"{_EDIT_HEAD}: {paths}"
            groups = self.has[1:]
        elif self.tool in (SHELL, POWERSHELL):
            text += f" {_alternatives(self.has[0])}"
            groups = self.has[1:]
        if groups:
            text += f" with {' and '.join(map(_alternatives, groups))}"
        if self.lacks:
            text += f" without {_alternatives(self.lacks)}"
        return text.removesuffix(":")

    @property
    def in_words(self) -> str:
        """What it meets, as a part of a sentence: `relctl cut` without `--no-rehearse`. Bash goes without saying."""
        return str(self).removeprefix(f"{SHELL}: ")

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys under which it is looked up: at least one is among `Call.keys` of each call that it matches.

        | the guard                         | its keys        |
        |-----------------------------------|-----------------|
        | Bash: `git push` or `gh pr merge` | `$ git`, `$ gh` |
        | Edit: src/*.py                    | `*.py`          |
        | mcp__jira__search                 | `tool search`   |
        """
        if self.tool in (SHELL, POWERSHELL):
            return tuple({f"$ {name_of(head)}": None for head in self.has[0]})
        if self.tool == EDIT:
            return tuple({path_key(path): None for path in self.has[0]})
        return (tool_key(self.tool),)


def _alternatives(items: Sequence[str]) -> str:
    """Return the items of a group, of which one has to be there, as a person writes them."""
    return " or ".join(map(_item_shown, items))


def _item_shown(item: str) -> str:
    """Return an item in backticks; "an argument" is no word of a command and stands without them."""
    if item == ANY_ARGUMENT:
        return item
    return f"`{item}`"


def _path_shown(path: str) -> str:
    """Return a path, in backticks if blanks would cut it."""
    if " " in path:
        return f"`{path}`"
    return path


def stored_guard(text: str | None) -> Guard | None:
    """Return the guard of a record; None where it has none, or one of another release that cannot be read."""
    if not text:
        return None
    try:
        return parse_guard(text)
    except InputError:
        return None


def parse_guard(text: str) -> Guard:
    """Return the guard that a text writes in its readable form; InputError says what is wrong, and gives an example.

    "Bash: `git push` with `--force` or `-f`" is Guard("Bash", (("git push",), ("--force", "-f"))).
    """
    if not text.strip() or len(text) > MOST_CHARS:
        raise InputError("guard", f"it is empty or longer than {MOST_CHARS} characters", FORMS)
    tool, items_text = _tool_and_items(text.strip())
    is_of_shell = tool in (SHELL, POWERSHELL)
    has, lacks = _read_items(items_text, joins_bare_words=is_of_shell)
    first_group, *other_groups = (tuple(filter(None, group)) for group in has)
    if not _is_about_something(tool, first_group):
        missing = _NAMED.get(tool, "the tool's name")
        raise InputError("guard", f"it does not name {missing}", FORMS)
    groups = tuple(filter(None, (first_group, *other_groups)))
    if is_of_shell:
        groups = _with_options_apart(groups)
        lacks = [_with_joined_value(item) for item in lacks]
    if sum(map(len, groups)) + len(lacks) > _MOST_ITEMS:
        raise InputError("guard", f"it has more than {_MOST_ITEMS} parts", FORMS)
    guard = Guard(tool, groups, tuple(filter(None, lacks)))
    if meets_everything(guard):
        raise InputError(
            "guard", "it would meet every call", f"Name what the wrong call has. {FORMS}"
        )
    return guard


def _is_about_something(tool: str, first_group: Sequence[str]) -> bool:
    """Return whether a guard names its tool, and in its first group what it is on.

    | the tool          | the first group has to have                      |
    |-------------------|--------------------------------------------------|
    | Bash, PowerShell  | programs, of which none begins as an option does |
    | Edit              | files                                            |
    | any other         | nothing                                          |
    """
    if not tool or " " in tool:
        return False
    if tool == EDIT:
        return bool(first_group)
    if tool in (SHELL, POWERSHELL):
        return bool(first_group) and not any(head.startswith("-") for head in first_group)
    return True


def _with_options_apart(groups: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of a shell's guard with the options of its head, and with values joined to their options.

    Options may stand anywhere in a command, so that they are items of their own:

    | written                                  | read                                                    |
    |------------------------------------------|---------------------------------------------------------|
    | `git push --force`                       | `git push` with `--force`                               |
    | `curl` with `-X DELETE`                  | `curl` with `-X=DELETE`                                 |
    | `kubectl --context prod delete`          | `kubectl delete` with `--context=prod`                  |
    | `git push --force` or `git push -f`      | InputError: which options belong to which is not clear  |
    """
    heads, *others = groups
    joined = [tuple(map(_with_joined_value, group)) for group in others]
    if not any(_has_option(head) for head in heads):
        return (heads, *joined)
    head, *further_heads = heads
    if further_heads:
        fix = f"Name the options behind `with`. {FORMS}"
        raise InputError("guard", "several programs are named, and one has options", fix)
    words, options = _words_and_options(head.split())
    groups_of_options = [(option,) for option in options]
    return ((" ".join(words),), *groups_of_options, *joined)


def _has_option(head: str) -> bool:
    """Return whether an option stands behind the program of a head: `git push --force`."""
    return any(map(_is_option, head.split()[1:]))


def _is_option(word: str) -> bool:
    """Return whether a word begins as an option does; `-` alone stands for the input of a program."""
    return word[:1] == "-" and len(word) > 1


def _words_and_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the program with its subcommands, and its options, each with the value that it is known to take."""
    head: list[str] = []
    options: list[str] = []
    for word in words:
        waits_for_value = bool(options) and options[-1] in valued_options(head)
        if _is_option(word) and head:
            options.append(word)
        elif waits_for_value:
            options[-1] = f"{options[-1]}={word}"
        else:
            head.append(word)
    return head, options


def _with_joined_value(item: str) -> str:
    """Return an option with its value as one word, `-n=auto` for `-n auto`; any other item as it is."""
    option, blank, value = item.partition(" ")
    if not blank or not _is_option(option) or " " in value or value.startswith("-"):
        return item
    return f"{option}={value}"


def _tool_and_items(text: str) -> tuple[str, str]:
    """Return the tool of a guard and the text of its items, which stand behind the colon.

    | the text                                       | tool     | items                       |
    |------------------------------------------------|----------|-----------------------------|
    | "`git push` with `--force`"                    | Bash     | all of it                   |
    | "Edit: a.py", "Edit or a shell redirect: a.py" | Edit     | "a.py": it names files      |
    | "edit: with `path`"                            | edit     | "with `path`": a tool's own |
    | "mcp__jira__search: with `limit`"              | as named | "with `limit`"              |
    | "WebSearch"                                    | as named | none                        |
    """
    tool, colon, items_text = text.partition(":")
    tool = tool.strip()
    if "`" in tool or ("`" in text and not colon):
        return SHELL, text
    if not colon:
        return text, ""
    names_files = tool.lower() == "edit" and not items_text.lstrip().startswith("with")
    if names_files or tool.lower().startswith("edit or"):
        return EDIT, items_text
    return tool, items_text


class _ReadItems(NamedTuple):
    """The groups of what a call has, and the items that it lacks."""

    has: list[list[str]]
    lacks: list[str]


def _read_items(text: str, *, joins_bare_words: bool) -> _ReadItems:
    """Return the items of a guard's text in their groups.

    "with" and "and" begin a group, "or" adds to it, and behind "without" all items are lacked: "`a` with `b` or `c` and
    `d` without `e`" has the groups [a], [b, c], [d] and lacks [e]. With `joins_bare_words`, words one after the other
    that stand without backticks are one item: git push.
    """
    has: list[list[str]] = [[]]
    lacks: list[str] = []
    group = has[0]
    follows_bare_word = False
    for match in _ITEM.finditer(text):
        quoted, keyword, bare_word = match.groups()
        if keyword == "without":
            group = lacks
        elif keyword == "with" or (keyword == "and" and group is not lacks):
            has.append([])
            group = has[-1]
        elif keyword is None and bare_word and follows_bare_word and joins_bare_words:
            group[-1] += f" {bare_word}"
        elif keyword is None:
            group.append(match[0] if quoted is None else quoted.strip())
        follows_bare_word = bool(bare_word)
    return _ReadItems(has, lacks)


def is_too_wide(guard: Guard) -> bool:
    """Return whether a derived guard would meet too many calls to be trusted.

    Such a guard names no more than a program that every session uses (`git`), or a whole tool of the host itself.
    """
    if meets_everything(guard):
        return True
    if guard.tool in (SHELL, POWERSHELL):
        heads = guard.has[0]
        names_program_alone = len(guard.has) == 1 and any(" " not in head for head in heads)
        return names_program_alone and any(
            name_of(head) in words_about("ordinary") for head in heads
        )
    is_of_server = "__" in guard.tool
    return not guard.has and not guard.lacks and not is_of_server


def meets_everything(guard: Guard) -> bool:
    """Return whether a guard would meet every edit, every command, or every call of a tool that every session uses.

    Such are "Edit: *", "Bash: `*`" and "Read". Nobody can want them, so that a person may not write them either.
    """
    if guard.tool == EDIT:
        return any(not path.strip("*/.") for path in guard.has[0])
    if guard.tool in (SHELL, POWERSHELL):
        return any(not head.split()[0].strip("*") for head in guard.has[0])
    is_in_every_session = is_shell(guard.tool) or guard.tool.lower() in _TOOLS_OF_EVERY_SESSION
    return not guard.has and is_in_every_session
