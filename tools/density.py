"""How dense the code is, by package: what a reader must unfold at once.

    python -m tools.density            print the figures of each package
    python -m tools.density --check    fail where a package is denser than tools/density.json says
    python -m tools.density --write    keep today's figures in tools/density.json

Four figures of each package: characters a line of code, and per 1,000 lines of code the conditional expressions, the
comprehensions that hold another or loop twice, and the lines over 100 characters. Lines of code are those that are neither
blank, nor a comment, nor a docstring.
"""

import argparse
import ast
import json
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "mcp_reflect"
KEPT: Final = Path(__file__).with_suffix(".json")
LONG_LINE: Final = 100
WORST: Final = 10
# A package may grow this much, as a share or as a number, whichever is more: one expression in a small one is no trend.
TOLERANCE: Final = 0.02
SLACK: Final = {"characters": 0.5, "conditional": 2.0, "nested": 1.5, "long": 3.0}

_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_NO_CODE: Final = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
)


@dataclass(frozen=True, slots=True)
class Counted:
    """What one file, or several together, hold."""

    lines: int = 0
    characters: int = 0
    conditional: int = 0
    nested: int = 0
    long: int = 0

    def __add__(self, other: "Counted") -> "Counted":
        sums = (getattr(self, one.name) + getattr(other, one.name) for one in fields(Counted))
        return Counted(*sums)


@dataclass(frozen=True, slots=True)
class Density:
    """Characters a line of code; the others per 1,000 lines of code."""

    characters: float
    conditional: float
    nested: float
    long: float


def density(counted: Counted) -> Density:
    """Return the figures of what was counted; a file without code has none of anything."""
    lines = max(1, counted.lines)
    return Density(
        round(counted.characters / lines, 1),
        round(1_000 * counted.conditional / lines, 1),
        round(1_000 * counted.nested / lines, 1),
        round(1_000 * counted.long / lines, 1),
    )


def count(path: Path) -> Counted:
    """Count what a file holds."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8").splitlines()
    lines = [text[number - 1] for number in lines_of_code(path, tree)]
    nodes = list(ast.walk(tree))
    return Counted(
        lines=len(lines),
        characters=sum(len(line.strip()) for line in lines),
        conditional=sum(isinstance(node, ast.IfExp) for node in nodes),
        nested=sum(is_nested(node) for node in nodes),
        long=sum(len(line) > LONG_LINE for line in lines),
    )


def lines_of_code(path: Path, tree: ast.Module) -> list[int]:
    """Return the numbers of the lines that hold code, in order."""
    numbers: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in _NO_CODE:
                numbers.update(range(token.start[0], token.end[0] + 1))
    for first, last in docstrings(tree):
        numbers.difference_update(range(first, last + 1))
    return sorted(numbers)


def docstrings(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each docstring."""
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            yield docstring.lineno, docstring.end_lineno or docstring.lineno


def is_nested(node: ast.AST) -> bool:
    """True for a comprehension that loops twice or has another one inside."""
    if not isinstance(node, _COMPREHENSIONS):
        return False
    inside = (part for part in ast.walk(node) if part is not node)
    return len(node.generators) > 1 or any(isinstance(part, _COMPREHENSIONS) for part in inside)


def package_of(path: Path) -> str:
    """Return the folder below the package that a file lies in, "(top)" for a file of the package itself."""
    folders = path.relative_to(PACKAGE).parts[:-1]
    return folders[0] if folders else "(top)"


def by_package(files: dict[Path, Counted]) -> dict[str, Counted]:
    """Add up the files of each package, and all of them under "all"."""
    sums: dict[str, Counted] = {}
    for path, counted in files.items():
        for name in (package_of(path), "all"):
            sums[name] = sums.get(name, Counted()) + counted
    return dict(sorted(sums.items()))


def grown(now: Density, before: Density) -> list[str]:
    """Return in words what is denser than before by more than the tolerance."""
    found: list[str] = []
    for name, slack in SLACK.items():
        was: float = getattr(before, name)
        is_now: float = getattr(now, name)
        if is_now > was + max(slack, TOLERANCE * was):
            found.append(f"{name} {was} -> {is_now}")
    return found


def worst_lines(paths: list[Path]) -> list[str]:
    """Return the lines with the most conditional expressions and comprehensions, the longest first among equals."""
    scored: list[tuple[int, int, str]] = []
    for path in paths:
        text = path.read_text(encoding="utf-8").splitlines()
        folded: dict[int, int] = {}
        for node in ast.walk(ast.parse("\n".join(text))):
            if isinstance(node, ast.IfExp) or is_nested(node):
                line = getattr(node, "lineno", 1)
                folded[line] = folded.get(line, 0) + 1
        for number, times in folded.items():
            line = text[number - 1].strip()
            place = f"{path.relative_to(ROOT)}:{number}"
            scored.append((times, len(line), f"{place}: {line}"))
    return [shown for _, _, shown in sorted(scored, reverse=True)[:WORST]]


def main() -> int:
    """Print the figures, and compare or keep them as asked."""
    parser = argparse.ArgumentParser(description="How dense the code is, by package.")
    parser.add_argument("--check", action="store_true", help="fail where a package got denser")
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {KEPT.name}")
    asked = parser.parse_args()

    files = {path: count(path) for path in sorted(PACKAGE.rglob("*.py"))}
    packages = {name: density(counted) for name, counted in by_package(files).items()}
    print(f"{'package':<12}{'characters':>12}{'conditional':>13}{'nested':>8}{'long':>7}")
    for name, one in packages.items():
        print(f"{name:<12}{one.characters:>12}{one.conditional:>13}{one.nested:>8}{one.long:>7}")

    if asked.write:
        kept = {name: asdict(one) for name, one in packages.items()}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if not asked.check:
        return 0
    return check(packages, list(files))


def check(packages: dict[str, Density], paths: list[Path]) -> int:
    """Name the packages that got denser with their worst lines; 1 if there is one. A new package is compared with all."""
    kept = {
        name: Density(**one) for name, one in json.loads(KEPT.read_text(encoding="utf-8")).items()
    }
    denser = 0
    for name, now in packages.items():
        words = grown(now, kept.get(name, kept["all"]))
        if not words:
            continue
        denser = 1
        print(f"\n{name} is denser than before: {', '.join(words)}. Its densest lines:")
        of_package = [path for path in paths if name in ("all", package_of(path))]
        for line in worst_lines(of_package):
            print(f"  {line}")
    return denser


if __name__ == "__main__":
    sys.exit(main())
