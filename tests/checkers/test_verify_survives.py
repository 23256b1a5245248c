"""All checkers together over random and adversarial texts. `-m fuzz` runs all ten thousand; CI a few hundred."""

import random
import time
from collections.abc import Iterator

import pytest

from mcp_reflect.checkers.base import Work
from mcp_reflect.checkers.verify import verifier
from mcp_reflect.models.critique import Status
from tests.checkers.test_checkers_are_bounded import UNITS
from tests.checkers.test_checkers_survive_anything import ADVERSARIES, ENDS, PIECES, slowness

LIMIT = 0.1
SHORT, WHOLE = 150, 10_000


def texts(count: int) -> Iterator[str]:
    """Adversaries first, then mixtures of pieces, of all of Unicode, and of one thing many times."""
    yield from list(ADVERSARIES.values())[:count]
    rng = random.Random(4)
    for number in range(count - len(ADVERSARIES)):
        match number % 3:
            case 0:
                yield rng.choice(("", " ")).join(rng.choice(PIECES + UNITS) for _ in range(rng.randint(1, 80)))
            case 1:
                yield "".join(
                    chr(rng.choice((rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)))) for _ in "x" * 60
                )
            case _:
                yield (rng.choice(PIECES + UNITS) + rng.choice(PIECES)) * rng.randint(1, 400)


def verified_in_time(text: str) -> None:
    """One version verified, within 100 ms of processor time in the best of three."""
    verify = verifier(Work(goal="Find it", steps=()))
    spent: list[float] = []
    for _ in range(3):
        began = time.process_time()
        found = verify([text])
        spent.append(time.process_time() - began)
        assert {one.status for one in found.verdicts} <= set(Status)
        assert found.problems == ()
        if spent[-1] <= LIMIT or spent[-1] / slowness() <= LIMIT:
            return
    raise AssertionError(f"{min(spent):.3f} s for {text[:80]!r}")


def test_hundreds_of_texts_are_verified() -> None:
    verify = verifier(Work(goal="Find it", steps=()))
    for text in texts(SHORT):
        began = time.process_time()
        found = verify([text])
        assert found.problems == ()
        assert time.process_time() - began < ENDS


@pytest.mark.fuzz
def test_ten_thousand_texts_are_verified_each_within_100_ms() -> None:
    for text in texts(WHOLE):
        verified_in_time(text)
