"""What ties two texts that say what a call is about: queries, paths, commands, code."""

import re
from enum import Enum, auto

from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.reflect.rules.alike import (
    CODE_DICE,
    WORD_DICE,
    code_alike,
    commands_alike,
    initials_of,
    looks_like_path,
    names_alike,
    paths_alike,
    queries_alike,
    same_subject,
)
from mcp_reflect.reflect.rules.empty import suggestions_in
from mcp_reflect.reflect.rules.tools import Kind, command_of, kind_of, program_of
from mcp_reflect.reflect.rules.tried import Tried
from mcp_reflect.signature import plain

ERROR_TEXT = 3_000  # characters of an error in which names are looked for

_ABOUT = frozenset({ErrorCategory.NOT_FOUND, ErrorCategory.NO_RESULT})
_WORD = re.compile(r"\w{1,80}")
_TOKEN = re.compile(r"[\w@./-]{2,80}")
_CODE_HINT = re.compile(r"[;{}=]|\n|\b(?:SELECT|INSERT|UPDATE|DELETE|def|import|const|let)\b")


class Tie(Enum):
    """What ties two calls together, the surest first."""

    SAME = auto()  # the same arguments
    SUGGESTED = auto()  # the failing answer itself proposed what was then sent
    POINTED = auto()  # the error names what was then changed
    ALIKE = auto()  # the calls are alike and little else is known


def searched_tie(failed: Tried, first: str, second: str) -> Tie | None:
    """The tie of two queries where nothing proves that what was found is what was looked for."""
    if suggested(second, failed) and (names_alike(first, second) or initials_of(first, second)):
        return Tie.SUGGESTED
    return Tie.ALIKE if same_subject(first, second) else None


def text_tie(failed: Tried, first: str, second: str, error: str) -> Tie | None:
    """The tie of two texts, by what kind of text they are."""
    kind, command = kind_of(failed.call.tool, failed.call.arguments), command_of(failed.call.arguments)
    if "\n" not in first and (kind is Kind.RUN or command == first):
        tie = _command_tie(failed, first, second, error)
        if tie is not None:
            return tie
    if _CODE_HINT.search(first[:2_000]) and not looks_like_path(first):
        return _code_tie(failed, first, second, error)
    alike = queries_alike if kind is Kind.SEARCH else names_alike
    if looks_like_path(first) and looks_like_path(second):
        alike = paths_alike
    return Tie.ALIKE if alike(first, second) else None


def _command_tie(failed: Tried, first: str, second: str, error: str) -> Tie | None:
    if commands_alike(first, second):
        return Tie.POINTED if _replaced_named(first, second, error) else Tie.ALIKE
    return Tie.POINTED if _named_option(failed, first, second, error) else None


def _code_tie(failed: Tried, first: str, second: str, error: str) -> Tie | None:
    dice = code_alike(first, second)
    if "\n" not in first and dice >= WORD_DICE and _replaced_named(first, second, error):
        return Tie.POINTED
    return Tie.ALIKE if dice >= CODE_DICE and failed.fault is not None and not failed.fault.empty else None


def _named_option(failed: Tried, first: str, second: str, error: str) -> bool:
    """The same command but for a word that the error names: a port in use. A missing thing is another thing."""
    missing = about_thing(failed) or (failed.fault is not None and failed.fault.category is ErrorCategory.DEPENDENCY)
    same_program = program_of(first)[0] == program_of(second)[0]
    return (
        same_program
        and not missing
        and code_alike(first, second) >= CODE_DICE
        and _replaced_named(first, second, error)
    )


def about_thing(failed: Tried) -> bool:
    """The failure is that something is not there: what is sent next may be about another thing."""
    return failed.fault is not None and failed.fault.category in _ABOUT


def names_value(error: str, words: frozenset[str], value: str) -> bool:
    """Whether the error names the value."""
    return value in words if value.isalnum() else len(value) >= 3 and value in error


def _replaced_named(first: str, second: str, error: str) -> bool:
    """Whether a word that was taken out is one that the error names."""
    old, new = set(_TOKEN.findall(first[:8_000])), set(_TOKEN.findall(second[:8_000]))
    words = words_of(error)
    return any(word.casefold() in words for word in old - new if len(word) >= 3)


def words_of(error: str) -> frozenset[str]:
    """The words and dotted names of an error."""
    return frozenset(_TOKEN.findall(error)) | frozenset(_WORD.findall(error))


def suggested(value: str, failed: Tried) -> bool:
    """Whether the failing answer proposed this very value."""
    wanted = plain(value).casefold()
    return len(wanted) >= 2 and any(plain(item).casefold() == wanted for item in suggestions_in(_answer(failed)))


def _answer(failed: Tried) -> str:
    return failed.call.error or failed.call.answer


def error_text(failed: Tried) -> str:
    """Both ends of what the call answered, in lower case."""
    text = _answer(failed)
    edges = text if len(text) <= ERROR_TEXT else text[: ERROR_TEXT // 2] + "\n" + text[-ERROR_TEXT // 2 :]
    return edges.casefold()
