"""Redirections of a command, and the texts of its here-documents."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.shell.commands import Redirection
from mcp_reflect.shell.parser import Node, descendants, name_of, text_of
from mcp_reflect.shell.reading import ScriptPlace
from mcp_reflect.shell.variables import Variables
from mcp_reflect.shell.words import raw_value, text_value, words_of

_PLAIN: Final = re.compile(rb"(\d*)(>>|>&|>|<)[ ]*([\w./-]+)")
CONTINUING: Final = ("pipeline", "&&", "||")
"""What may stand behind `<<EOF` on its line."""


def with_redirect(
    place: ScriptPlace, redirect: Node, rest: list[Node], variables: Variables
) -> ScriptPlace:
    """Return the place with a redirection; what runs behind `<<EOF` on its line is added to `rest`."""
    if redirect.type == "file_redirect":
        found = _files_of(redirect, place.source, variables)
        return place._replace(redirections=(*place.redirections, *found))
    if redirect.type == "herestring_redirect":
        value = text_value(redirect.named_children[-1], place.source, variables)
        return _with_text(place, Redirection("<<<", value.text), value.text)
    for child in redirect.children:
        if child.type == "file_redirect":
            place = with_redirect(place, child, rest, variables)
        elif child.type == "heredoc_body":
            text = _document(redirect, child, place.source, variables)
            place = _with_text(place, Redirection("<<", ""), text)
        elif child.type in CONTINUING or (rest and rest[-1].type in CONTINUING[1:]):
            rest.append(child)
        elif child.is_named and child.type not in ("heredoc_start", "heredoc_end"):
            words = words_of(child, place.source, variables)
            place = place._replace(extra_words=(*place.extra_words, *words))
    return place


def _with_text(place: ScriptPlace, redirection: Redirection, text: str) -> ScriptPlace:
    document = text
    if place.document:
        document = f"{place.document}\n{text}"
    return place._replace(redirections=(*place.redirections, redirection), document=document)


def _files_of(node: Node, source: bytes, variables: Variables) -> Iterator[Redirection]:
    plain = _PLAIN.fullmatch(source[node.start_byte : node.end_byte])
    if plain is not None:
        yield Redirection(plain[2].decode(), plain[3].decode(), plain[1].decode())
        return
    descriptor = name_of(node, "descriptor", source)
    operator = next((one.type for one in node.children if not one.is_named), ">")
    for target in node.children_by_field_name("destination"):
        yield Redirection(operator, text_value(target, source, variables).text, descriptor)


def _document(redirect: Node, body: Node, source: bytes, variables: Variables) -> str:
    """Return the text of a here-document; under a quoted name nothing in it is expanded."""
    start = next((one for one in redirect.children if one.type == "heredoc_start"), None)
    if start is not None and set("'\"\\") & set(text_of(start, source)):
        return raw_value(body, source)
    return text_value(body, source, variables).text


def document_chars(root: Node, source: bytes) -> int:
    """Return how many characters of a script stand in here-documents; those that a shell reads are counted when it does."""
    bodies = descendants(root, frozenset(("heredoc_body",)), frozenset())
    return sum(len(text_of(body, source)) for body in bodies)
