"""The example of docs/recall.md is what the ranking computes."""

import re
from pathlib import Path

import pytest

from mcp_reflect.models.recall import RecallQuery
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.retrieval.scoring import Search, Weights
from mcp_reflect.storage.retrieval.sign_index import VectorIndex
from mcp_reflect.storage.retrieval.vectors import words_query

PAGE = Path(__file__).parents[2] / "docs" / "recall.md"
CORRECTIONS = {
    "Pushed the rebased branch with --force and lost commits of a colleague": (
        "Use --force-with-lease, which refuses when the remote has moved"
    ),
    "Merged a branch whose tests had not run": "Wait for the pipeline",
    "Deployed on Friday and nobody was there": "Deploy in the morning of a working day",
}
TERMS_ALONE = Weights(closeness=0.0, feedback=0.0)


@pytest.mark.sqlite
async def test_the_example_shows_the_numbers_that_the_ranking_computes(engine: Engine) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (task,) = re.findall(r'^"([^"]+)", with three lessons', page, re.MULTILINE)
    shown = re.findall(r"^\| (.+) \| (\.\d\d) \| (\.\d\d) \| (\.\d\d) \|$", page, re.MULTILINE)
    for mistake, correction in CORRECTIONS.items():
        await engine.store_lesson(mistake=mistake, correction=correction)

    def computed(reading: Reading) -> list[tuple[str, str, str, str]]:
        vector = words_query(task)
        assert vector is not None
        scope = engine.scopes.own
        search = Search(reading, scope, RecallQuery(task=task), [vector], VectorIndex())
        bm25 = {match.row: match.plain for match in search.matches(TERMS_ALONE)}
        return [
            (
                list(CORRECTIONS)[match.row - 1],
                two_digits(bm25[match.row]),
                two_digits(match.close),
                two_digits(match.plain),
            )
            for match in search.matches()
        ]

    assert shown == await engine.bank.db.look(engine.scopes.own.tenant, computed)
    assert len(shown) == len(CORRECTIONS)


def two_digits(number: float | None) -> str:
    assert number is not None
    return f"{number:.2f}".removeprefix("0")
