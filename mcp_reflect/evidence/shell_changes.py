"""What a command of the shell changes of the source, as far as its words and its answer say it."""

from collections.abc import Sequence
from typing import Final

from mcp_reflect.evidence.command_kinds import kinds_of
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.patterns import lazy_compile

_WRITES: Final = lazy_compile(
    r"\.write(?:_text|_bytes|lines)?\(|open\([^)\n]{0,200}['\"][wa]b?\+?['\"]|writeFile|File\.write"
)
_MOST_SCRIPT: Final = 20_000  # characters of a script that are read
_MOST_SHOWN: Final = 60  # characters of a command that are shown
_MOST_ENDING: Final = 2_000  # characters of an answer in which git says that nothing changed
_INTERPRETERS: Final = frozenset({"python", "node", "ruby"})
_UNCHANGED: Final = lazy_compile(
    r"Already up[ -]to[ -]date|No local changes|no changes|Already on |0 files? changed|Nothing to"
)
_CHANGED: Final = lazy_compile(
    r"\breformatted\b|\bFixed [1-9]|(?<!\d)[1-9]\d* (?:(?:file|error)s? (?:changed|fixed)|fixed)"
)

# Commands of git that change files of the working tree, and the words with which they do not.
_GIT_CHANGES: Final = frozenset(
    "checkout restore stash reset merge pull rebase cherry-pick apply revert am switch clean".split()
)
_GIT_KEEPS: Final = {
    "restore": frozenset(("--staged", "-S")),
    "clean": frozenset(("-n", "--dry-run")),
    "pull": frozenset(("--dry-run", "--abort")),
    "apply": frozenset(("--check", "--cached", "--stat", "--numstat", "--summary")),
    "merge": frozenset(("--abort", "--quit")),
    "rebase": frozenset(("--abort", "--quit", "--show-current-patch")),
    "cherry-pick": frozenset(("--abort", "--quit")),
    "revert": frozenset(("--abort", "--quit")),
    "am": frozenset(("--abort", "--quit", "--show-current-patch")),
}
"""Options with which an action of git leaves the files, or takes back what it had begun."""

_NEW_BRANCH: Final = frozenset(("-b", "-B", "-c", "-C", "--create", "--force-create"))
_RESETS_FILES: Final = frozenset(("--hard", "--keep", "--merge"))


def removed_files(words: Sequence[str]) -> list[str]:
    """Return the files that a command removes."""
    if words[:1] != ["rm"]:
        return []
    return _without_options(words[1:])


def changes_with_git(words: Sequence[str]) -> bool:
    """True for a command of git that may change files: nobody knows what they were before."""
    return words[:1] == ["git"] and not _GIT_CHANGES.isdisjoint(words[1:3])


def puts_changes_away(words: Sequence[str], answer: str) -> bool:
    """True for `git stash`: what runs until it is taken back runs on other files."""
    return _git_action(words, answer) == "stash"


def what_changed(
    words: Sequence[str], documents: str, answer: str, programs: tuple[str, ...]
) -> str:
    """Return which command changed files whose names it does not say; empty where it changed none.

    | the command                                          | is named                           |
    |------------------------------------------------------|------------------------------------|
    | `python`, with a script that writes files            | "a script of `python`"             |
    | `git checkout main`, which brings other files        | the command                        |
    | `git stash`, `git checkout -b fix`                   | not at all: they change no file, or put changes away |
    | `ruff check --fix`, where its output says that it did | the command                       |

    `documents` are the here-documents of the whole script, which an interpreter may have been given; `programs` extends
    the table of proofs, by which formatters are known.
    """
    program, *rest = words
    if program in _INTERPRETERS:
        script = " ".join(rest)[:_MOST_SCRIPT]
        if _WRITES.search(f"{script}\n{documents}"):
            return f"a script of `{program}`"
    action = _git_action(words, answer)
    if action and _keeps_files(action, rest):
        return ""
    if action:
        return f"`git {' '.join(rest)[:_MOST_SHOWN]}`"
    if _is_formatter(words, programs) and _CHANGED.search(answer):
        return f"`{' '.join(words)[:_MOST_SHOWN]}`"
    return ""


def _git_action(words: Sequence[str], answer: str) -> str:
    """Return the action of git that may have changed files, empty where its answer says that it did not."""
    operands = _without_options(words[1:])
    if words[:1] != ["git"] or not operands or operands[0] not in _GIT_CHANGES:
        return ""
    if _UNCHANGED.search(answer[-_MOST_ENDING:]):
        return ""
    return operands[0]


def _keeps_files(action: str, rest: Sequence[str]) -> bool:
    """Return whether an action of git, as it is called, leaves the files of the working tree, or puts them away.

    | action                | leaves them                                                        |
    |-----------------------|--------------------------------------------------------------------|
    | `stash`               | always: it puts changes away, for which `puts_changes_away` is     |
    | `reset`               | without `--hard`, `--keep` and `--merge`                           |
    | `checkout`, `switch`  | with a new branch that begins at the present commit: `-b topic`    |
    | any other             | with an option of `_GIT_KEEPS`                                     |
    """
    if action == "stash":
        return True
    if action == "reset":
        return _RESETS_FILES.isdisjoint(rest)
    if action in ("checkout", "switch"):
        begins_here = len(_without_options(rest)) <= 2  # the action and the branch
        return begins_here and not _NEW_BRANCH.isdisjoint(rest)
    return not _GIT_KEEPS.get(action, frozenset()).isdisjoint(rest)


def _is_formatter(words: Sequence[str], programs: tuple[str, ...]) -> bool:
    """Return whether a command is a formatter or a linter, which may mend files."""
    return not kinds_of(words, programs).isdisjoint({ProofKind.FORMAT, ProofKind.LINT})


def _without_options(words: Sequence[str]) -> list[str]:
    """Return the words that begin with no hyphen."""
    return [word for word in words if not word.startswith("-")]
