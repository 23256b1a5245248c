"""Here-strings behind other redirections, which bash takes and the parser's grammar does not: `cat > file <<< text`."""

from itertools import groupby
from typing import Final, NamedTuple

from mcp_reflect.shell.parser import Node, descendants

_ERROR: Final = frozenset(("ERROR",))
_UNREAD_SIGNS: Final = b"<<"
"""What the parser does not understand of `<<< text`; it takes the rest, `< text`, for the file that is read."""


class _HereString(NamedTuple):
    """Where a here-string stands in a source, and where the command that it is for ends; offsets in bytes."""

    begins: int
    ends: int
    command_ends: int


def with_here_strings_first(root: Node, source: bytes) -> bytes | None:
    """Return a script with such here-strings before the other redirections of their command: `cat <<< text > file`.

    None where something else is not understood, or where the order counts: of `bash < file <<< text` the last is read.
    """
    found: list[_HereString] = []
    for error in descendants(root, _ERROR, frozenset()):
        here_string = _here_string_at(error, source)
        if here_string is None:
            return None
        found.append(here_string)
    return _moved(source, found)


def _here_string_at(error: Node, source: bytes) -> _HereString | None:
    """Return the here-string that an error of the parser begins, None where the error is another."""
    statement, rest = error.parent, error.next_sibling
    if statement is None or rest is None or statement.type != "redirected_statement":
        return None
    if source[error.start_byte : rest.start_byte + 1] != _UNREAD_SIGNS + b"<":
        return None
    body = statement.child_by_field_name("body")
    if body is None or _reads_a_file(statement, source):
        return None
    return _HereString(error.start_byte, rest.end_byte, body.end_byte)


def _reads_a_file(statement: Node, source: bytes) -> bool:
    """Return whether a statement has another input than here-strings: `cat < file`."""
    for redirect in statement.children_by_field_name("redirect"):
        previous = redirect.prev_sibling
        is_here_string = previous is not None and previous.type == "ERROR"
        operator = source[redirect.start_byte : redirect.end_byte].lstrip(b"0123456789")
        if operator.startswith(b"<") and not is_here_string:
            return True
    return False


def _moved(source: bytes, here_strings: list[_HereString]) -> bytes:
    """Return a source with each here-string right behind its command; the here-strings are in the order of the source.

    `cat > a <<< x <<< y` becomes `cat <<< x <<< y > a`.
    """
    pieces: list[bytes] = []
    copied_to = 0
    for command_ends, group in groupby(here_strings, key=lambda found: found.command_ends):
        of_command = list(group)
        pieces.append(source[copied_to:command_ends])
        pieces += (b" " + source[found.begins : found.ends] for found in of_command)
        copied_to = command_ends
        for found in of_command:
            pieces.append(source[copied_to : found.begins])
            copied_to = found.ends
    pieces.append(source[copied_to:])
    return b"".join(pieces)
