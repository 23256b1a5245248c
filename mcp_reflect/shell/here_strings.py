"""Here-strings behind other redirections, which bash takes and the parser's grammar does not: `cat > file <<< text`."""

from typing import Final, NamedTuple

from mcp_reflect.shell.parser import Node, descendants

_ERROR: Final = frozenset(("ERROR",))
_BEFORE_REST: Final = b"<<"
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
    if source[error.start_byte : rest.start_byte + 1] != _BEFORE_REST + b"<":
        return None
    body = statement.child_by_field_name("body")
    if body is None or _reads_a_file(statement, source):
        return None
    return _HereString(error.start_byte, rest.end_byte, body.end_byte)


def _reads_a_file(statement: Node, source: bytes) -> bool:
    """True for a statement with another input than here-strings: `cat < file`."""
    for redirect in statement.children_by_field_name("redirect"):
        before = redirect.prev_sibling
        is_here_string = before is not None and before.type == "ERROR"
        operator = source[redirect.start_byte : redirect.end_byte].lstrip(b"0123456789")
        if operator.startswith(b"<") and not is_here_string:
            return True
    return False


def _moved(source: bytes, here_strings: list[_HereString]) -> bytes:
    """Return a source with each here-string right behind its command. They are in the order of the source."""
    pieces: list[bytes] = []
    copied_to = 0
    for place, here_string in enumerate(here_strings):
        is_first_of_command = (
            place == 0 or here_strings[place - 1].command_ends != here_string.command_ends
        )
        if is_first_of_command:
            pieces.append(source[copied_to : here_string.command_ends])
            pieces += _of_command(source, here_strings[place:], here_string.command_ends)
            copied_to = here_string.command_ends
        pieces.append(source[copied_to : here_string.begins])
        copied_to = here_string.ends
    pieces.append(source[copied_to:])
    return b"".join(pieces)


def _of_command(source: bytes, here_strings: list[_HereString], command_ends: int) -> list[bytes]:
    """Return the here-strings of the command that ends there, each behind a blank; they are the first of the list."""
    texts: list[bytes] = []
    for here_string in here_strings:
        if here_string.command_ends != command_ends:
            break
        texts.append(b" " + source[here_string.begins : here_string.ends])
    return texts
