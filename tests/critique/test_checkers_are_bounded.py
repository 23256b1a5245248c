"""Whatever text comes, the rules end soon, never raise, and keep no memory of it."""

import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from mcp_reflect.critique.certain import check_code, check_execution
from mcp_reflect.critique.runs import check_reports
from mcp_reflect.critique.verify import verifier
from mcp_reflect.critique.work import Work
from mcp_reflect.models.critique import ToolResult
from tests.critique.cases import HERE, lines


def check_claims(work: Work) -> object:
    return verifier(work)(work.steps).claims


CHECKS: tuple[Callable[[Work], Any], ...] = (check_reports, check_code, check_execution, check_claims)
# Whether a text ends at all; that it ends within 100 ms is shown by `pytest -m fuzz`, on a quiet machine.
LIMIT = 5.0  # seconds of processor time
BIG = 20_000

UNITS = [
    "a", " ", "(", "[", "{", "<", "((", "[{", "\n", "\t", "1", "9,", "1 of ", "all tests ", "tests pass ",
    "no ", '"', "'",
    "`", "```", "```python\n", "```json\n[", "| ", "- ", "not ", "lambda x: ", "**", "--", "-", "~", "a.", "a_",
    "a/", "::",
    "test_", "https://", "=", "==", "x = (", "if ", "exit code ", "100 %", "3 failed, ", "failed ",
    "Error: ", "KeyError",
    "\u0000", "\u202e", "\ud7ff", "é", "ß", "中", "🙂", "\u0301", "A: b, ", "Alice and Bob swap ", '"a" < ',
    "; stack: [",
    "(left) a ", "{{", "...", "…", "\\", '\\"', "/*", "--\n", "$$", "a: [", '"a": ', "10^9^9 ", "0x",
    '<testcase name="',
    "<testsuite ", "at line ", ".py:", "\r\n", "\r", "\x1b[", "\x1b[31m", "@a.b ", "#", "# ", ">", "> ",
    ", and ", " so ",
]  # fmt: skip


def spent(work: Work) -> float:
    slowest = 0.0
    for check in CHECKS:
        started = time.process_time()
        list(check(work))
        slowest = max(slowest, time.process_time() - started)
    return slowest


@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_a_long_line_of_one_thing_ends_soon(unit: str) -> None:
    text = (unit * (BIG // len(unit)))[:BIG]
    result = ToolResult(content=text, tool=unit * 100, exit_code=1)
    assert spent(Work(goal=text, steps=(text,), tool_results=(result,), decided=text, executed=unit)) < LIMIT


@pytest.mark.parametrize("fence", ["python", "json"])
@pytest.mark.parametrize(
    "unit", ["(", "[", "{", "-", "not ", "lambda:", "a.", '"', "'", "a=[", "[a]\n", "x: ", "\n\t", "1,"]
)
def test_deep_and_long_code_ends_soon(fence: str, unit: str) -> None:
    for size in (200, 19_000):
        body = unit * (size // len(unit))
        assert spent(Work(goal="", steps=(f"```{fence}\n{body}\n```",))) < LIMIT


def pieces() -> list[str]:
    outputs = [path.read_text(encoding="utf-8") for path in sorted((HERE / "outputs").iterdir())]
    steps = [
        step
        for name in ("command_outputs", "code")
        for record in lines(name)
        for step in record.get("steps", [record.get("wrong", "")])
    ]
    return outputs + steps + UNITS


def test_hundreds_of_random_texts_never_raise_and_end_soon() -> None:
    rng = random.Random(11)
    material = pieces()
    slowest = 0.0
    for _ in range(250):
        steps = tuple(mixed(rng, material) for _ in range(rng.randrange(1, 3)))
        results = tuple(
            ToolResult(
                content=mixed(rng, material),
                tool=rng.choice([None, "pytest", "bash"]),
                exit_code=rng.choice([None, 0, 1]),
            )
            for _ in range(rng.randrange(3))
        )
        goal = mixed(rng, material)
        slowest = max(slowest, spent(Work(goal=goal, steps=steps, tool_results=results)))
    assert slowest < LIMIT


def mixed(rng: random.Random, material: list[str]) -> str:
    text = "".join(rng.choice(material)[:600] for _ in range(rng.randrange(1, 5)))
    if rng.random() < 0.3:
        text += "".join(chr(rng.choice((rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)))) for _ in range(20))
    start = rng.randrange(len(text) + 1) if rng.random() < 0.3 else 0
    return text[start:]


def test_characters_of_every_block_are_survived() -> None:
    for start in (*range(0, 0x3000, 0x100), *range(0x3000, 0x110000, 0x1000)):
        text = "".join(chr(code) for code in range(start, start + 0x100))
        spent(Work(goal=text, steps=(text,), tool_results=(ToolResult(content=text, tool=text, exit_code=0),)))
