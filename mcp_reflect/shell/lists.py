"""A list of commands, `a && b || c`, as its parts with the operators before them."""

from dataclasses import dataclass

from mcp_reflect.shell.parser import Node


@dataclass(frozen=True, slots=True)
class ListPart:
    """A part of a list, and the operator before it."""

    node: Node
    operator: str


def parts_of_list(node: Node) -> list[ListPart]:
    """Return the parts of a list, each with the operator before it.

    The parser reads a list from its end: `a && b && c` is `(a && b) && c`. Lists of `&&` alone are flattened, since each
    part runs only if all before it worked. A list with `||` has two sides, of which each is read by itself.

        a && b && c    has   a,  && b,  && c
        a && b || c    has   a && b,  || c
        a || b && c    has   a || b,  && c
    """
    from_the_end: list[ListPart] = []
    while True:
        left_side, *right_sides = (
            child for child in node.named_children if child.type != "comment"
        )
        operator = _operator_of(node) or "&&"
        from_the_end += (ListPart(side, operator) for side in reversed(right_sides))
        if operator != "&&" or not _is_list_of_and(left_side):
            return [ListPart(left_side, ""), *reversed(from_the_end)]
        node = left_side


def _is_list_of_and(node: Node) -> bool:
    """Return whether a node is a list of two sides with `&&` between them."""
    return node.type == "list" and _operator_of(node) == "&&"


def _operator_of(node: Node) -> str:
    """Return the operator of a list of two commands: `&&`, `||`, or ""."""
    for child in node.children:
        if child.type in ("&&", "||"):
            return child.type
    return ""
