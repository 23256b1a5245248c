"""Redirections of a command, and the texts of its here-documents."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mcp_reflect.shell.bounds import MOST_REDIRECTIONS, TooMuchError
from mcp_reflect.shell.commands import Redirection
from mcp_reflect.shell.parser import Node, descendants, name_of, text_of
from mcp_reflect.shell.reading import ScriptContext
from mcp_reflect.shell.variables import Variables
from mcp_reflect.shell.words import raw_value, text_value

_PLAIN: Final = re.compile(rb"(\d*)(>>|>&|>|<)[ ]*([\w./-]+)")
_QUOTES: Final = frozenset("'\"\\")
_CLOSING: Final = ("<&-", ">&-")
_BACKTICKS: Final = re.compile(r"\\.|`((?:[^`\\]|\\.)*)`", re.DOTALL)
_ESCAPED_IN_BACKTICKS: Final = re.compile(r"\\([$`\\])")
CONTINUING: Final = ("pipeline", "&&", "||")
"""What may stand behind `<<EOF` on its line."""


def with_redirect(
    context: ScriptContext, redirect: Node, rest_of_line: list[Node], variables: Variables
) -> ScriptContext:
    """Return the context with a redirection added; where it is a here-document, `rest_of_line` is filled.

    The parser puts what stands behind a redirection below it. In `git >log push` the first word is the file, the others
    are words of the command. In `cat <<EOF | sort` the pipeline is one of the nodes that are added to `rest_of_line`.
    """
    if len(context.redirections) >= MOST_REDIRECTIONS:
        raise TooMuchError(f"a command has more than {MOST_REDIRECTIONS} redirections")
    if redirect.type == "file_redirect":
        targets = redirect.children_by_field_name("destination")
        taken = 0 if _closes(redirect) else 1
        redirection = _file_of(redirect, targets[:taken], context.source, variables)
        return context._replace(
            redirections=(*context.redirections, redirection),
            extra_parts=(*context.extra_parts, *targets[taken:]),
        )
    if redirect.type == "herestring_redirect":
        value = text_value(redirect.named_children[-1], context.source, variables)
        return _with_text(context, Redirection("<<<", value.text), value.text)
    for child in redirect.children:
        if child.type == "file_redirect":
            context = with_redirect(context, child, rest_of_line, variables)
        elif child.type == "heredoc_body":
            text = _document(redirect, child, context.source, variables)
            context = _with_text(context, Redirection("<<", ""), text)
        elif child.type in CONTINUING or (rest_of_line and rest_of_line[-1].type in CONTINUING[1:]):
            rest_of_line.append(child)
        elif child.is_named and child.type not in ("heredoc_start", "heredoc_end"):
            context = context._replace(extra_parts=(*context.extra_parts, child))
    return context


def _with_text(context: ScriptContext, redirection: Redirection, text: str) -> ScriptContext:
    """Return the context with a redirection from a text, `<<< text` or a here-document.

    A command with several of them reads one text behind the other.
    """
    document = text
    if context.document:
        document = f"{context.document}\n{text}"
    return context._replace(redirections=(*context.redirections, redirection), document=document)


def _closes(redirect: Node) -> bool:
    """Return whether a redirection closes a descriptor, and so has no file: `2>&-`."""
    return any(child.type in _CLOSING for child in redirect.children)


def _file_of(
    redirect: Node, targets: Sequence[Node], source: bytes, variables: Variables
) -> Redirection:
    """Return a redirection to or from a file, with the target `-` where it closes a descriptor."""
    plain = _PLAIN.fullmatch(source[redirect.start_byte : redirect.end_byte])
    if plain is not None:
        return Redirection(plain[2].decode(), plain[3].decode(), plain[1].decode())
    descriptor = name_of(redirect, "descriptor", source)
    operators = [child.type for child in redirect.children if not child.is_named]
    operator = operators[0] if operators else ">"
    target = "-"
    choices: tuple[str, ...] = ()
    for target_node in targets:
        variables.names_with_candidates.clear()
        target = text_value(target_node, source, variables).text
        names = tuple(variables.names_with_candidates)
        if names:
            possible = variables.possible(names)
            choices = tuple(text_value(target_node, source, chosen).text for chosen in possible)
    return Redirection(operator.removesuffix("-"), target, descriptor, choices)


def _document(redirect: Node, body: Node, source: bytes, variables: Variables) -> str:
    """Return the text of a here-document; under a quoted name nothing in it is expanded."""
    if not _is_expanded(redirect, source):
        return raw_value(body, source)
    return text_value(body, source, variables).text


def _is_expanded(redirect: Node, source: bytes) -> bool:
    """Return whether variables in a here-document are expanded: not where its name is quoted, `<<'EOF'`."""
    for child in redirect.children:
        if child.type == "heredoc_start":
            return _QUOTES.isdisjoint(text_of(child, source))
    return True


def scripts_in_backticks(redirect: Node, source: bytes) -> Iterator[str]:
    """Yield what stands in backticks in the text of a here-document, which the parser takes for plain text."""
    if not _is_expanded(redirect, source):
        return
    for body in redirect.named_children:
        if body.type != "heredoc_body":
            continue
        for match in _BACKTICKS.finditer(text_of(body, source)):
            if match[1]:
                yield _ESCAPED_IN_BACKTICKS.sub(r"\1", match[1])


def document_chars(root: Node, source: bytes) -> int:
    """Return how many characters of a script stand in here-documents; those that a shell reads are counted when it does."""
    bodies = descendants(root, frozenset(("heredoc_body",)), frozenset())
    return sum(len(text_of(body, source)) for body in bodies)
