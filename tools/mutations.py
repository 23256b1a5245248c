"""Which lines no test holds: `python tools/mutations.py --sample 150 --seed 1`; CONTRIBUTING.md says what it needs.

A line of each equal stretch of the code gets a fault of cosmic-ray's, in a clone of the last commit. Tests that reach
the line or its module are run, then the files of all such tests: a fault that none of them finds survives.
"""

import argparse
import ast
import functools
import importlib
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

NEEDED = "coverage", "cosmic_ray.mutating", "cosmic_ray.plugins", "cosmic_ray.ast"
coverage, mutating, plugins, trees = map(importlib.import_module, NEEDED)
OPERATORS: list[Any] = [plugins.get_operator(name) for name in sorted(plugins.operator_names())]
MOST_TESTS = 60
WARNING = "coverage.exceptions.CoverageWarning"  # the suite takes any warning for an error


def main() -> None:
    """Print what became of each fault, then how many survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=150, help="the number of faults")
    parser.add_argument("--seed", type=int, required=True, help="another seed draws other lines")
    asked = parser.parse_args()
    tree = Path(tempfile.mkdtemp()) / "tree"
    subprocess.run(["git", "clone", "-q", Path(__file__).parent.parent, tree], check=True)
    covered = [
        "--cov=mcp_reflect",
        "--cov-context=test",
        "--cov-report=",
        "-W",
        f"ignore::{WARNING}",
    ]
    if (outcome := attempt(tree, covered, 3600, workers="auto")) != "survived":
        sys.exit(f"Without a fault: {outcome}")
    measured, outcomes = coverage.CoverageData(str(tree / ".coverage")), Counter[str]()
    measured.read()
    for path, line, changed in draw(tree, asked.sample, random.Random(asked.seed)):
        text, contexts = path.read_text("utf-8"), measured.contexts_by_lineno(str(path))
        change = next(
            pair
            for pair in zip(text.split("\n"), changed.split("\n"), strict=False)
            if len(set(pair)) > 1
        )
        of_line, of_module = (
            named(contexts.get(line, ())),
            named(name for names in contexts.values() for name in names),
        )
        mixed = [
            test
            for tests in (of_line, of_module)
            for test in random.Random(line).sample(tests, len(tests))
        ]
        path.write_text(
            changed, "utf-8"
        )  # a run takes over a second, so the next one compiles the file anew
        outcome = attempt(tree, [*dict.fromkeys(mixed)][:MOST_TESTS], 600)
        if outcome == "survived":
            outcome = attempt(tree, {test.split("::")[0] for test in of_module}, 3600)
        path.write_text(text, "utf-8")
        outcomes[outcome.split()[0]] += 1
        print(f"{path.relative_to(tree)}:{line} {outcome}", *change, sep="\n", flush=True)
    print(dict(outcomes))


def draw(tree: Path, sample: int, chance: random.Random) -> Iterator[tuple[Path, int, str]]:
    """Yield a file, a line of it and its text with a fault in this line, for each stretch of the code."""
    texts = {path: path.read_text("utf-8") for path in sorted((tree / "mcp_reflect").rglob("*.py"))}
    lines = [(path, line + 1) for path, text in texts.items() for line in range(text.count("\n"))]
    for part in range(sample):
        stretch = lines[part * len(lines) // sample : (part + 1) * len(lines) // sample]
        for path, line in chance.sample(stretch, len(stretch)):
            if found := faults(texts[path]).get(line):
                changed = mutating.mutate_code(texts[path], *chance.choice(found))
                if meaning(changed) not in (None, meaning(texts[path])):
                    yield path, line, changed
                    break


@functools.cache
def faults(text: str) -> dict[int, list[tuple[Any, int]]]:
    """Return the operators that can change each line, each with the number of the place in the text."""
    found: dict[int, list[tuple[Any, int]]] = defaultdict(list)
    nodes: list[Any] = list(trees.ast_nodes(trees.get_ast(text)))
    for operator in (kind() for kind in OPERATORS if not kind.arguments()):
        places: list[Any] = [
            start for node in nodes for start, _ in operator.mutation_positions(node)
        ]
        for number, (line, _) in enumerate(places):
            found[line].append((operator, number))
    return found


def meaning(text: str) -> str | None:
    """Return the code without annotations, in which importing finds any fault; None if it is not Python."""
    try:
        code = ast.parse(text)
    except SyntaxError:
        return None
    for node in ast.walk(code):
        for name in {"annotation", "returns"} & vars(node).keys():
            setattr(node, name, None)
    return ast.dump(code)


def named(contexts: Iterable[str]) -> list[str]:
    """Return the tests of these contexts; what importing or another process runs has none."""
    return sorted({name.rpartition("|")[0] for name in contexts if name})


def attempt(tree: Path, arguments: Iterable[str], seconds: int, workers: str = "0") -> str:
    """Run pytest; return "killed by" the first test that fails, "timeout" or "survived"."""
    timed, pytest = (
        f"timeout -s KILL {seconds}".split(),
        f"-m pytest -x -n {workers} -p no:randomly".split(),
    )
    command = [*timed, sys.executable, *pytest, *arguments]
    env, pipe = {**os.environ, "PYTHONPATH": str(tree)}, subprocess.PIPE
    done = subprocess.run(
        command, cwd=tree, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True, check=False
    )
    if (
        done.returncode == 0 or "ERROR: not found" in done.stdout
    ):  # a fault can change the names of tests
        return "survived"
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", done.stdout, re.MULTILINE)
    return (
        "timeout" if done.returncode == -9 else f"killed by {failed[1] if failed else 'an import'}"
    )


if __name__ == "__main__":
    main()
