"""Values as their format has them: with blanks in quotes, on a line of settings, in a block, in a list, in a tag.

What stands as the value of a secret's name is cut whole. Values of one word are judged by their looks elsewhere; here
are those that a reader of words would cut in half or not see at all.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_labels import SecretName, is_strict
from mcp_reflect.security.secret_values import Secret, Span

_LONGEST: Final = 200  # characters of a value of words
_MOST_ITEMS: Final = 100  # of a list
_MOST_BLOCK: Final = 5  # lines of a block; more are a document
_SHORTEST: Final = 4

_SIGN: Final = lazy_compile(
    r"(?P<close>[\"'`])?(?:\][\"']?)?"  # behind the name
    r"[ \t]{0,8}(?:=>|:=|=(?!=)|:(?![:=]))(?P<gap>[ \t]{0,8})"
)
_LINE_START: Final = lazy_compile(  # what may stand in a line before the name of a setting
    r"[ \t]{0,40}(?:- )?(?:export |set |ENV |ARG |[\"'])?[\w.-]{0,60}\Z"
)


def formatted_values(text: str, name: SecretName) -> list[Secret]:
    """Return the values behind a name that only a reader of its format finds whole; none where it is one word."""
    sign = _SIGN.match(text, name.end, name.end + 40)
    if sign is None:
        if name.kind == "many":
            return []
        return _secrets(name, _in_tag(text, name) or _in_columns(text, name))
    first = text[sign.end() : sign.end() + 1]
    for reader, begins in _READERS.items():
        if first not in begins and begins:
            continue
        spans = [*reader(text, name, sign)]
        if spans:
            return _secrets(name, spans)
    return []


def _secrets(name: SecretName, spans: list[Span]) -> list[Secret]:
    kind = "password" if name.kind == "password" else "secret"
    return [(start, end, kind) for start, end in spans]


# Lists: `["a", "b"]`, `("a" "b")`, and items of YAML, each on its line.

_OPENS_LIST: Final = lazy_compile(r"[\[(][ \t\r\n]{0,20}(?=[\"'])")
_ITEM: Final = lazy_compile(
    r"(?P<quote>[\"'])(?P<item>[^\"'\n]{1,4000})(?P=quote)(?P<after>[ \t]{0,8},?[ \t\r\n]{0,40})"
)
_YAML_ITEM: Final = lazy_compile(
    r"[ \t]{0,8}\r?\n[ \t]{0,40}-[ \t]{1,4}(?P<quote>[\"']?)(?P<item>[^\n\"'\\]{1,4000}?)(?P=quote)"
    r"(?=[ \t\r]{0,8}(?:\n|\Z))"
)


def _items_in_brackets(text: str, name: SecretName, sign: re.Match[str]) -> Iterator[Span]:
    """Yield the items of a list in brackets that are secrets; one text in parentheses is an argument, and no list."""
    opened = _OPENS_LIST.match(text, sign.end())
    if opened is None:
        return
    items: list[re.Match[str]] = []
    at = opened.end()
    while len(items) < _MOST_ITEMS and (item := _ITEM.match(text, at)):
        items.append(item)
        at = item.end()
    if text[at : at + 1] not in ("]", ")"):
        return
    if opened[0][0] == "(" and any(item["after"].strip() for item in items):
        return
    yield from _fitting(name, items)


def _items_on_lines(text: str, name: SecretName, sign: re.Match[str]) -> Iterator[Span]:
    """Yield the items of a list of YAML that are secrets."""
    items: list[re.Match[str]] = []
    at = sign.end()
    while len(items) < _MOST_ITEMS and (item := _YAML_ITEM.match(text, at)):
        items.append(item)
        at = item.end()
    if any(": " in item["item"] for item in items):
        return  # objects
    yield from _fitting(name, items)


def _fitting(name: SecretName, items: list[re.Match[str]]) -> Iterator[Span]:
    """Yield the items that fit: passwords if all do; all keys where one half does, for a random one may have no digit."""
    fitting = [item for item in items if _fits_in_list(name, item["item"])]
    if name.kind == "password" and len(fitting) < len(items):
        return  # rules of a form: `["required", "min:8"]`
    if name.kind != "password" and 2 * len(fitting) >= len(items):
        fitting = [item for item in items if len(item["item"]) >= values.RANDOM_LENGTH]
    for item in fitting:
        yield item.span("item")


def _fits_in_list(name: SecretName, value: str) -> bool:
    """True for an item of passwords that is a word of its own, and for a random item of tokens, keys or secrets."""
    if name.kind == "password":
        if " " in value:
            return values.is_phrase(value, may_have_glue=False)
        return len(value) >= _SHORTEST and values.is_own_word(value)
    is_drawn = values.random(value) and not values.is_setting(value)
    return is_drawn and not values.is_reference(value)


# Blocks: `|` and `>` of YAML, here-documents of HCL, and a scalar on the next line.

_BLOCK: Final = lazy_compile(r"[|>][+-]?\d?[ \t]{0,8}\r?\n(?P<indent>[ \t]{1,40})(?=\S)")
_HEREDOC: Final = lazy_compile(
    r"<<[-~]?[\"']?(?P<word>\w{1,12})[\"']?[ \t]{0,8}\r?\n[ \t]{0,40}(?=\S)"
)
_NEXT_LINE: Final = lazy_compile(r"[ \t]{0,8}\r?\n(?P<indent>[ \t]{1,40})(?=[^\s\[{#-])")
_KEY: Final = lazy_compile(r"[\w.\"'-]{1,60}:(?:[ \t\r\n]|\Z)")


def _block(text: str, name: SecretName, sign: re.Match[str]) -> Iterator[Span]:
    """Yield the text of a block scalar: all lines that are indented as its first one."""
    opened = _BLOCK.match(text, sign.end())
    if opened is None:
        return
    end = _end_of_block(text, opened.end(), opened["indent"])
    value = text[opened.end() : end]
    if value.count("\n") < _MOST_BLOCK and _fits(name, " ".join(value.split())):
        yield opened.end(), end


def _heredoc(text: str, name: SecretName, sign: re.Match[str]) -> Iterator[Span]:
    """Yield the text of a here-document of one line."""
    opened = _HEREDOC.match(text, sign.end())
    if opened is None:
        return
    end = _end_of_line(text, opened.end())
    closes = text[end:].lstrip()[: len(opened["word"])] == opened["word"]
    if closes and _fits(name, text[opened.end() : end].strip()):
        yield opened.end(), end


def _next_line(text: str, name: SecretName, sign: re.Match[str]) -> Iterator[Span]:
    """Yield a scalar that stands alone on the next line, deeper than its name, and before a line that is not."""
    opened = _NEXT_LINE.match(text, sign.end())
    if opened is None or ":" not in sign[0]:
        return
    start = text.rfind("\n", 0, name.start) + 1
    if not _LINE_START.match(text, start, name.start):
        return
    indent = name.start - start
    end = _end_of_line(text, opened.end())
    value = text[opened.end() : end].strip()
    following = text[end + 1 : end + 2 + len(opened["indent"])]
    is_last = following[: indent + 1].strip() != "" or not following.strip()
    if len(opened["indent"]) <= indent or not is_last or _KEY.match(value):
        return
    if not _stands_among_settings(text, start, end):
        return
    if _fits(name, value.strip("\"'")):
        yield opened.end(), opened.end() + len(value)


def _end_of_block(text: str, start: int, indent: str) -> int:
    end = _end_of_line(text, start)
    lines = 1
    while lines <= _MOST_BLOCK and text.startswith(indent, end + 1):
        end = _end_of_line(text, end + 1)
        lines += 1
    return end


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start, start + _LONGEST)
    if end < 0:
        return min(len(text), start + _LONGEST)
    return end


# Texts of several words: in quotes, up to a semicolon, up to the end of a line of settings, between tags.

_IN_QUOTES: Final = lazy_compile(
    r"(?P<triple>\"{3}|'{3})(?P<long>[^\"'\n]{4,200})(?P=triple)"
    r"|(?P<raw>[rbfuL@$]{0,2})(?:\"(?P<double>(?:[^\"\\\n]|\\[^\n]){4,200})\""
    r"|'(?P<single>(?:[^'\\\n]|\\[^\n]|''){4,200})'(?!'))"
)


def _in_quotes(text: str, name: SecretName, sign: re.Match[str]) -> Iterator[Span]:
    """Yield a value of several words in quotes."""
    quoted = _IN_QUOTES.match(text, sign.end())
    if quoted is None:
        return
    form = quoted.lastgroup or ""
    value = quoted[form]
    if "''" in value and form == "single":
        fits = name.kind == "password" and values.is_phrase(
            value.replace("''", "'"), may_have_glue=True
        )
    else:
        fits = _fits_in_quotes(name, value)
    if fits:
        yield quoted.span(form)


def _fits_in_quotes(name: SecretName, value: str) -> bool:
    if " " in value.strip():
        return _holds_words(name) and values.is_phrase(value, may_have_glue=True)
    return False


_TO_QUOTE: Final = {
    quote: lazy_compile(rf"(?P<value>[^{quote}\\\\\n]{{4,200}}){quote}") for quote in "\"'"
}


def _in_outer_quotes(text: str, name: SecretName, sign: re.Match[str]) -> Iterator[Span]:
    """Yield a value with blanks in a setting that stands in quotes as a whole: `"APP_SECRET=two words"`."""
    form = _TO_QUOTE.get(text[name.start - 1 : name.start])
    if form is None or "=" not in sign[0] or sign["close"] or not _holds_words(name):
        return
    value = form.match(text, sign.end())
    if value is None or " " not in value["value"].strip():
        return
    if values.is_phrase(value["value"], may_have_glue=True):
        yield value.span("value")


_PAIR_ENDS: Final = lazy_compile(r"(?P<value>[^;=\"'\n{}\\]{4,100});")


def _until_semicolon(text: str, name: SecretName, sign: re.Match[str]) -> Iterator[Span]:
    """Yield a value with blanks of a connection string: `Password=green tea;Database=shop`."""
    value = _PAIR_ENDS.match(text, sign.end())
    if value is None or "=" not in sign[0] or name.kind != "password" or sign["gap"]:
        return
    if " " in value["value"].strip() and values.is_phrase(value["value"], may_have_glue=True):
        yield value.span("value")


_REST: Final = lazy_compile(
    r"(?P<value>[^\s\"'`\[{(<|>&*!$#\\][^\n\\\"]{3,100}?)(?=[ \t]{1,8}#[ \t]|[ \t\r]{0,8}(?:\n|\Z))"
)
_SETTING_LINE: Final = lazy_compile(
    r"[ \t]{0,40}(?:- |export |set )?[\"']?[A-Za-z_][\w.-]{0,60}[\"']?(?:=|[ \t]?[:=](?:[ \t]|\r?\n|\Z))"
)


def _rest_of_line(text: str, name: SecretName, sign: re.Match[str]) -> Iterator[Span]:
    """Yield the rest of a line of settings that has several words, where the name begins the line.

    A line of settings has another one beside it: `DB_PASS=two words` alone would be a command with its environment.
    """
    rest = _REST.match(text, sign.end())
    if rest is None or name.kind != "password" or " " not in rest["value"] or name.is_pass:
        return
    start = text.rfind("\n", 0, name.start) + 1
    if not _LINE_START.match(text, start, name.start) or sign["close"]:
        return
    is_single = "\n" not in text.strip()
    is_environment = "=" in sign[0]
    if not _stands_among_settings(text, start, rest.end()) and (is_environment or not is_single):
        return
    if not is_environment and (not sign["gap"] or "," in rest["value"]):
        return
    if values.is_phrase(rest["value"], may_have_glue=is_environment) and not values.is_sentence(
        rest["value"]
    ):
        yield rest.span("value")


def _stands_among_settings(text: str, start: int, end: int) -> bool:
    """True if the line before or the line behind is a setting, too."""
    before = text.rfind("\n", 0, max(0, start - 1)) + 1
    is_behind = start > 0 and _SETTING_LINE.match(text, before, start) is not None
    following = text.find("\n", end, end + _LONGEST)
    return is_behind or (following >= 0 and _SETTING_LINE.match(text, following + 1) is not None)


_TAG: Final = lazy_compile(
    r"(?P<quote>[\"'])?(?:[ \t][\w:.-]{1,40}=[\"'][^\"'<>\n]{0,100}[\"']){0,3}>(?:<!\[CDATA\[)?"
    r"(?P<value>[^<>\n]{4,200}?)(?:\]\]>)?</"
)
_TAG_VALUE: Final = lazy_compile(r"\"[ \t]{1,3}value=\"(?P<value>[^\"<>\n]{4,200})\"")


def _in_tag(text: str, name: SecretName) -> list[Span]:
    """Return the words in an element of XML, or in its attribute `value`."""
    for form in (_TAG, _TAG_VALUE):
        tag = form.match(text, name.end)
        if tag is None or " " not in tag["value"].strip():
            continue
        is_setting = text[name.start - 1 : name.start] in ("<", '"', "'", ".", ":")
        if (
            is_setting
            and _holds_words(name)
            and values.is_phrase(tag["value"], may_have_glue=False)
        ):
            return [tag.span("value")]
    return []


_COLUMN: Final = lazy_compile(
    r"(?:[ ]{2,40}|\t{1,4})(?P<value>[^\s\"'\\]{4,200})[ \t\r]{0,40}(?=\n|\Z)"
)
_ROW: Final = lazy_compile(r"[ \t]{0,8}[\w.-]{1,60}(?:[ ]{2,40}|\t{1,4})\S[^\n]{0,200}")


def _in_columns(text: str, name: SecretName) -> list[Span]:
    """Return the value in the second column of a table of names and values, as `vault kv get` prints it."""
    start = text.rfind("\n", 0, name.start) + 1
    value = _COLUMN.match(text, name.end)
    if value is None or name.kind != "password" or text[start : name.start].strip():
        return []
    before = text.rfind("\n", 0, max(0, start - 1)) + 1
    has_row_before = start > 0 and _ROW.match(text, before, start) is not None
    has_row_behind = _ROW.match(text, value.end() + 1) is not None
    if not has_row_before and not has_row_behind:
        return []
    if values.is_own_word(value["value"]):
        return [value.span("value")]
    return []


def _fits(name: SecretName, value: str) -> bool:
    """True for a value of a block or a next line."""
    if " " in value:
        return _holds_words(name) and values.is_phrase(value, may_have_glue=False)
    if name.kind == "password":
        return len(value) >= _SHORTEST and values.is_own_word(value)
    return len(value) >= _SHORTEST and values.random(value) and not values.is_setting(value)


def _holds_words(name: SecretName) -> bool:
    """True for a name whose value may be words that somebody chose: of a password, or of what is called a secret."""
    if name.is_pass:
        return False
    return name.kind == "password" or (name.kind == "key" and is_strict(name))


Reader = Callable[[str, SecretName, re.Match[str]], Iterator[Span]]
_READERS: Final[dict[Reader, str]] = {
    _items_in_brackets: "[(",
    _items_on_lines: " \t\r\n",
    _block: "|>",
    _heredoc: "<",
    _next_line: " \t\r\n",
    _in_quotes: "\"'rbfuL@$",
    _in_outer_quotes: "",
    _until_semicolon: "",
    _rest_of_line: "",
}
"""The readers of formats with the characters of which one begins a value of theirs; none where any may."""
