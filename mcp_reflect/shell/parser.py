"""The parser of bash: tree-sitter, within bounds of size and time."""

import re
import time
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree
else:
    Node = object  # its type, for modules that may not import the parser

MOST_BYTES: Final = 2_000_000
"""Bytes of a text that are given to the parser at all, here-documents included."""

_CHUNK: Final = 65_536  # bytes that the parser takes at a time; it asks whether to go on in between
_MOST_PIPED: Final = 1_000
"""Commands of one pipeline. The parser takes quadratic time for them, and does not heed its limit meanwhile."""

_PIPE_OR_END: Final = re.compile(rb"\|\n\||\|[&|]?\s*|[;\n]")


@lru_cache(maxsize=1)
def _parser() -> "Parser":
    """Return the parser, made once: the import takes milliseconds."""
    import tree_sitter  # noqa: PLC0415 - a process that reads no command does not pay for it

    language: object = _grammar().language()
    return tree_sitter.Parser(tree_sitter.Language(language))


def _grammar() -> Any:
    """Return the module that has the grammar.

    The package around it loads `importlib.resources`, for queries that nobody asks for here: half of the start of a hook.
    """
    package = find_spec("tree_sitter_bash")
    folders = package.submodule_search_locations if package is not None else None
    spec = PathFinder.find_spec("tree_sitter_bash._binding", folders) if folders else None
    if spec is not None and spec.loader is not None:
        binding = module_from_spec(spec)
        spec.loader.exec_module(binding)
        return binding
    import tree_sitter_bash  # noqa: PLC0415 - a release that is made otherwise

    return tree_sitter_bash


def parse(source: bytes, seconds: float) -> "Tree | None":
    """Return the tree of a script; None where it is too large, or takes more than so many seconds of the processor."""
    if len(source) > MOST_BYTES:
        return None
    if _longest_pipeline(source) > _MOST_PIPED:
        return None
    parser = _parser()
    ends = time.thread_time() + seconds

    def chunk(offset: int, _point: object) -> bytes:
        """Return what the parser reads from an offset on."""
        return source[offset : offset + _CHUNK]

    def is_late(_offset: int, _has_error: bool) -> bool:
        """Return True to stop the parser."""
        return time.thread_time() > ends

    try:
        return parser.parse(chunk, progress_callback=is_late)
    except ValueError:  # it was stopped
        parser.reset()
        return None


def _longest_pipeline(source: bytes) -> int:
    """Return at most how many commands stand in one pipeline, from signs of pipes with no end of a statement between.

    It may count too many, as in quotes, and is 0 where the text has too few signs to matter.
    """
    if source.count(b"|") <= _MOST_PIPED:
        return 0
    longest = length = 0
    for match in _PIPE_OR_END.finditer(source):
        is_pipe = match[0].strip() in (b"|", b"|&")
        if not is_pipe:
            length = 0
            continue
        length += 1
        longest = max(longest, length)
    return longest


def name_of(node: Node, field: str, source: bytes) -> str:
    """Return the text of a field of a node, empty if it has none."""
    named = node.child_by_field_name(field)
    if named is None:
        return ""
    return text_of(named, source)


def text_of(node: Node, source: bytes) -> str:
    """Return the text that a node stands for."""
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def descendants(node: Node, wanted: frozenset[str], not_entered: frozenset[str]) -> list[Node]:
    """Return the nodes of the wanted types below a node, in order.

    The search goes on neither below one that was found nor below a node of a type that is `not_entered`.
    """
    nodes: list[Node] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.type in wanted and current.id != node.id:
            nodes.append(current)
        elif current.type not in not_entered or current.id == node.id:
            waiting.extend(reversed(current.children))
    return nodes
