"""What differs between two shell commands, where that one difference explains why the first failed."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from mcp_reflect.analysis.shell import segments
from mcp_reflect.analysis.text import without_own_values, word_set

SHOWN_COMMAND = 140  # characters of a command in a lesson; a longer one is named by what it runs
SHOWN_VALUE = 60  # characters of an argument in a lesson; a longer one belongs to its task

PROBES = word_set(
    "which command type test [ ls stat ping pgrep lsof grep egrep rg ag find diff cmp curl wget nc dig host ps kill"
)
NOT_THERE = re.compile(
    r"(?i)no such file|not found|no module named|does(?:n't| not) exist|cannot find|could not find|can't find"
    r"|not a git repository|couldn't find"
)
_NO_PROGRAM = re.compile(r"(?i)command not found|: not found|is not recognized|executable file not found|no such file")
# Options and settings that keep a program from asking.
NO_QUESTIONS = word_set(
    "-y --yes --assume-yes --non-interactive --no-input --no-interaction --no-pager --batch --run --watch=false "
    "--watchAll=false CI=1 CI=true DEBIAN_FRONTEND=noninteractive GIT_PAGER=cat PAGER=cat"
)

_ACTIVATES = word_set("source . activate conda nvm export eval module workon pyenv")
_RUNNERS = word_set("sudo doas uv poetry pipenv npx pnpm yarn bundle python python3 pdm rye hatch conda env xvfb-run")
# Commands that change the state in which other commands run, by a word that says so.
PREPARES = word_set(
    """
    install add sync ci restore i login auth authenticate sso checkout switch pull fetch rebase merge stash submodule
    migrate migration upgrade export use-context update-kubeconfig set-context build rebuild reindex index init setup
    configure config bootstrap generate compile seed refresh up start restart enable register unlock link mkdir chmod
    chown ln source activate use approve grant connect
    """
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The correction in words, and the mistake where it is not the failing call itself."""

    correction: str
    mistake: str | None = None


_KEEPS = "the shell keeps its working folder between calls"
_ALREADY_THERE = Difference(
    mistake="`cd` into a folder of the project failed: the shell was already in it.",
    correction=f"Leave out the `cd`, or use absolute paths: {_KEEPS}.",
)
_ELSEWHERE = Difference(
    mistake="A path relative to the project's root was not found: the shell was in another folder.",
    correction=f"Use the absolute path, or change back to the root: {_KEEPS}.",
)


def difference(first: str, second: str, error: str) -> Difference | None:
    """The one telling difference between a command that failed with `error` and one that worked; None for another."""
    told = _difference(first, second, error)
    return Difference(correction=told) if isinstance(told, str) else told


def _difference(first: str, second: str, error: str) -> "str | Difference | None":
    old, new = segments(first), segments(second)
    if not old or not new:
        return None
    if old == new:
        quoted = re.sub(r"['\"\\]", "", first) == re.sub(r"['\"\\]", "", second) and len(second) > len(first)
        return f"Put the argument in quotation marks: `{second}`." if quoted and is_short(second) else None
    if len(old) == len(new) + 1 and old[0][0] == "cd" and re.search(r"\bcd\b.{0,20}no such file", error, re.IGNORECASE):
        return _ALREADY_THERE if _alike(old[1:], new) else None
    if len(new) > len(old) and new[-len(old) :] == old:
        return _led_by(new[: -len(old)], second, error)
    places = [place for place, words in enumerate(old) if len(old) == len(new) and words != new[place]]
    if len(places) != 1 or (old[places[0]][0] in PROBES and not NOT_THERE.search(error)):
        return None
    return _one_word(old[places[0]], new[places[0]], second, error)


def _led_by(added: list[list[str]], second: str, error: str) -> str | None:
    """The correction where the working command only begins with more."""
    if all(words[0] == "cd" for words in added):
        folder = "the project's root" if added[0][-1].startswith(("/", "~")) else f"`{added[0][-1]}`"
        return f"Run it in {folder}: `cd` there in the same command." if NOT_THERE.search(error) else None
    if any(words[0] in _ACTIVATES or set(words[:3]) & PREPARES for words in added) and is_short(second):
        return f"Run it as `{without_own_values(second)}`."
    return None


def _one_word(old: list[str], new: list[str], second: str, error: str) -> str | Difference | None:
    """The correction where one run of words of a command differs."""
    changed = [code for code in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if code[0] != "equal"]
    if len(changed) != 1:
        return None
    _, start, end, new_start, new_end = changed[0]
    gone, come = old[start:end], new[new_start:new_end]
    before, after = " ".join(gone), " ".join(come)
    if start == 0:
        return _program(gone, come, second, error)
    if len(before) > SHOWN_VALUE or len(after) > SHOWN_VALUE:
        return _ELSEWHERE if is_absolute(before, after) and NOT_THERE.search(error) else None
    if (gone or come)[0].startswith("-") and (come or gone)[0].startswith("-"):
        names = [word.strip("-").split("=")[0].casefold() for word in (*gone, *come)]
        if not NO_QUESTIONS & {*come} and not any(len(name) > 1 and name in error.casefold() for name in names):
            return None
        return (
            f"Use `{after}` instead of `{before}`."
            if gone and come
            else f"Add `{after}`."
            if come
            else f"Leave out `{before}`."
        )
    if is_absolute(before, after) and NOT_THERE.search(error):
        return _ELSEWHERE
    proposed = len(gone) == len(come) == 1 and after.casefold() in error.casefold()
    return f"Use `{after}` instead of `{before}`, as the error says." if proposed else None


def _program(gone: list[str], come: list[str], second: str, error: str) -> str | None:
    """The correction where the words before a command's arguments differ: its program, or what runs that."""
    before, after = " ".join(gone), " ".join(come)
    if not gone:
        runs = come[0] in _RUNNERS or "=" in come[0]
        return f"Run it as `{without_own_values(second)}`." if runs and is_short(second) else None
    if len(gone) > 1 or not _NO_PROGRAM.search(error):
        return None
    return f"Use `{after}` instead of `{before}`." if come else f"Leave out `{before}`."


def is_absolute(before: str, after: str) -> bool:
    """True where the second is the first as an absolute path."""
    relative = before.removeprefix("./").strip("'\"")
    return (
        not before.startswith(("/", "-"))
        and after.startswith("/")
        and bool(relative)
        and after.endswith(f"/{relative}")
    )


def _alike(first: list[list[str]], second: list[list[str]]) -> bool:
    """True for commands of the same programs whose words are mostly shared."""
    heads = [words[:2] for words in first] == [words[:2] for words in second]
    ratio = SequenceMatcher(None, " ".join(map(" ".join, first))[:4_000], " ".join(map(" ".join, second))[:4_000])
    return heads and ratio.quick_ratio() > 0.8


def is_short(command: str, limit: int = SHOWN_COMMAND) -> bool:
    """True for a command on one line that can stand in a lesson."""
    return len(command.strip()) <= limit and "\n" not in command.strip()
