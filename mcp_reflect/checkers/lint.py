"""Defects that a linter finds in a block of code without its project, each with the name of its rule.

Python is read with `ast`, SQL by patterns over the text without strings and comments. Only defects that change what the
code does are reported. Nothing is run.
"""

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Final

Defect = tuple[str, int | None]
"""A rule with what is wrong, and the line (from 1) where it is known."""

_MUTATORS: Final = frozenset("append extend insert add update setdefault pop remove clear".split())


def python_tree(body: str) -> ast.Module:
    """Return the parsed code. SyntaxError, ValueError, RecursionError or MemoryError where it does not parse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(body)


def python_defects(body: str) -> Iterator[Defect]:
    """Find mutable defaults and names that are changed before they are assigned."""
    try:
        tree = python_tree(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _in_function(node)


def _in_function(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Defect]:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args]
    defaults = [*zip(named[len(named) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    defaults += [(name, value) for name, value in keywords if value]
    nodes = list(ast.walk(function))
    for name, default in defaults:
        container = isinstance(default, ast.List | ast.Dict | ast.Set) or (
            isinstance(default, ast.Call)
            and isinstance(default.func, ast.Name)
            and default.func.id in {"list", "dict", "set"}
        )
        if container and any(_changes(node, name.arg) for node in nodes):
            yield f"B006: the default of `{name.arg}` is shared by all calls", default.lineno
    known = {name.arg for name in [*named, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg] if name}
    known |= {name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    stored = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    changed = [n.target.id for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)]
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            if stored.count(name) == changed.count(name) and name not in known:
                yield f"F821: `{name}` is never assigned before it is changed", node.lineno


def _changes(node: ast.AST, name: str) -> bool:
    """True for `name.append(…)`, `name[…] = …` and `name += …`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=method)):
            return owner == name and method in _MUTATORS
        case ast.Subscript(value=ast.Name(id=owner), ctx=ast.Store()) | ast.AugAssign(target=ast.Name(id=owner)):
            return owner == name
        case _:
            return False


_SQL_NOISE: Final = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.DOTALL)
_NULL: Final = re.compile(r"\b(?:where|and|or|on|having|when|not)\s+[\w.\"()]+\s*(?:=|<>|!=)\s*null\b", re.IGNORECASE)
_OUTER: Final = re.compile(r"\bleft\s+(?:outer\s+)?join\s+(?:[\w.\"]+\s+(?:as\s+)?)?(\w+)\s+on\b", re.IGNORECASE)
_AGGREGATE: Final = re.compile(r"\b(?:count|sum|avg|min|max|array_agg|string_agg|group_concat)\s*\(", re.IGNORECASE)
_SELECT: Final = re.compile(
    r"\bselect\s+(?:distinct\s+)?(?P<columns>[^;]*?)\bfrom\b(?P<rest>(?:(?!\bselect\b|\bunion\b)[^;])*)", re.IGNORECASE
)


def sql_defects(body: str) -> Iterator[Defect]:
    """Find comparisons with NULL, outer joins that WHERE undoes, and columns that are not grouped."""
    text = _SQL_NOISE.sub("''", body)
    for found in _NULL.finditer(text):
        yield "a comparison with NULL is never true: write IS NULL or IS NOT NULL", _line(text, found)
    where = re.search(
        r"\bwhere\b(.*?)(?:\bgroup\s+by\b|\border\s+by\b|\bhaving\b|;|$)", text, re.IGNORECASE | re.DOTALL
    )
    for found in _OUTER.finditer(text) if where else ():
        alias = re.escape(found[1])
        condition = where[1] if where else ""
        tested = re.search(rf"\b{alias}\.\w+\s*(?:=|<>|!=|<|>|\bin\b|\blike\b|\bbetween\b)", condition, re.IGNORECASE)
        if tested and not re.search(rf"\b{alias}\.\w+\s+is\s+null|\bor\b|coalesce", condition, re.IGNORECASE):
            yield f"WHERE on {found[1]} turns the LEFT JOIN into an inner join", _line(text, found)
    for found in _SELECT.finditer(text):
        columns = re.split(r",(?![^()]*\))", found["columns"])
        plain = [re.split(r"\s+as\s+", column.strip(), flags=re.IGNORECASE)[0] for column in columns]
        grouped = re.search(
            r"\bgroup\s+by\s+([^;]*?)(?:\bhaving\b|\border\b|\blimit\b|\)|;|$)", found["rest"], re.IGNORECASE
        )
        bare = [column for column in plain if re.fullmatch(r"(?:\w+\.)?[a-zA-Z_]\w*", column)]
        if any(_AGGREGATE.search(column) and " over" not in column.lower() for column in plain) and bare:
            names = {part.strip().rsplit(".", 1)[-1].lower() for part in (grouped[1] if grouped else "").split(",")}
            if not any(name.isdecimal() for name in names):
                loose = [column for column in bare if column.rsplit(".", 1)[-1].lower() not in names]
                if loose and not (grouped and re.search(r"\bid\b", grouped[1])):
                    yield f"{loose[0]} is neither grouped nor aggregated", _line(text, found)


def json_defects(body: str) -> Iterator[Defect]:
    """Find keys that stand twice in one object: the last one wins silently."""
    twice: list[str] = []

    def pairs(entries: list[tuple[str, object]]) -> None:
        names = [name for name, _ in entries]
        twice.extend(name for name in dict.fromkeys(names) if names.count(name) > 1)

    try:
        json.loads(body, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return
    for name in twice:
        yield f"the key {name!r} stands twice, and the last one wins", None


def _line(text: str, found: re.Match[str]) -> int:
    return text.count("\n", 0, found.start()) + 1


DEFECTS: Final[dict[str, Callable[[str], Iterator[Defect]]]] = {
    **dict.fromkeys(("python", "py", "python3"), python_defects),
    **dict.fromkeys(("sql", "postgresql", "mysql", "sqlite"), sql_defects),
    "json": json_defects,
}
