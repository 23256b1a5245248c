"""What assignments and declarations set: `x=1`, `x+=(a b)`, `export x=1`, `local y`."""

from collections.abc import Sequence
from typing import Final

from mcp_reflect.shell.changes import is_value_as_written
from mcp_reflect.shell.parser import Node, name_of, text_of
from mcp_reflect.shell.reading import ScriptContext, ScriptReading
from mcp_reflect.shell.variables import Variables, Word
from mcp_reflect.shell.words import text_value, words_of, words_of_all

_LOCAL_KEYWORDS: Final = frozenset(("local", "declare", "typeset"))
"""Declarations whose variable is, within a function, one of that function."""

_EXPORTING_WORDS: Final = ("export", "-x")


def assign(reading: ScriptReading, node: Node, context: ScriptContext) -> str:
    """Note what an assignment sets, and return it as it is written without quotes: `x=a b` for `x="a b"`."""
    variables = reading.variables
    name = _name_of(node, context.source)
    value = node.child_by_field_name("value")
    is_list = value is not None and value.type == "array"
    variables.names_with_candidates.clear()
    words = _words_of_value(value, context.source, variables)
    possible_values: list[str] = []
    if not is_list:
        possible_values = _possible_values(reading, value, context)
    if "[" in name:
        variables.assign_element(name, words[0])
    elif any(child.type == "+=" for child in node.children):
        variables.append(name, words, is_list=is_list)
    else:
        variables.assign(name, words, is_list=is_list)
        if possible_values:
            variables.may_be(name, possible_values)
    return written_assignment(node, context.source, variables)


def _words_of_value(value: Node | None, source: bytes, variables: Variables) -> list[Word]:
    """Return the words that are assigned: those of a list, else one word, which is empty for `x=`."""
    if value is None:
        return [Word("")]
    if value.type == "array":
        return words_of_all(value.named_children, source, variables)
    return [text_value(value, source, variables)]


def _possible_values(
    reading: ScriptReading, value: Node | None, context: ScriptContext
) -> list[str]:
    """Return the values that an assignment may give, where one of its variables may have several.

    With `x` "a" or "b", `y=--$x` may give "--a" or "--b".
    """
    variables = reading.variables
    names = tuple(variables.names_with_candidates)
    if value is None or not names:
        return []
    texts: list[str] = []
    for possible_variables in list(variables.possible(names)):
        reading.budget.take_step()
        word = text_value(value, context.source, possible_variables)
        if word.is_known:
            texts.append(word.text)
    return texts


def declare(reading: ScriptReading, node: Node, context: ScriptContext) -> list[Word]:
    """Note what `export x=1`, `local y` or `declare -i z=2` sets, exports or converts, and return its words."""
    variables = reading.variables
    keyword = node.children[0].type
    words = [Word(keyword)]
    names: list[str] = []
    for child in node.named_children:
        if child.type == "variable_assignment":
            name = _name_of(child, context.source)
            if keyword in _LOCAL_KEYWORDS:
                reading.make_local(name)
            words.append(Word(_declare_with_value(reading, keyword, child, context)))
            names.append(name)
        else:
            words += words_of(child, context.source, variables)
            if child.type == "variable_name":
                name = text_of(child, context.source)
                names.append(name)
                _declare_without_value(reading, keyword, name)
    _note_options(keyword, [word.text for word in words], names, variables)
    return [*words, *words_of_all(context.extra_parts, context.source, variables)]


def _declare_with_value(
    reading: ScriptReading, keyword: str, node: Node, context: ScriptContext
) -> str:
    """Note an assignment behind `local` or `export`, and return it: `x=1`. Outside of a function `local` sets nothing."""
    if keyword == "local" and not reading.frames:
        return written_assignment(node, context.source, reading.variables)
    return assign(reading, node, context)


def _declare_without_value(reading: ScriptReading, keyword: str, name: str) -> None:
    """Note `local x` without a value: in a function it is a new variable."""
    if keyword in _LOCAL_KEYWORDS and reading.frames:
        reading.make_local(name)
        reading.variables.unset(name)


def _note_options(
    keyword: str, texts: Sequence[str], names: Sequence[str], variables: Variables
) -> None:
    """Note what the options of a declaration do to its variables.

    | the declaration                | its variables                                  |
    |--------------------------------|------------------------------------------------|
    | `export x`, `declare -x x`     | are exported                                   |
    | `export -n x`                  | are exported no longer                         |
    | `declare -i x`, `declare -l x` | get another value than the one that is written |
    """
    is_export = not set(_EXPORTING_WORDS).isdisjoint(texts)
    if is_export and "-n" not in texts:
        variables.exported.update(names)
    if "-n" in texts and keyword == "export":
        variables.exported.difference_update(names)
    elif not is_value_as_written(texts[1:]):
        for name in names:
            variables.convert(name)


def written_assignment(node: Node, source: bytes, variables: Variables) -> str:
    """Return an assignment without quotes: `x=a b` for `x="a b"`. A list stays as it is written: `x=(a "b c")`."""
    name = _name_of(node, source)
    value = node.child_by_field_name("value")
    if value is None:
        return f"{name}="
    if value.type == "array":
        return f"{name}={text_of(value, source)}"
    return f"{name}={text_value(value, source, variables).text}"


def _name_of(node: Node, source: bytes) -> str:
    """Return the name that an assignment or a declaration sets."""
    return name_of(node, "name", source)
