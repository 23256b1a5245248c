"""An error that is told finds the lessons it is a symptom of, whatever words they share."""

import pytest

from mcp_reflect.models.lesson import State
from mcp_reflect.services.engine import Engine

ERROR = "psycopg.OperationalError: connection to server at 10.0.0.7, port 5432 failed: timeout expired"
SAME = "psycopg.OperationalError: connection to server at 10.0.9.1, port 6543 failed: timeout expired"


@pytest.fixture
async def held(engine: Engine) -> Engine:
    await engine.store_lesson(
        mistake="The tunnel was down", correction="Bring the tunnel up before the migration", symptoms=[ERROR]
    )
    for number in range(6):
        await engine.store_lesson(
            mistake=f"Applied migration {number} of the billing schema by hand",
            correction=f"Apply migration {number} of the billing schema through alembic",
        )
    return engine


async def test_the_lesson_of_the_very_error_comes_first_and_says_why(held: Engine) -> None:
    found = await held.recall(task="Apply the migration of the billing schema", symptoms=[SAME])
    assert found.lessons[0].text.startswith("The tunnel was down")
    assert found.lessons[0].why.startswith("has this very error")
    assert len({hit.id for hit in found.lessons}) == len(found.lessons)


async def test_the_error_may_stand_at_the_end_of_what_was_printed(held: Engine) -> None:
    printed = f'Traceback (most recent call last):\n  File "run.py", line 3, in <module>\n{SAME}\n'
    found = await held.recall(task="write to the ledger", symptoms=[printed])
    assert [hit.text[:19] for hit in found.lessons if hit.fit == "strong"] == ["The tunnel was down"]


async def test_another_error_and_a_word_that_names_none_find_nothing(held: Engine) -> None:
    found = await held.recall(task="write to the ledger", symptoms=["psycopg.OperationalError: role absent", "failed"])
    assert not any("very error" in hit.why for hit in found.lessons)


async def test_changed_and_erased_lessons_are_known_by_what_they_hold_now(held: Engine) -> None:
    lesson_id = (await held.recall(task="x", symptoms=[SAME])).lessons[0].id
    await held.bank.lessons.set_state(held.scopes.own, lesson_id, State.RETIRED, "for the test")
    assert lesson_id not in [hit.id for hit in (await held.recall(task="x", symptoms=[SAME])).lessons]
    await held.bank.lessons.erase(held.scopes.own, lesson_id)
    assert not any("very error" in hit.why for hit in (await held.recall(task="x", symptoms=[SAME])).lessons)
