"""Laws of merging, of effectiveness and of recall, over whatever texts, outcomes and questions there are."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import State
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.outcomes import WeightedOutcome, total
from mcp_reflect.storage.similarity import alike, same_text
from tests.imported import imported


def same_lesson(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """True if mistake and correction of two lessons say the same."""
    return all(map(same_text, one, other))


SUCCESS = st.sampled_from([0.0, 0.5, 1.0])
WEIGHT = st.floats(0.001, 1)
OUTCOMES = st.lists(st.builds(WeightedOutcome, SUCCESS, WEIGHT), max_size=30)
TEXTS = st.text(max_size=60)
POINTS = [
    "`x = 1`",
    *"3.11 8080 parse_date parseDate src/app.py E4012 --force v2 $HOME a.b 50%".split(),
]
FRAME = "The nightly build of the orders service broke in the staging cluster when {} was given to the runner"
MEND = "Roll the change back and tell the team"


@given(OUTCOMES)
def test_effectiveness_stays_in_its_range_and_is_null_until_the_first_outcome(
    outcomes: Sequence[WeightedOutcome],
) -> None:
    found = total(outcomes)
    assert (found.effectiveness is None) == (not outcomes)
    assert found.effectiveness is None or 0 <= found.effectiveness <= 1
    assert found.wins + found.losses <= sum(one.weight for one in outcomes) + 1e-9


@given(TEXTS, TEXTS)
def test_likeness_is_the_same_both_ways_and_whole_with_itself(one: str, other: str) -> None:
    assert alike(one, other) == alike(other, one)
    assert 0 <= alike(one, other) <= 1
    assert alike(one, one) == 1
    assert same_lesson((one, other), (one, other))


@given(st.sampled_from(POINTS), st.sampled_from(POINTS))
def test_lessons_that_differ_in_a_number_identifier_path_or_code_are_never_one(
    one: str, other: str
) -> None:
    first, second = (FRAME.format(one), MEND), (FRAME.format(other), MEND)
    assert same_lesson(first, second) == (one == other)
    assert same_lesson((MEND, first[0]), (MEND, second[0])) == (one == other)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_number_makes_a_lesson_another_one(one: int, other: int) -> None:
    assert same_lesson((FRAME.format(one), MEND), (FRAME.format(other), MEND)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"), [("enable", "disable"), ("before", "after"), ("always", "never")]
)
def test_a_word_that_turns_the_sentence_round_makes_it_another_lesson(one: str, other: str) -> None:
    frame = "For the nightly build of the orders service {} the cache of the staging runner"
    assert not same_lesson((frame.format(one), MEND), (frame.format(other), MEND))


def test_the_same_in_another_order_is_one_lesson() -> None:
    one = ("Installed the package globally", "Install it in a virtual environment")
    other = ("The package was installed globally", "In a virtual environment, install it")
    assert same_lesson(one, other)
    assert same_lesson(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Restart the server after the update", "Restart the client after the update"),
        ("Add the entry to the index", "Remove the entry from the index"),
        ("Ask the user for the region", "Ask the user for the language"),
        ("Lock the table while the rows are copied", "Unlock the table while the rows are copied"),
        ("Read the error message first", "Read the release notes first"),
        ("Upload the archive before the restart", "Download the archive before the restart"),
        (
            "Try the change on the staging machine first",
            "Try the change on the production machine first",
        ),
    ],
)
def test_another_correction_of_the_same_mistake_is_another_lesson(one: str, other: str) -> None:
    mistake = "The nightly update of the search service failed half way and left old rows behind"
    assert not same_lesson((mistake, one), (mistake, other))


@pytest.mark.parametrize(
    "words",
    [
        ("Tuesday", "Monday"), ("staging", "production"), ("Linux", "Windows"), ("json", "xml"), ("safe", "unsafe"),
        ("sent", "received"), ("minutes", "seconds"), ("buyer", "seller"), ("slow", "fast"), ("source", "target"),
    ],
)  # fmt: skip
def test_one_word_in_the_place_of_another_makes_another_lesson_however_long_the_text_is(
    words: tuple[str, str],
) -> None:
    frame = "For the nightly build of the orders service take the {} queue, then wait until the cache is warm again"
    one, other = (frame.format(word) for word in words)
    assert not same_lesson((one, MEND), (other, MEND))
    assert not same_lesson((MEND, one), (MEND, other))


def test_the_same_in_nearly_the_same_words_is_one_lesson() -> None:
    assert same_lesson(
        ("Deployed the orders service to production without running migrations", MEND),
        ("Deployed the order service to production without running the migrations", MEND),
    )


WORDING = st.lists(
    st.sampled_from("cache build order stage deploy 42 parse_date a/b.py not the".split()),
    min_size=1,
).map(" ".join)


@hypothesis_settings(max_examples=12, deadline=None)
@given(WORDING.map("build {}".format), WORDING.map("deploy {}".format))
def test_merging_twice_is_merging_once(mistake: str, correction: str) -> None:
    async def stored_three_times(folder: str) -> None:
        async with Engine(Settings(bank=Path(folder) / "bank.db", project="app")) as engine:
            first = await engine.store_lesson(mistake=mistake, correction=correction, tags=["a"])
            for tag in ("b", "b"):
                again = await engine.store_lesson(
                    mistake=mistake, correction=correction, tags=[tag]
                )
                assert (again.lesson_id, again.status) == (first.lesson_id, "merged")
            (lesson,) = await engine.bank.lessons.latest(engine.scopes.own)
            assert (lesson.tags, lesson.strength) == (("a", "b"), 3)
            assert (lesson.mistake, lesson.correction) == (mistake, correction)
            assert await engine.bank.lessons.history(engine.scopes.own, lesson.id) == []

    with TemporaryDirectory() as folder:
        asyncio.run(stored_three_times(folder))


WORD = st.sampled_from(
    "cache proxy invoice retry deploy login parser backup tile queue worker token schema export index".split()
)
LESSONS = st.lists(
    st.tuples(st.lists(WORD, min_size=1, max_size=6), st.lists(WORD, min_size=1, max_size=6)),
    max_size=12,
)
TASK = st.lists(WORD, min_size=1, max_size=5)


async def recalled(
    lessons: Sequence[tuple[list[str], list[str]]],
    task: list[str],
    limit: int,
    max_chars: int,
    retired: int,
) -> None:
    with TemporaryDirectory() as folder:
        async with Engine(Settings(bank=Path(folder) / "bank.db", project="app")) as engine:
            lines = [
                {
                    "mistake": f"Mishandled {' '.join(one)}",
                    "correction": " ".join(other),
                    "tags": one[:1],
                }
                for one, other in lessons
            ]
            stored = await imported(engine, *lines)
            gone = {one.lesson_id for one in stored[:retired]}
            for name in gone:
                await engine.bank.lessons.set_state(engine.scopes.own, name, State.RETIRED, "gone")
            tagged = await engine.recall(task=" ".join(task), limit=limit, tags=task[:1])
            assert {tag for hit in tagged.lessons for tag in hit.tags} <= {*task[:1]}
            found = await engine.recall(task=" ".join(task), limit=limit, max_chars=max_chars)
            again = await engine.recall(task=" ".join(task), limit=limit, max_chars=max_chars)
            words = {
                one.lesson_id: {*mistake, *correction}
                for one, (mistake, correction) in zip(stored, lessons, strict=True)
                if one.lesson_id not in gone
            }
            assert len(found.lessons) <= limit
            assert sum(len(hit.text) for hit in found.lessons) <= max_chars
            assert [hit.id for hit in again.lessons] == [hit.id for hit in found.lessons]
            assert [hit.score for hit in found.lessons] == sorted(
                (hit.score for hit in found.lessons), reverse=True
            )
            assert all((hit.fit == "strong") == (hit.score >= 0.5) for hit in found.lessons)
            assert not gone & {hit.id for hit in found.lessons}
            sharing = [name for name, held in words.items() if held & {*task}]
            assert len(sharing) <= len(found.lessons) + sum(found.hidden.values()) <= len(words)


@hypothesis_settings(max_examples=12, deadline=None)
@given(LESSONS, TASK, st.integers(1, 5), st.integers(1, 200), st.integers(0, 3))
def test_a_recall_keeps_its_limits_its_order_and_its_count(
    lessons: Sequence[tuple[list[str], list[str]]],
    task: list[str],
    limit: int,
    max_chars: int,
    retired: int,
) -> None:
    asyncio.run(recalled(lessons, task, limit, max_chars, retired))


async def test_every_lesson_is_found_by_its_own_words_and_by_one_letter_wrong(
    engine: Engine,
) -> None:
    texts = {
        "Forgot the orientation of photographs": "photographs orientatoin",
        "Mistook kilobytes for kibibytes": "kilobytse",
        "Deleted the wrong namespace": "delete a namespce",
    }
    for mistake, slip in texts.items():
        stored = await engine.store_lesson(mistake=mistake, correction="Look twice")
        for task in (mistake, slip):
            found = await engine.recall(task=task)
            assert found.lessons[0].id == stored.lesson_id, task


async def test_a_small_project_is_found_in_beside_a_large_one(engine: Engine) -> None:
    lines = [
        {
            "mistake": f"Flushed the cache of shard {place}",
            "correction": "Warm it",
            "project": "other",
        }
        for place in range(1, 600)
    ]
    await imported(engine, *lines)
    own = await engine.store_lesson(
        mistake="Flushed the cache at noon", correction="Flush it at night"
    )
    found = await engine.recall(task="flush the cache", limit=50)
    assert [hit.id for hit in found.lessons] == [own.lesson_id]


async def test_an_edit_and_a_restore_leave_the_counts_as_if_written_so_at_once(
    engine: Engine,
) -> None:
    own = engine.scopes.own
    stored = await engine.store_lesson(mistake="Pinned the kernel", correction="Let it roll")
    await engine.edit_lesson(stored.lesson_id, {"correction": "Let it go"})
    await engine.forget_lesson(lesson_id=stored.lesson_id, reason="old")
    await engine.bank.lessons.set_state(own, stored.lesson_id, State.ACTIVE, "restored")
    (hit,) = (await engine.recall(task="let the kernel go")).lessons
    assert (hit.id, hit.fit) == (stored.lesson_id, "strong")
    assert not [hit for hit in (await engine.recall(task="roll")).lessons if "roll" in hit.why]
