"""The words of a command: quotes and escapes taken off, variables and braces expanded as far as the text tells them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.shell.bounds import MOST_DEPTH, TooMuchError
from mcp_reflect.shell.braces import expand_braces
from mcp_reflect.shell.parser import Node, text_of
from mcp_reflect.shell.variables import ARGUMENTS, SPLIT, Variables, Word

# While a word is put together, quoted braces and commas are written as characters that occur in no text, so that brace
# expansion does not take them for its own signs. `_RESTORED` turns them back.
_PROTECTED: Final = str.maketrans("{},", "\ufdd1\ufdd2\ufdd3")
_NOTHING: Final = "\ufdd4"
_RESTORED: Final = str.maketrans("\ufdd1\ufdd2\ufdd3", "{},", _NOTHING)
_NO_TEXT: Final = re.compile("[\ufdd0-\ufdd4]")

_PLAIN_COMMAND: Final = re.compile(rb"[\w./:@%+,-]+(?: +[\w./:@%+,=-]+)*")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES: Final = re.compile(r"\\([$`\"\\])")
_ESCAPED_IN_DOCUMENTS: Final = re.compile(r"\\([$`\\])")  # quotes mean nothing there
_ESCAPES_IN: Final = {"string": _ESCAPED_IN_QUOTES, "heredoc_body": _ESCAPED_IN_DOCUMENTS}
_ESCAPES_OF_CONTENT: Final = {
    "string_content": _ESCAPED_IN_QUOTES,
    "heredoc_content": _ESCAPED_IN_DOCUMENTS,
}
_CONTINUED: Final = "\\\n"
_CONTINUED_WORD: Final = re.compile(r"(?<=[\w./\"'-])\\\n(?=[\w./\"'-])")
_ANSI: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|([0-7]{1,3})|(.))", re.DOTALL
)
_ANSI_SIGNS: Final = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a", "b": "\b"}
_ALL_ARGUMENTS: Final = frozenset("@*")
_NAMED_PROGRAM: Final = re.compile(r"[$`]\(?\s?(?:which|command -v|type -P) ([\w.+-]{1,80})\s?[)`]")
# `echo` prints its options `-n`, `-e` and `-E` not.
_PRINTED_WORDS: Final = re.compile(
    r"[$`]\(?\s?echo ((?!-[neE]+\b)[\w./=:@%+-]{1,200}(?: [\w./=:@%+-]{1,200}){0,20})\s?[)`]"
)
_DEFAULTS: Final = frozenset((":-", "-", ":=", "="))
_REPLACEMENTS: Final = frozenset((":+", "+"))


def plain_command(node: Node, source: bytes) -> str | None:
    """Return the text of a command in which nothing is quoted, expanded, assigned or redirected; most are so."""
    if node.type != "command":
        return None
    text = source[node.start_byte : node.end_byte]
    return text.decode() if _PLAIN_COMMAND.fullmatch(text) else None


def source_of(text: str) -> bytes:
    r"""Return what the parser is given of a text.

    It takes a document that begins with a backslash for arguments, so that a sign for nothing is put before it. It ends
    a word at a continued line, where a shell goes on with it: `g\\` and `it` on the next line are `git`.
    """
    plain = _CONTINUED_WORD.sub("", _NO_TEXT.sub("?", text))
    if "<<" in plain and "\n\\" in plain:
        lines = plain.split("\n")
        for at in range(1, len(lines)):
            if lines[at].startswith("\\") and "<<" in lines[at - 1]:
                lines[at] = _NOTHING + lines[at]
        plain = "\n".join(lines)
    return plain.encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a word whose text is settled; not known where it is written as it stands, such as `$x` or `$(ls)`."""

    text: str
    is_known: bool = True
    is_empty_list: bool = False  # `"${x[@]}"` of a list without words is no word


_QUOTED: Final = frozenset(("string", "raw_string", "ansi_c_string", "translated_string"))


def words_of(node: Node, source: bytes, variables: Variables) -> list[Word]:
    """Return the words that one argument becomes: none for an empty variable, many for braces."""
    node_type = node.type
    if node_type in ("word", "number", "command_name") and not node.named_children:
        text = text_of(node, source)  # most words are plain
        if "\\" not in text and "{" not in text:
            return [Word(text)]
    pieces = _pieces(node, source, variables)
    text = "".join(piece.text for piece in pieces)
    known = all(piece.is_known for piece in pieces)
    expanded = expand_braces(text)
    if expanded is None:
        expanded, known = [text], False
    has_quotes = node_type in _QUOTED or _has_quotes(node)
    keeps_empty = has_quotes and not any(piece.is_empty_list for piece in pieces)
    words: list[Word] = []
    for expanded_word in expanded:
        parts = (part for part in expanded_word.split(SPLIT) if part or keeps_empty)
        words += [Word(part.translate(_RESTORED), known) for part in parts]
    return words


def words_of_all(nodes: Sequence[Node], source: bytes, variables: Variables) -> list[Word]:
    """Return the words that several arguments become."""
    words: list[Word] = []
    for node in nodes:
        words += words_of(node, source, variables)
    return words


def text_value(node: Node, source: bytes, variables: Variables) -> Word:
    """Return what a node stands for where it is not cut into words: a value, the text of `<<<`, a document."""
    pieces = _pieces(node, source, variables, is_quoted=True)
    text = "".join(piece.text for piece in pieces)
    plain = text.replace(SPLIT, " ").translate(_RESTORED)
    return Word(plain, all(piece.is_known for piece in pieces))


def raw_value(node: Node, source: bytes) -> str:
    """Return the text of a node as it is written, for a here-document in which nothing is expanded."""
    return text_of(node, source).replace(_NOTHING, "")


def _has_quotes(node: Node) -> bool:
    """Return whether a word is put together of several parts, one of them in quotes: `a"b c"`."""
    return node.type == "concatenation" and any("string" in child.type for child in node.children)


def _pieces(
    root: Node, source: bytes, variables: Variables, *, is_quoted: bool = False
) -> list[_Piece]:
    """Return the parts of a word in their order; of one with too many levels each would hold all below it again."""
    pieces: list[_Piece] = []
    waiting: list[tuple[Node | _Piece, bool, int]] = [(root, is_quoted, 0)]
    while waiting:
        node, quoted, depth = waiting.pop()
        if isinstance(node, _Piece):
            pieces.append(node)
            continue
        if depth > 2 * MOST_DEPTH:  # an expansion in quotes has two
            raise TooMuchError(f"it is deeper than {MOST_DEPTH} levels")
        parts = _parts(node, source, variables, quoted=quoted)
        if isinstance(parts, _Piece):
            pieces.append(parts)
        else:
            waiting.extend((part, is_in, depth + 1) for part, is_in in reversed(parts))
    return pieces


def _parts(
    node: Node, source: bytes, variables: Variables, *, quoted: bool
) -> _Piece | list[tuple[Node | _Piece, bool]]:
    """Return the text of a node (a piece), or else the nodes and pieces that it is made of, each with whether it is quoted."""
    node_type = node.type
    if node_type in ("concatenation", "command_name"):
        return [(child, quoted) for child in node.children if child.type != "$"] or _plain(
            node, source
        )
    if node_type in _ESCAPES_IN:
        return _of_quotes(node, source, _ESCAPES_IN[node_type])
    if node_type == "translated_string":
        return [(child, quoted) for child in node.named_children]
    if node_type == "raw_string":
        return _Piece(text_of(node, source)[1:-1].translate(_PROTECTED))
    if node_type == "ansi_c_string":
        return _Piece(_ANSI.sub(_ansi_sign, text_of(node, source)[2:-1]).translate(_PROTECTED))
    if node_type in _ESCAPES_OF_CONTENT:
        return _between(source, node.start_byte, node.end_byte, _ESCAPES_OF_CONTENT[node_type])
    if node_type in ("simple_expansion", "expansion"):
        return _expansion(node, source, variables, quoted=quoted)
    if node_type == "command_substitution":
        return _substituted(node, source, quoted=quoted)
    if node_type in ("process_substitution", "arithmetic_expansion"):
        return _Piece(text_of(node, source).translate(_PROTECTED), is_known=False)
    return _plain(node, source)


def _substituted(node: Node, source: bytes, *, quoted: bool) -> _Piece:
    """Return what `$(which git)` and `$(echo --force)` stand for, as a program's name and words; another is not known."""
    text = text_of(node, source)
    program = _NAMED_PROGRAM.fullmatch(text)
    if program:
        return _Piece(program[1])
    printed = _PRINTED_WORDS.fullmatch(text)
    if printed:
        return _Piece(printed[1] if quoted else SPLIT.join(printed[1].split()))
    return _Piece(text.translate(_PROTECTED), is_known=False)


def _plain(node: Node, source: bytes) -> _Piece:
    """Return the text of a node outside of quotes: a backslash is taken off, and the sign behind it protected."""
    text = text_of(node, source).replace(_CONTINUED, "")
    return _Piece(_ESCAPED.sub(lambda match: match[1].translate(_PROTECTED), text))


def _of_quotes(
    node: Node, source: bytes, escaped: re.Pattern[str]
) -> list[tuple[Node | _Piece, bool]]:
    """Return the parts of a text in double quotes. The parser leaves out some blanks between them, which count here."""
    inner = [child for child in node.children if child.type != '"']
    quote_bytes = 1 if node.type == "string" else 0  # a here-document has none around it
    at = node.start_byte + quote_bytes
    end = node.end_byte - quote_bytes
    parts: list[tuple[Node | _Piece, bool]] = []
    for child in inner:
        if child.start_byte > at:
            parts.append((_between(source, at, child.start_byte, escaped), True))
        parts.append((child, True))
        at = max(at, child.end_byte)
    if end > at:
        parts.append((_between(source, at, end, escaped), True))
    return parts


def _between(source: bytes, start: int, end: int, escaped: re.Pattern[str]) -> _Piece:
    """Return the text of a stretch within quotes; `escaped` finds the backslashes that count there."""
    text = source[start:end].decode("utf-8", "replace").replace(_CONTINUED, "")
    return _Piece(escaped.sub(r"\1", text).translate(_PROTECTED))


def _ansi_sign(match: re.Match[str]) -> str:
    """Return the character that an escape within $'…' stands for: by its hexadecimal or octal number, or by a letter."""
    by_hex, by_code_point, by_octal, letter = match.groups()
    if by_hex or by_code_point:
        return chr(int(by_hex or by_code_point, 16))
    if by_octal:
        return chr(int(by_octal, 8) % 256)
    return _ANSI_SIGNS.get(letter, letter)


def _expansion(
    node: Node, source: bytes, variables: Variables, *, quoted: bool
) -> _Piece | list[tuple[Node | _Piece, bool]]:
    """Return the value of `$x`, `${x}`, `${x[@]}`, `$@`, or what `${x:-y}` and `${x:+y}` give.

    What is not known, or no such form, stays as it is written, as a piece that is not known.
    """
    names = [child for child in node.named_children if child.type in _NAMES]
    operators = [child for child in node.children if child.type not in _NAMES | _SIGNS]
    if not names or names[0] != node.named_children[0] or len(names) > 1:
        return _written(node, source)
    name = text_of(names[0], source)
    key = ARGUMENTS if name in _ALL_ARGUMENTS else name.replace("[*]", "[@]")
    value = variables.known(key)
    if operators:
        word_behind: list[tuple[Node | _Piece, bool]] = [(child, quoted) for child in operators[1:]]
        result = _with_operator(operators[0].type, key, word_behind, variables, quoted=quoted)
        return _written(node, source) if result is None else result
    if value is None:
        return _written(node, source)
    return _value_piece(value, key, variables, quoted=quoted)


def _written(node: Node, source: bytes) -> _Piece:
    """Return an expansion as it is written, for one whose value is not known."""
    return _Piece(text_of(node, source).translate(_PROTECTED), is_known=False)


def _with_operator(
    operator: str,
    key: str,
    word_behind: list[tuple[Node | _Piece, bool]],
    variables: Variables,
    *,
    quoted: bool,
) -> _Piece | list[tuple[Node | _Piece, bool]] | None:
    """Return what `${x:-word}` and `${x:+word}` give; None, with a note of what `x` may be, where that is not known.

    `word_behind` are the parts of the word behind the operator, and `key` is the name of the variable.
    """
    value = variables.known(key)
    if operator not in _DEFAULTS | _REPLACEMENTS or not word_behind:
        return None
    if value is None:
        if operator in _REPLACEMENTS:  # it is taken where the variable is set, to anything
            variables.may_be(key, [f"${key}"])
        else:
            variables.may_be(key, [""])
        return None
    if operator in _DEFAULTS and value:
        return _value_piece(value, key, variables, quoted=quoted)
    if operator in _REPLACEMENTS and not value:
        return _value_piece("", key, variables, quoted=quoted)
    return word_behind


_NAMES: Final = frozenset(("variable_name", "special_variable_name", "subscript"))
_SIGNS: Final = frozenset(("$", "${", "}"))


def _value_piece(value: str, key: str, variables: Variables, *, quoted: bool) -> _Piece:
    """Return the piece of a known value; without quotes its blanks cut it into words. A list is cut in any case."""
    is_list = key == ARGUMENTS or key.endswith("[@]")
    value = value.translate(_PROTECTED)
    if quoted and is_list:
        return _Piece(value, is_empty_list=not value)
    if quoted:
        return _Piece(value.replace(SPLIT, " "))
    return _Piece(re.sub(r"\s+", SPLIT, value), is_known=not variables.splits_otherwise)
