"""What recall finds, what it holds back or filters, and what no question can do to it."""

import string
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mcp_reflect.errors import InputError
from mcp_reflect.services.engine import Engine
from tests.imported import imported

LESSONS = {
    "snake": ("Called parse_invoice_date on a null field", "Check it with has_invoice_date first"),
    "camel": ("HttpRetryPolicy retried a POST", "Set retryOnPost to false"),
    "path": (
        "Edited config/settings.prod.toml by hand",
        "Change the template in deploy/templates instead",
    ),
    "code": ("Ignored ERR_SSL_4711 from the proxy", "Renew the certificate of the proxy"),
    "cjk": ("数据库连接超时", "增加连接池的大小"),
    "plain": ("Sent the newsletter twice to each customer", "Check the outbox before sending"),
}


@pytest.fixture
async def ids(engine: Engine) -> dict[str, str]:
    """The id of each of LESSONS, stored."""
    return {
        name: (await engine.store_lesson(mistake=mistake, correction=correction)).lesson_id
        for name, (mistake, correction) in LESSONS.items()
    }


async def first(engine: Engine, task: str, **more: Any) -> str | None:
    found = await engine.recall(task=task, **more)
    return found.lessons[0].id if found.lessons else None


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("snake", "Why does parse_invoice_date fail?"),
        ("snake", "parse the date of an invoice"),
        ("camel", "configure the HttpRetryPolicy"),
        ("camel", "http retry policy"),
        ("camel", "what does retryOnPost do"),
        ("path", "open config/settings.prod.toml"),
        ("path", "where are the deploy templates"),
        ("code", "the build prints ERR_SSL_4711"),
        ("cjk", "数据库连接失败了"),
        ("plain", "How should I send a newsletter to all of our customers, please?"),
    ],
)
async def test_a_lesson_is_found_by(
    engine: Engine, ids: dict[str, str], name: str, task: str
) -> None:
    assert await first(engine, task) == ids[name]


async def test_an_error_text_among_the_symptoms_finds_what_the_task_does_not(
    engine: Engine, ids: dict[str, str]
) -> None:
    found = await engine.recall(task="release the app", symptoms=["curl: ERR_SSL_4711"])
    assert (found.lessons[0].id, found.lessons[0].fit) == (ids["code"], "strong")
    assert "both name ERR_SSL_4711" in found.lessons[0].why


@pytest.mark.parametrize("task", ["bake a chocolate cake", "the a of and", "?!", "zzz"])
async def test_what_has_nothing_to_do_with_the_task_does_not_fit_strongly(
    engine: Engine, ids: dict[str, str], task: str
) -> None:
    assert ids
    assert not [hit for hit in (await engine.recall(task=task)).lessons if hit.fit == "strong"]


@pytest.mark.parametrize("task", ["the a of and", "?!"])
async def test_a_task_without_a_telling_word_finds_nothing(
    engine: Engine, ids: dict[str, str], task: str
) -> None:
    assert ids
    assert (await engine.recall(task=task)).lessons == ()


async def test_a_project_sees_its_own_and_global_lessons_and_no_other_projects(
    engine: Engine,
) -> None:
    lesson = {"mistake": "Rebased a shared branch", "correction": "Merge it instead"}
    own = await engine.store_lesson(**lesson)
    await engine.store_lesson(**lesson, project="other")
    everywhere = await engine.store_lesson(
        mistake="Rebased without a backup", correction="Tag it", visibility="global"
    )
    found = await engine.recall(task="rebase a shared branch", limit=50)
    assert [(hit.id, hit.scope) for hit in found.lessons] == [
        (own.lesson_id, None),
        (everywhere.lesson_id, "global"),
    ]


async def test_limit_and_characters_are_kept_exactly_and_what_is_held_back_is_counted(
    engine: Engine,
) -> None:
    for number in range(6):
        await engine.store_lesson(
            mistake=f"Restarted worker {number} {'abcdef'[number] * 5}",
            correction=f"Drain queue {number}",
        )
    every = await engine.recall(task="restart worker and drain queue", limit=50)
    size = len(every.lessons[0].text)
    assert (len(every.lessons), every.hidden) == (6, {})
    two = await engine.recall(task="restart worker and drain queue", limit=2)
    assert (len(two.lessons), two.hidden) == (2, {"over_limit": 4})
    short = await engine.recall(task="restart worker and drain queue", limit=50, max_chars=2 * size)
    assert (len(short.lessons), short.hidden) == (2, {"over_max_chars": 4})
    shorter = await engine.recall(
        task="restart worker and drain queue", limit=50, max_chars=2 * size - 1
    )
    assert (len(shorter.lessons), shorter.hidden) == (1, {"over_max_chars": 5})


async def test_filters_hold_lessons_back_and_say_so(engine: Engine) -> None:
    await engine.store_lesson(
        mistake="Pinned numpy too low", correction="Pin numpy 2", importance=0.2, tags=["deps"]
    )
    cases: list[tuple[dict[str, Any], str]] = [
        ({"tags": ["other"]}, "other_tags"),
        ({"min_importance": 0.5}, "below_min_importance"),
        ({"min_effectiveness": 0.9}, "below_min_effectiveness"),
    ]
    for wanted, reason in cases:
        found = await engine.recall(task="pin numpy", **wanted)
        assert (found.lessons, found.hidden) == ((), {reason: 1})
    assert (await engine.recall(task="pin numpy", tags=["other", "deps"])).lessons


async def test_reflections_stand_in_only_where_there_is_no_lesson_or_strategy(
    engine: Engine,
) -> None:
    run: dict[str, Any] = {"task": "Warm the tile cache", "outcome": "failure"}
    await engine.reflect(**run, analysis={"reflection": "The tile cache was cold"})
    (alone,) = (await engine.recall(task="warm the tile cache")).lessons
    assert (alone.kind, "there is no lesson" in alone.why) == ("reflection", True)
    await engine.store_lesson(
        mistake="Left the tile cache cold", correction="Warm the tile cache at night"
    )
    found = await engine.recall(task="warm the tile cache")
    assert ([hit.kind for hit in found.lessons], found.hidden) == (["lesson"], {"reflection": 1})
    asked = await engine.recall(task="warm the tile cache", kinds=["reflection"])
    assert [hit.kind for hit in asked.lessons] == ["reflection"]


async def test_what_works_is_shown_before_what_does_not(engine: Engine) -> None:
    good = await engine.store_lesson(
        mistake="Flaky login test", correction="Wait for the session cookie alpha"
    )
    bad = await engine.store_lesson(
        mistake="Flaky login test", correction="Run it a second time in the evening beta"
    )
    for success, one in ((False, bad), (True, good)):
        proof = [{"content": "ran", "exit_code": 0 if success else 1}]
        await engine.record_outcome(
            success=success, lesson_ids=[one.lesson_id], evidence="test", tool_results=proof
        )
    found = await engine.recall(task="flaky login test")
    assert [hit.id for hit in found.lessons] == [good.lesson_id, bad.lesson_id]
    assert "effectiveness" in found.lessons[0].why


SYNTAX = st.text(st.sampled_from(string.punctuation + " abAB12é数\n")) | st.sampled_from(
    [
        '"',
        "*",
        "a AND",
        "NEAR(a b, 2)",
        "text : x",
        "^a",
        "a OR OR b",
        "(",
        "NOT",
        '"a" "',
        "-x",
        "{a b}: c",
        "a*",
    ]
)


@hypothesis_settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(task=st.text() | SYNTAX, symptoms=st.lists(SYNTAX, max_size=2))
async def test_no_question_breaks_the_search(
    engine: Engine, task: str, symptoms: list[str]
) -> None:
    try:
        found = await engine.recall(task=task, symptoms=symptoms)
    except InputError as error:
        assert error.field.startswith(("task", "symptoms"))  # noqa: PT017 - most questions are not refused
    else:
        assert found.recall_id


async def test_words_beside_the_name_of_a_secret_are_found(engine: Engine) -> None:
    stored = await engine.store_lesson(
        mistake="Sent the token proxy settings", correction="Read the password rotation handbook"
    )
    for task in ("proxy settings", "rotation handbook"):
        assert [hit.id for hit in (await engine.recall(task=task)).lessons] == [stored.lesson_id]


MATCHES = 120
TASK = "flush the cache of the shard before the deploy"


@pytest.fixture
async def crowded(engine: Engine) -> Engine:
    """A bank where more than a hundred lessons fit TASK better than any that a test adds."""
    await imported(
        engine,
        *[
            {
                "mistake": f"Flushed the cache of shard {place} before the deploy",
                "correction": f"Flush the cache of the shard after deploy {place}",
                "importance": 0.2,
                "tags": ["shards"],
            }
            for place in range(MATCHES)
        ],
    )
    return engine


async def test_an_important_lesson_is_found_behind_many_better_matches(crowded: Engine) -> None:
    rare = await crowded.store_lesson(
        mistake="Flushed a cache and then began a deploy by hand at night",
        correction="Warm it first",
        importance=0.9,
    )
    found = await crowded.recall(task=TASK, min_importance=0.5)
    assert [hit.id for hit in found.lessons] == [rare.lesson_id]
    assert found.hidden["below_min_importance"] == MATCHES


async def test_a_proved_lesson_is_found_behind_many_better_matches(crowded: Engine) -> None:
    rare = await crowded.store_lesson(
        mistake="Flushed a cache and then began a deploy by hand at night",
        correction="Warm it first",
    )
    for _ in range(4):
        shown = await crowded.recall(task="deploy by hand at night, flushed a cache")
        assert rare.lesson_id in [hit.id for hit in shown.lessons]
        await crowded.record_outcome(
            success=True, recall_id=shown.recall_id, lesson_ids=[rare.lesson_id]
        )
    proved = (await crowded.recall(task="deploy by hand at night, flushed a cache")).lessons[0]
    assert proved.effectiveness is not None
    found = await crowded.recall(task=TASK, min_effectiveness=0.55)
    assert [hit.id for hit in found.lessons] == [rare.lesson_id]
    assert found.hidden["below_min_effectiveness"] >= MATCHES / 2


async def test_a_rare_tag_is_found_behind_many_better_matches_with_few_wanted(
    crowded: Engine,
) -> None:
    rare = await crowded.store_lesson(
        mistake="Flushed a cache and then began a deploy by hand",
        correction="Warm it first",
        tags=["night"],
    )
    found = await crowded.recall(task=TASK, tags=["night"], limit=1)
    assert [hit.id for hit in found.lessons] == [rare.lesson_id]


async def test_fifty_are_shown_where_fifty_are_wanted(crowded: Engine) -> None:
    found = await crowded.recall(task=TASK, limit=50, max_chars=100_000)
    assert len(found.lessons) + found.hidden.get("similar", 0) >= 50
    assert found.hidden["over_limit"] + found.hidden.get("similar", 0) > 0


async def test_the_reasons_differ_with_the_hits(engine: Engine) -> None:
    await engine.store_lesson(
        mistake="Parsed the invoice as floats", correction="Parse it as decimals"
    )
    await engine.store_lesson(
        mistake="Sent the invoice twice", correction="Look in the log", task_type="billing"
    )
    found = await engine.recall(task="parse and send an invoice", task_type="billing")
    reasons = Counter(hit.why for hit in found.lessons)
    assert len(reasons) == len(found.lessons) == 2
    assert any("same task type (billing)" in why for why in reasons)
