"""The words of a command: quotes and escapes taken off, variables and braces expanded as far as the text tells them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcp_reflect.shell.bounds import MOST_DEPTH, TooMuchError
from mcp_reflect.shell.braces import expand_braces
from mcp_reflect.shell.parser import Node, text_of
from mcp_reflect.shell.variables import ARGUMENTS, SPLIT, Variables, Word

# While a word is put together, quoted braces and commas are written as characters that occur in no text, so that brace
# expansion does not take them for its own signs. `_RESTORED` turns them back.
_PROTECTED: Final = str.maketrans("{},", "\ufdd1\ufdd2\ufdd3")
# Stands before a here-document that begins with a backslash: see `source_of`.
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
# Commands that print where a program is: `$(which git)` stands for the program itself.
_LOOK_UPS: Final = (("which",), ("command", "-v"), ("type", "-P"))
_OPTION_OF_ECHO: Final = re.compile(r"-[neE]+")  # `echo` does not print it
_PLAIN_WORD: Final = re.compile(r"[\w./=:@%+,-]+")
_PLAIN_WORDS_IN_QUOTES: Final = re.compile(r"'[\w./=:@%+, -]+'|\"[\w./=:@%+, -]+\"")
# Operators of `${x:-word}`, and of `${x:+word}`.
_DEFAULTS: Final = frozenset((":-", "-", ":=", "="))
_REPLACEMENTS: Final = frozenset((":+", "+"))
# Types of the parser's nodes: of a word in quotes, and in an expansion of the name and of the signs around it.
_QUOTED: Final = frozenset(("string", "raw_string", "ansi_c_string", "translated_string"))
_NAMES: Final = frozenset(("variable_name", "special_variable_name", "subscript"))
_SIGNS: Final = frozenset(("$", "${", "}"))


def plain_command(node: Node, source: bytes) -> str | None:
    """Return the text of a command in which nothing is quoted, expanded, assigned or redirected, None for another.

    Most commands are plain, `git push -f`, and are read faster so; `git push "$x"` is not.
    """
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
        for number in range(1, len(lines)):
            if lines[number].startswith("\\") and "<<" in lines[number - 1]:
                lines[number] = _NOTHING + lines[number]
        plain = "\n".join(lines)
    return plain.encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a word whose text is settled; not known where it is written as it stands, such as `$x` or `$(ls)`."""

    text: str
    is_known: bool = True
    is_empty_list: bool = False  # `"${x[@]}"` of a list without words is no word


class _WordPart(NamedTuple):
    """A part of a word that may have parts itself, how deep it is in the word, and whether it stands in quotes."""

    content: "Node | _Piece"
    is_quoted: bool
    depth: int = 0


def words_of(node: Node, source: bytes, variables: Variables) -> list[Word]:
    """Return the words that one argument becomes.

    | argument    | words                    |                                           |
    |-------------|--------------------------|-------------------------------------------|
    | `"a b"`     | `a b`                    |                                           |
    | `{a,b}.txt` | `a.txt`, `b.txt`         |                                           |
    | `$x`        | none                     | of a variable that is empty               |
    | `"$x"`      | one that is empty        | of the same variable                      |
    | `$y`        | `$y`, which is not known | of a variable whose value nobody can know |
    """
    node_type = node.type
    if node_type in ("word", "number", "command_name") and not node.named_children:
        text = text_of(node, source)  # most words are plain
        if "\\" not in text and "{" not in text:
            return [Word(text)]
    pieces = _pieces(node, source, variables)
    text = "".join(piece.text for piece in pieces)
    is_known = all(piece.is_known for piece in pieces)
    expanded_texts = expand_braces(text)
    if expanded_texts is None:
        expanded_texts = [text]
        is_known = False
    has_quotes = node_type in _QUOTED or _has_quotes(node)
    keeps_empty = has_quotes and not any(piece.is_empty_list for piece in pieces)
    words: list[Word] = []
    for expanded_text in expanded_texts:
        parts = [part for part in expanded_text.split(SPLIT) if part or keeps_empty]
        words += [Word(part.translate(_RESTORED), is_known) for part in parts]
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
    """Return whether a word has several parts, one of them in quotes, such as `a"b c"`."""
    return node.type == "concatenation" and any("string" in child.type for child in node.children)


def _pieces(
    root: Node, source: bytes, variables: Variables, *, is_quoted: bool = False
) -> list[_Piece]:
    """Return the pieces of a word in their order: "a", "b c" for `a"b c"`.

    A word with too many levels is not read: each level holds the text of all below it, so that the work would grow with
    the square of the levels.
    """
    pieces: list[_Piece] = []
    waiting = [_WordPart(root, is_quoted)]
    while waiting:
        content, quoted, depth = waiting.pop()
        if isinstance(content, _Piece):
            pieces.append(content)
            continue
        if depth > 2 * MOST_DEPTH:  # an expansion in quotes has two
            raise TooMuchError(f"it is deeper than {MOST_DEPTH} levels")
        parts = _parts(content, source, variables, quoted=quoted)
        if isinstance(parts, _Piece):
            pieces.append(parts)
            continue
        waiting.extend(part._replace(depth=depth + 1) for part in reversed(parts))
    return pieces


def _parts(
    node: Node, source: bytes, variables: Variables, *, quoted: bool
) -> _Piece | list[_WordPart]:
    """Return the text of a node as one piece, or else the parts that it is made of, which are read next."""
    node_type = node.type
    if node_type in ("concatenation", "command_name"):
        parts = [_WordPart(child, quoted) for child in node.children if child.type != "$"]
        return parts or _plain(node, source)
    if node_type in _ESCAPES_IN:
        return _of_quotes(node, source, _ESCAPES_IN[node_type])
    if node_type == "translated_string":
        return [_WordPart(child, quoted) for child in node.named_children]
    if node_type == "raw_string":
        between_quotes = text_of(node, source)[1:-1]
        return _Piece(between_quotes.translate(_PROTECTED))
    if node_type == "ansi_c_string":
        between_quotes = text_of(node, source)[len("$'") : -1]
        return _Piece(_ANSI.sub(_ansi_sign, between_quotes).translate(_PROTECTED))
    if node_type in _ESCAPES_OF_CONTENT:
        return _between(source, node.start_byte, node.end_byte, _ESCAPES_OF_CONTENT[node_type])
    if node_type in ("simple_expansion", "expansion"):
        return _expansion(node, source, variables, quoted=quoted)
    if node_type == "command_substitution":
        return _substituted(node, source, quoted=quoted)
    if node_type in ("process_substitution", "arithmetic_expansion"):
        return _written(node, source)
    return _plain(node, source)


def _substituted(node: Node, source: bytes, *, quoted: bool) -> _Piece:
    """Return what `$(…)` stands for where its one command says it, else its text as one that is not known.

    `$(which git)` stands for `git`, and `$(echo --force origin)` for `--force origin`: two words, or one in quotes.
    """
    words = _words_of_substitution(node, source)
    for look_up in _LOOK_UPS:
        names = words[len(look_up) :]
        if words[: len(look_up)] == look_up and len(names) == 1 and names[0][:1] != "-":
            return _Piece(names[0].translate(_PROTECTED))
    printed = words[1:]
    if words[:1] != ("echo",) or not printed or _OPTION_OF_ECHO.fullmatch(printed[0]):
        return _written(node, source)
    text = " ".join(printed)
    if not quoted:
        text = SPLIT.join(text.split())
    return _Piece(text.translate(_PROTECTED))


def _words_of_substitution(node: Node, source: bytes) -> tuple[str, ...]:
    """Return the words of the one command in `$(…)`; none where there are several, or where a word is not plain.

    `$(echo 'a b' c)` has `echo`, `a b` and `c`; `$(echo $x)`, `$(echo *)` and `$(echo a; rm b)` have none.
    """
    statements = node.named_children
    if len(statements) != 1 or statements[0].type != "command":
        return ()
    words: list[str] = []
    for child in statements[0].children:
        text = text_of(child, source)
        if _PLAIN_WORDS_IN_QUOTES.fullmatch(text):
            words.append(text[1:-1])
        elif _PLAIN_WORD.fullmatch(text):
            words.append(text)
        else:
            return ()
    return tuple(words)


def _plain(node: Node, source: bytes) -> _Piece:
    r"""Return the text of a node outside of quotes: a backslash is taken off, and the sign behind it protected.

    `a\{b` is the text `a{b`, in which the brace begins no brace expansion.
    """
    text = text_of(node, source).replace(_CONTINUED, "")
    return _Piece(_ESCAPED.sub(lambda match: match[1].translate(_PROTECTED), text))


def _of_quotes(node: Node, source: bytes, escaped: re.Pattern[str]) -> list[_WordPart]:
    """Return the parts of a text in double quotes: of `"a $x b"` the text, the expansion and the text.

    The parser has no node for some blanks between the others. They count here, so that what lies between two nodes is
    taken from the source.
    """
    inner = [child for child in node.children if child.type != '"']
    bytes_of_quote = 1 if node.type == "string" else 0  # a here-document has none around it
    read_up_to = node.start_byte + bytes_of_quote
    end = node.end_byte - bytes_of_quote
    parts: list[_WordPart] = []
    for child in inner:
        if child.start_byte > read_up_to:
            skipped_text = _between(source, read_up_to, child.start_byte, escaped)
            parts.append(_WordPart(skipped_text, is_quoted=True))
        parts.append(_WordPart(child, is_quoted=True))
        read_up_to = max(read_up_to, child.end_byte)
    if end > read_up_to:
        parts.append(_WordPart(_between(source, read_up_to, end, escaped), is_quoted=True))
    return parts


def _between(source: bytes, start: int, end: int, escaped: re.Pattern[str]) -> _Piece:
    """Return the text of a stretch within quotes; `escaped` finds the backslashes that count there."""
    text = source[start:end].decode("utf-8", "replace").replace(_CONTINUED, "")
    return _Piece(escaped.sub(r"\1", text).translate(_PROTECTED))


def _ansi_sign(match: re.Match[str]) -> str:
    r"""Return the character that an escape within $'…' stands for: "A" for `\x41`, `\u0041` and `\101`, a tab for `\t`."""
    by_hex, by_code_point, by_octal, letter = match.groups()
    if by_hex or by_code_point:
        return chr(int(by_hex or by_code_point, 16))
    if by_octal:
        return chr(int(by_octal, 8) % 256)
    return _ANSI_SIGNS.get(letter, letter)


def _expansion(
    node: Node, source: bytes, variables: Variables, *, quoted: bool
) -> _Piece | list[_WordPart]:
    """Return the value of `$x`, `${x}`, `${x[@]}`, `$@`, or what `${x:-y}` and `${x:+y}` give.

    What is not known, or no such form, stays as it is written, as a piece that is not known.
    """
    names = [child for child in node.named_children if child.type in _NAMES]
    operators_and_words = [child for child in node.children if child.type not in _NAMES | _SIGNS]
    begins_with_its_name = names[:1] == node.named_children[:1]  # `${#x}` does not
    if len(names) != 1 or not begins_with_its_name:
        return _written(node, source)
    name = text_of(names[0], source)
    key = ARGUMENTS if name in _ALL_ARGUMENTS else name.replace("[*]", "[@]")
    if operators_and_words:
        operator, *word_nodes = operators_and_words
        word = [_WordPart(child, quoted) for child in word_nodes]
        result = _with_operator(operator.type, key, word, variables, quoted=quoted)
        return _written(node, source) if result is None else result
    value = variables.known(key)
    if value is None:
        return _unknown(node, key, source, variables)
    return _value_piece(value, key, variables, quoted=quoted)


def _unknown(node: Node, key: str, source: bytes, variables: Variables) -> _Piece:
    """Return the piece of a variable that is not known: as it is written, or as a path in the folder of the shell.

    `$D` is `$PWD/web` behind `D=$PWD/web`. A `PWD` that the script sets itself is not written as the folder of the shell.
    """
    path = variables.in_working_folder(key)
    if path:
        return _Piece(path.translate(_PROTECTED), is_known=False)
    if key == "PWD" and key in variables.values:
        return _Piece("${PWD-}".translate(_PROTECTED), is_known=False)
    return _written(node, source)


def _written(node: Node, source: bytes) -> _Piece:
    """Return an expansion or a substitution as it is written, as one whose value is not known."""
    return _Piece(text_of(node, source).translate(_PROTECTED), is_known=False)


def _with_operator(
    operator: str,
    key: str,
    word: list[_WordPart],
    variables: Variables,
    *,
    quoted: bool,
) -> _Piece | list[_WordPart] | None:
    """Return what `${x:-word}` and `${x:+word}` give; None where that is not known, or for another operator.

    `word` are the parts of the word behind the operator, and `key` is the name of the variable. Where `x` is not known,
    both values of the whole are possible: `x` gets a candidate by which the one with the word is taken, which is an empty
    text for `:-`, and its own name, as any text that is not empty, for `:+`.

    | `x` is           | `${x:-word}`          | `${x:+word}`        |
    |------------------|-----------------------|---------------------|
    | known, not empty | its value             | the word            |
    | known, empty     | the word              | nothing             |
    | not known        | None: it may be empty | None: it may be set |
    """
    value = variables.known(key)
    if operator not in _DEFAULTS | _REPLACEMENTS or not word:
        return None
    if value is None:
        text_that_gives_word = f"${key}" if operator in _REPLACEMENTS else ""
        variables.may_be(key, [text_that_gives_word])
        return None
    if operator in _DEFAULTS and value:
        return _value_piece(value, key, variables, quoted=quoted)
    if operator in _REPLACEMENTS and not value:
        return _value_piece("", key, variables, quoted=quoted)
    return word


def _value_piece(value: str, key: str, variables: Variables, *, quoted: bool) -> _Piece:
    """Return the piece of a known value.

    Without quotes its blanks cut it into words: `$x` for "a b" is two words, `"$x"` one. A list is cut in any case.
    """
    is_list = key == ARGUMENTS or key.endswith("[@]")
    value = value.translate(_PROTECTED)
    if quoted and is_list:
        return _Piece(value, is_empty_list=not value)
    if quoted:
        return _Piece(value.replace(SPLIT, " "))
    return _Piece(re.sub(r"\s+", SPLIT, value), is_known=not variables.splits_otherwise)
