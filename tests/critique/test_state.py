"""Brackets, swaps, sorting and orders, followed step by step."""

import random
import time
from itertools import pairwise
from typing import Any

import pytest

from mcp_reflect.critique.checks.checker import Finding, Work
from mcp_reflect.critique.checks.state import StateChecker
from mcp_reflect.records.verdict import Status
from tests.critique.cases import lines


def checked(goal: str, *steps: str) -> list[Finding]:
    return list(StateChecker().check(Work(goal=goal, steps=steps)))


def first_error(goal: str, steps: list[str]) -> int:
    wrong = [finding.step - 1 for finding in checked(goal, *steps) if finding.status is Status.FAIL]
    return min(wrong, default=-1)


@pytest.mark.parametrize("case", lines("state"), ids=lambda case: case["id"])
def test_the_first_wrong_step_is_found_where_it_is(case: dict[str, Any]) -> None:
    assert first_error(case["goal"], case["steps"]) == case["first_error"]


def test_a_wrong_stack_comes_with_its_repair() -> None:
    step = "{ ; stack: [ ["
    wrong = checked("[ { }", "stack: empty", "[ ; stack: [", step)[-1]
    assert wrong.fix is not None
    assert step[: wrong.fix.start] + wrong.fix.text + step[wrong.fix.end :] == "{ ; stack: [ {"


def test_a_wrong_holding_comes_with_its_repair() -> None:
    goal = "Ann has a red ball, Bo has a blue ball. First, Ann and Bo swap balls. At the end, Ann has the"
    step = "Ann and Bo swap: Ann: blue, Bo: blue."
    wrong = checked(goal, step)[0]
    assert wrong.fix is not None
    assert wrong.fix.text == "red ball"
    assert step[wrong.fix.start : wrong.fix.end] == "blue"
    assert wrong.expected == "Ann: blue ball, Bo: red ball"


def test_a_wrong_sorted_list_comes_with_the_right_one() -> None:
    step = "So the answer is pear apple fig"
    wrong = checked("Sort the following words alphabetically: List: pear fig apple", step)[0]
    assert wrong.fix is not None
    assert step[: wrong.fix.start] + wrong.fix.text == "So the answer is apple fig pear"


@pytest.mark.parametrize(
    ("goal", "step"),
    [
        ("Natalia sold 48 clips in April and half as many in May. How many in all?", "48 / 2 = 24 clips"),
        ("Alice and Bob swap stories. What is a story?", "Alice: a tale, Bob: a legend"),
        ("Sort out the words problem: it is about a list", "So the answer is list about problem"),
        ("There are three books: a red book, a blue book. Which is left?", "The red book is the leftmost."),
        ("On a shelf, there are two books: a red book, and a blue book. The red book is torn.", "It is leftmost."),
        ("Explain ((-1 + 2) * 3) =", "The answer is 3"),
    ],
)
def test_what_is_not_such_a_puzzle_is_left_alone(goal: str, step: str) -> None:
    assert checked(goal, step) == []


def test_an_assumption_that_is_refuted_is_no_error() -> None:
    goal = "On a shelf, there are two books: a red book, and a blue book. The red book is the leftmost."
    assert checked(goal, "Suppose the blue book is the leftmost.", "The blue book cannot be the leftmost.") == []


BIRDS = ["quail", "owl", "raven", "falcon", "robin", "crow", "cardinal", "hawk"]
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]
SIZES = {3: "three", 5: "five", 7: "seven", 8: "eight"}


def row(rng: random.Random, size: int) -> tuple[str, list[str]]:
    order = rng.sample(BIRDS, size)
    said = [f"The {b} is to the right of the {a}." for a, b in pairwise(order)]
    rng.shuffle(said)
    listed = ", ".join(f"a {bird}" for bird in sorted(order)[:-1]) + f", and a {max(order)}"
    return f"On a branch, there are {SIZES[size]} birds: {listed}. {' '.join(said)}", order


@pytest.mark.parametrize("size", SIZES)
def test_the_true_order_passes_and_any_swap_in_it_fails(size: int) -> None:
    rng = random.Random(size)
    for _ in range(20):
        goal, order = row(rng, size)
        steps = [f'"(left) {" ".join(order)} (right)"', f"The {order[1]} is the second from the left."]
        assert [finding.status for finding in checked(goal, *steps)] == [Status.PASS, Status.PASS]
        one, other = rng.sample(range(size), 2)
        order[one], order[other] = order[other], order[one]
        assert checked(goal, f'"(left) {" ".join(order)} (right)"')[0].status is Status.FAIL
        assert checked(goal, f"The {order[one]} is the {ORDINALS[one]} from the left.")[0].status is Status.FAIL


def test_constraints_that_no_order_fits_say_nothing_and_take_no_time() -> None:
    listed = ", ".join(f"a {bird}" for bird in BIRDS[:-1]) + f", and a {BIRDS[-1]}"
    goal = f"There are eight birds: {listed}. The hawk is left of the crow. The crow is left of the hawk."
    started = time.process_time()
    assert checked(goal, "The hawk is the leftmost.") == []
    assert time.process_time() - started < 5  # 40,320 orders are not tried one by one


def test_a_true_trace_of_random_swaps_passes_and_a_false_holding_fails() -> None:
    rng = random.Random(4)
    people = ["Ann", "Bob", "Cleo", "Dan"]
    for _ in range(40):
        held = dict(zip(people, rng.sample(["red", "blue", "green", "pink"], 4), strict=True))
        goal = ", ".join(f"{name} has a {color} hat" for name, color in held.items()) + "."
        steps: list[str] = []
        for _ in range(5):
            one, other = rng.sample(people, 2)
            held[one], held[other] = held[other], held[one]
            goal += f" Then, {one} and {other} swap hats."
            steps.append(f"{one} and {other} swap hats: " + ", ".join(f"{n}: {c}" for n, c in held.items()) + ".")
        assert first_error(goal, steps) == -1
        at = rng.randrange(5)
        steps[at] = steps[at].replace(
            f"Ann: {steps[at].split('Ann: ')[1].split(',')[0]}", "Ann: " + other_color(steps[at])
        )
        assert first_error(goal, steps) == at


def other_color(step: str) -> str:
    return step.split("Bob: ")[1].split(",", maxsplit=1)[0].rstrip(".")
