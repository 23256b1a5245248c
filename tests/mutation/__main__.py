"""Make random mutations of mcp_reflect and count those that no test notices.

    python -m tests.mutation --count 150 --seed 1            # all of the package
    python -m tests.mutation --count 30 --under checkers     # one part of it

The suite runs once with coverage, to learn which tests reach which line (kept in `.mutation.coverage`; --fresh makes
it anew). Each mutation is then made in a copy of the checkout and tried with the tests that reach its line, at most
`--tests` of them: the most specific, and a few of the widest. A mutation survives if all of them pass, or if no test
reaches it. The copy is all that is changed. Needs pytest-cov.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / ".mutation.coverage"
WIDEST = 8
"""Of the tests that are tried for a mutation, so many reach the most lines: recordings of whole answers are such."""
SECONDS = 180
"""The longest that the tests of one mutation may take; a mutation that makes them hang is noticed."""

PROCESSES = f"""[run]
source = {ROOT / "mcp_reflect"}
data_file = {ROOT / ".coverage"}
parallel = true
sigterm = true
context = ${{PYTEST_CURRENT_TEST-}}
"""

SWAPS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in",
    ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is", ast.And: "or", ast.Or: "and", ast.Add: "-", ast.Sub: "+",
    ast.Mult: "+", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "+",
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """A stretch of a source file, given as character offsets, and the text that takes its place."""

    path: str
    line: int
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

    def change(node: ast.expr | ast.stmt, after: str, start: int | None = None, end: int | None = None) -> Mutation:
        first = starts[node.lineno - 1] + node.col_offset if start is None else start
        last = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0) if end is None else end
        name = path.relative_to(ROOT).as_posix()
        return Mutation(name, node.lineno, first, last, encoded[first:last].decode(), after)

    def ends(node: ast.expr) -> tuple[int, int]:
        return starts[node.lineno - 1] + node.col_offset, starts[(node.end_lineno or 0) - 1] + (
            node.end_col_offset or 0
        )

    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in {inner for function in functions for statement in function.body for inner in ast.walk(statement)}:
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in SWAPS:
                yield change(node, f" {SWAPS[type(operator)]} ", ends(left)[1], ends(right)[0])
            case ast.BoolOp(op=operator, values=[left, right]):
                yield change(node, f" {SWAPS[type(operator)]} ", ends(left)[1], ends(right)[0])
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in SWAPS:
                yield change(node, f" {SWAPS[type(operator)]} ", ends(left)[1], ends(right)[0])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield change(node, "", ends(node)[0], ends(operand)[0])
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


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def learn() -> None:
    """Run the suite once with coverage, and keep which test reached which line, in processes that it started too."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "coverage.ini"
        config.write_text(PROCESSES)
        options = ["--cov=mcp_reflect", "--cov-context=test", "--cov-report=", "-p", "tests.mutation.processes"]
        environment = {**os.environ, "MUTATION_COVERAGE": str(config)}
        command = [sys.executable, "-m", "pytest", "-q", *options]
        subprocess.run(command, cwd=ROOT, env=environment, check=False, stdout=subprocess.DEVNULL)
    shutil.move(ROOT / ".coverage", DATA)


def reaching() -> dict[tuple[str, int], list[str]]:
    """Return the tests that reach each line, by (path, line); the tests that reach fewest lines come first."""
    from coverage import CoverageData  # noqa: PLC0415 - only this script needs it

    data = CoverageData(basename=str(DATA))
    data.read()
    tests: dict[tuple[str, int], set[str]] = defaultdict(set)
    reach: Counter[str] = Counter()
    for file in data.measured_files():
        name = Path(file).relative_to(ROOT).as_posix()
        for line, contexts in data.contexts_by_lineno(file).items():
            for context in contexts:
                test = context.partition("|")[0].partition(" (")[0]
                if "::" in test:
                    tests[name, line].add(test)
                    reach[test] += 1
    return {place: sorted(names, key=lambda name: (reach[name], name)) for place, names in tests.items()}


def is_noticed(mutation: Mutation, tests: list[str], copy: Path) -> bool:
    """Whether one of the tests fails with the mutation in place."""
    if not tests:
        return False
    target = copy / mutation.path
    original = target.read_bytes()
    target.write_bytes(original[: mutation.start] + mutation.after.encode() + original[mutation.end :])
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-p", "no:cov", *tests],
            cwd=copy, env={**os.environ, "PYTHONPATH": str(copy)}, capture_output=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True
    finally:
        target.write_bytes(original)
    return done.returncode != 0


def main() -> int:
    """Make the mutations and report; exit status 1 where more than 12 % survive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--under", default="", help="a folder or file below mcp_reflect")
    parser.add_argument("--tests", type=int, default=60, help="tests that are tried for one mutation")
    parser.add_argument("--fresh", action="store_true", help="learn again which tests reach which line")
    options = parser.parse_args()
    if options.fresh or not DATA.exists():
        learn()
    tests = reaching()
    package = ROOT / "mcp_reflect" / options.under
    files = [package] if package.is_file() else sorted(package.rglob("*.py"))
    every = sorted((mutation for path in files for mutation in mutations_of(path)), key=str)
    chosen = random.Random(options.seed).sample(every, min(options.count, len(every)))
    survivors: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(
            ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
        )
        for number, mutation in enumerate(chosen, 1):
            part = mutation.path.split("/")[1]
            tried[part] += 1
            reached_by = tests.get((mutation.path, mutation.line), [])
            some = dict.fromkeys((*reached_by[: options.tests - WIDEST], *reached_by[-WIDEST:]))
            if not is_noticed(mutation, [*some], copy):
                survivors[part] += 1
                reached = "" if (mutation.path, mutation.line) in tests else " (no test reaches it)"
                print(f"{number:4} survived {mutation}{reached}", flush=True)
    total = survivors.total()
    print("\n".join(f"{part:12} {survivors[part]:3} of {count:3} survive" for part, count in sorted(tried.items())))
    print(f"{total} of {len(chosen)} mutations survive ({total / max(1, len(chosen)):.0%}), seed {options.seed}")
    return 1 if total > 0.12 * len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
