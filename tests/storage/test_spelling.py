"""Unknown words stand for words of the bank that are one letter away, wherever the letter is."""

import pytest

from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.retrieval.index import TermCounts
from mcp_reflect.storage.retrieval.spelling import words_like
from mcp_reflect.storage.sqlite.database import Database

WORD = "migration"  # kept as `migrat`
SLIPS = ["igrat", "mmigrat", "nigrat", "imgrat", "migrta", "migra", "migratt", "migrap", "mibrat", "migrxat"]


async def like(engine: Engine, words: list[str], asked: int) -> dict[str, tuple[str, float]]:
    scope, database = engine.scopes.own, Database(engine.bank.path)
    try:
        return await database.look(
            lambda reading: words_like(reading, TermCounts(reading, scope).numbers, words, asked),
        )
    finally:
        await database.close()


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("others", [0, 45])
async def test_a_word_with_one_slip_is_found_by_its_neighbours_few_or_many(
    engine: Engine, slip: str, others: int
) -> None:
    beginning_alike = " ".join(f"migra{chr(97 + place // 26)}{chr(97 + place % 26)}zz" for place in range(others))
    await engine.store_lesson(mistake=f"Ran the {WORD} twice {beginning_alike}", correction="Ask which one ran last")
    assert (await like(engine, [slip], 3))["migrat"][0] == slip


async def test_a_word_two_letters_away_is_another_one(engine: Engine) -> None:
    await engine.store_lesson(mistake=f"Ran the {WORD} twice", correction="Ask which one ran last")
    assert "migrat" not in await like(engine, ["nagrat", "mpgrot"], 3)


async def test_of_a_long_question_one_unknown_word_is_looked_into_and_of_a_short_one_two(engine: Engine) -> None:
    await engine.store_lesson(mistake=f"Ran the {WORD} of the warehouse database", correction="Ask which one ran last")
    unknown = ["migrxat", "warehuse", "databse"]
    assert {word for word, _ in (await like(engine, unknown, 6)).values()} == {"warehuse", "databse"}
    assert {word for word, _ in (await like(engine, unknown, 7)).values()} == {"warehuse"}
