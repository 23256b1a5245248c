"""A trouble as it is seen finds the lesson on what is behind it, as a weak fit, where no lesson shares its words."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from mcp_reflect.models.recall import Fit, RecallQuery
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.retrieval.match import Relevance
from mcp_reflect.storage.retrieval.scoring import Search
from mcp_reflect.storage.retrieval.sign_index import VectorIndex
from mcp_reflect.storage.retrieval.troubles import MOST_TERMS, terms_behind
from mcp_reflect.storage.retrieval.vectors import words_query
from mcp_reflect.text import word_vectors

LISTS = Path(word_vectors.__file__).parent
CAUSE = {
    "mistake": "Held a mutex while forking, and the child inherited it locked",
    "correction": "Use the spawn start method",
}
OTHERS = (
    ("Merged a branch whose tests had not run", "Wait for the pipeline"),
    ("Wrote the report in German", "Ask in which language it is wanted"),
    ("Named the column `desc`, a reserved word", "Call it description"),
)
SEEN = "one of the helpers just sits there idle and never ends"
IN_ITS_WORDS = "fork a child while a mutex is locked"


async def _stored(engine: Engine) -> str:
    for mistake, correction in OTHERS:
        await engine.store_lesson(mistake=mistake, correction=correction)
    return (await engine.store_lesson(**CAUSE)).lesson_id


async def _matches(engine: Engine, query: RecallQuery) -> list[Relevance]:
    def find(reading: Reading) -> list[Relevance]:
        vectors = [one for one in (words_query(query.task),) if one]
        search = Search(reading, engine.scopes.own, query, vectors, VectorIndex())
        return search.matches()

    return await engine.bank.db.look(engine.scopes.own.tenant, find)


@pytest.mark.sqlite
async def test_a_trouble_finds_the_lesson_on_its_cause_weakly_and_says_why(engine: Engine) -> None:
    cause = await _stored(engine)
    answer = await engine.recall(task=SEEN, limit=5)
    assert answer.lessons[0].id == cause
    assert answer.lessons[0].fit is Fit.WEAK


@pytest.mark.sqlite
async def test_a_task_in_the_words_of_a_lesson_is_ordered_without_guesses(engine: Engine) -> None:
    await _stored(engine)
    assert not any(
        match.guessed for match in await _matches(engine, RecallQuery(task=IN_ITS_WORDS, limit=5))
    )


@pytest.mark.sqlite
async def test_who_wants_a_few_or_what_surely_fits_gets_no_guess(engine: Engine) -> None:
    await _stored(engine)
    wants_more = RecallQuery(task=SEEN, limit=5)
    assert max(match.guessed for match in await _matches(engine, wants_more)) > 0
    for query in (replace(wants_more, strong_only=True), replace(wants_more, limit=3)):
        assert not any(match.guessed for match in await _matches(engine, query))


def test_terms_behind_a_trouble_are_of_its_cause_and_not_its_own() -> None:
    behind = terms_behind(SEEN)
    assert {"lock", "fork"} <= behind.keys()
    assert behind.keys().isdisjoint({"idl", "sit"})
    assert len(behind) <= MOST_TERMS


@pytest.mark.parametrize("text", ["", "   ", "?!", "学习", "a" * 5_000, "stuck " * 5_000])
def test_any_text_gives_finite_weights(text: str) -> None:
    assert all(0 < weight < 100 for weight in terms_behind(text).values())


def test_every_case_has_what_is_seen_and_what_is_behind_it_once() -> None:
    lines = (LISTS / "troubles.txt").read_text("utf-8").splitlines()
    cases = [line.split(" | ") for line in lines if line and line[0] != "#"]
    assert len(cases) > 200
    assert all(
        len(case) == 2 and all(part.strip() == part != "" for part in case) for case in cases
    )
    assert all(one != other for one, other in pairwise(sorted(seen for seen, _ in cases)))


def test_every_group_has_a_name_and_words() -> None:
    lines = (LISTS / "trouble_words.txt").read_text("utf-8").splitlines()
    groups = [line.partition(":") for line in lines if line and line[0] != "#"]
    assert all(name.isidentifier() and len(words.split()) > 3 for name, _, words in groups)
    assert len({name for name, _, _ in groups}) == len(groups)
