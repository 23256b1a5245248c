"""The mutations of a file: swapped operators, turned conditions, numbers plus one, results and calls that are gone."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

SWAPS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in",
    ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is", ast.And: "or", ast.Or: "and", ast.Add: "-", ast.Sub: "+",
    ast.Mult: "+", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "+",
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """A stretch of a source file, given in bytes, and the text that takes its place."""

    path: str
    line: int
    lines: range
    """The lines of the statement around it: of a call over many lines, coverage knows some only."""
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {' '.join(self.before.split())} -> {self.after}"


def mutations_of(path: Path) -> Iterator[Mutation]:  # noqa: C901 - one case a kind of mutation
    """Yield every mutation of the functions of a file."""
    text = path.read_text("utf-8")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    encoded = text.encode()
    tree = ast.parse(text)
    lines = _lines_of_statements(tree)

    def ends(node: ast.expr | ast.stmt) -> tuple[int, int]:
        last = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        return starts[node.lineno - 1] + node.col_offset, last

    def change(node: ast.expr | ast.stmt, after: str, stretch: tuple[int, int] | None = None) -> Mutation:
        first, last = stretch or ends(node)
        name = path.relative_to(ROOT).as_posix()
        return Mutation(name, node.lineno, lines[node], first, last, encoded[first:last].decode(), after)

    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in {inner for function in functions for statement in function.body for inner in ast.walk(statement)}:
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in SWAPS:
                yield change(node, f" {SWAPS[type(operator)]} ", (ends(left)[1], ends(right)[0]))
            case ast.BoolOp(op=operator, values=[left, right]):
                yield change(node, f" {SWAPS[type(operator)]} ", (ends(left)[1], ends(right)[0]))
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in SWAPS:
                yield change(node, f" {SWAPS[type(operator)]} ", (ends(left)[1], ends(right)[0]))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield change(node, "", (ends(node)[0], ends(operand)[0]))
            case ast.Constant(value=bool() as value):
                yield change(node, str(not value))
            case ast.Constant(value=int() | float() as value):
                yield change(node, str(value + 1))
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                yield change(value, "None")
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                first, last = ends(test)
                yield change(test, f"(not ({encoded[first:last].decode()}))")
            case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())):
                yield change(node, "pass")
            case _:
                pass


def _lines_of_statements(tree: ast.Module) -> dict[ast.AST, range]:
    """Return the lines of the innermost statement around each node; of a compound one, those of its header."""
    lines: dict[ast.AST, range] = {}

    def visit(node: ast.AST, around: range) -> None:
        if isinstance(node, ast.stmt):
            body: list[ast.stmt] = getattr(node, "body", [])
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            around = range(node.lineno, max(node.lineno, last) + 1)
        lines[node] = around
        for child in ast.iter_child_nodes(node):
            visit(child, around)

    visit(tree, range(0))
    return lines


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
