"""Defects that a linter finds in a block of code without its project, each with the name of its rule.

Python is read with `ast`, SQL with sqlglot, where the extra `checkers` is installed; with tree-sitter it finds where
JavaScript, TypeScript and shell do not parse. Only defects that change what the code does are reported. Nothing is run.
"""

import ast
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, Final

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


def sql_defects(body: str) -> Iterator[Defect]:
    """Find comparisons with NULL, outer joins that WHERE undoes, and columns that are not grouped."""
    sqlglot, e = _extra("sqlglot"), _extra("sqlglot.expressions")
    if sqlglot is None or e is None:
        return
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it warns of what it cannot read
    try:
        statements = [statement for statement in sqlglot.parse(body, error_level=sqlglot.ErrorLevel.RAISE) if statement]
    except (sqlglot.errors.SqlglotError, RecursionError):
        return
    for statement in statements:
        for compared in statement.find_all(e.EQ, e.NEQ):
            assigned = isinstance(compared.parent, e.Update)
            if not assigned and isinstance(compared.expression, e.Null):
                yield "a comparison with NULL is never true: write IS NULL or IS NOT NULL", None
        for select in statement.find_all(e.Select):
            yield from _in_select(select, e)


def _in_select(select: Any, e: Any) -> Iterator[Defect]:
    where = select.args.get("where")
    for join in select.args.get("joins") or () if where else ():
        name = join.this.alias_or_name
        tests = [column for column in where.find_all(e.Column) if column.table == name]
        soft = where.find(e.Or, e.Coalesce) or any(isinstance(column.parent, e.Is) for column in tests)
        if join.side == "LEFT" and tests and not soft:
            yield f"WHERE on {name} turns the LEFT JOIN into an inner join", None
    outer = [part.unalias() for part in select.expressions]
    if any(isinstance(part, e.AggFunc) for part in outer):
        grouped = select.args.get("group")
        keys: list[Any] = grouped.expressions if grouped else []
        names = {key.name.lower() for key in keys}
        by_place = any(isinstance(key, e.Literal) for key in keys) or "id" in names
        loose = [part.name for part in outer if isinstance(part, e.Column) and part.name.lower() not in names]
        if loose and not by_place and not any(isinstance(part, e.Star) for part in outer):
            yield f"{loose[0]} is neither grouped nor aggregated", None


def _extra(module: str) -> Any:
    """Return a module of the extra `checkers`, None where it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        return None


@cache
def _grammar(language: str) -> Any:
    """Return a parser of the language, None without the extra `checkers`."""
    tree_sitter, module = (
        _extra("tree_sitter"),
        _extra(f"tree_sitter_{'typescript' if language == 'tsx' else language}"),
    )
    if tree_sitter is None or module is None:
        return None
    load = getattr(module, f"language_{language}", None) or module.language
    return tree_sitter.Parser(tree_sitter.Language(load()))


def syntax_error(language: str, body: str) -> Defect | None:
    """Return the first place of JavaScript, TypeScript or shell that does not parse."""
    parser = _grammar(_GRAMMARS[language])
    root = parser.parse(body.encode()).root_node if parser else None
    wrong = next((n for n in _nodes(root) if n.is_error or n.is_missing), None) if root and root.has_error else None
    if wrong is None:
        return None
    what = f"{wrong.type} is missing" if wrong.is_missing else "this does not parse"
    return what, wrong.start_point[0] + 1


def _nodes(root: Any) -> Iterator[Any]:
    rest = [root]
    while rest:
        node = rest.pop()
        yield node
        rest += reversed(node.children)


_GRAMMARS: Final = {
    **dict.fromkeys(("javascript", "js", "jsx"), "javascript"),
    **dict.fromkeys(("typescript", "ts"), "typescript"),
    "tsx": "tsx",
    **dict.fromkeys(("bash", "sh", "shell", "zsh"), "bash"),
}
SYNTAX: Final = frozenset(_GRAMMARS)
"""The languages that are read with tree-sitter."""


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


DEFECTS: Final[dict[str, Callable[[str], Iterator[Defect]]]] = {
    **dict.fromkeys(("python", "py", "python3"), python_defects),
    **dict.fromkeys(("sql", "postgresql", "mysql", "sqlite"), sql_defects),
    "json": json_defects,
}
