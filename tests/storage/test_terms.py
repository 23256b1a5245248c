"""Terms and languages: the forms of one word give one stem, and no answer comes in another language's words."""

import pytest

from mcp_reflect.services.engine import Engine
from mcp_reflect.stemmer import stem
from mcp_reflect.storage.retrieval.index import terms_of
from tests.storage.languages import CASES


@pytest.mark.parametrize(
    "forms",
    [
        "deploy deploys deployed deploying deployment deployments",
        "migrate migrates migrated migrating migration migrations",
        "retry retries retried retrying",
        "velocity velocities",
        "configure configured configuring configuration configurations",
        "cancel cancels canceled cancelled cancelling cancellation",
        "install installs installed installation",
        "access accesses accessed accessible",
        "stop stops stopped stopping",
        "monitor monitors monitoring",
        "quick quickly quickness",
        "building buildings",
        "thought thoughtful thoughtfulness",
        "cache caches cached caching",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1, [stem(form) for form in forms.split()]


OTHERS = "string/stride status/state user/us order/ordeal number/nun signal/sign alloy/allow bus/bush".split()


@pytest.mark.parametrize("words", OTHERS)
def test_words_of_other_meanings_keep_their_stems_apart(words: str) -> None:
    one, other = words.split("/")
    assert stem(one) != stem(other)


@pytest.mark.parametrize("word", ["set", "été", "e4012", "thing", "status", "need"])
def test_a_short_word_and_one_that_would_lose_its_vowel_stay_as_they_are(word: str) -> None:
    assert stem(word) == word


def test_an_identifier_gives_itself_and_its_parts() -> None:
    for name in ("parse_invoice_date", "initialDelaySeconds", "api.retry.limits"):
        whole, *parts = terms_of(name)
        assert whole.startswith(name[:5].lower().replace(".", "_"))
        assert parts == terms_of(name.replace("D", " D").replace("S", " S").replace("_", " ").replace(".", " "))


@pytest.fixture
async def told(engine: Engine) -> dict[str, str]:
    """The id of each lesson by its task, all in one bank."""
    lines = [(place, {"mistake": case[1], "correction": case[2]}) for place, case in enumerate(CASES, start=1)]
    stored = [one async for batch in engine.import_lessons(lines) for one in batch]
    return {case[3]: one.lesson_id for case, one in zip(CASES, stored, strict=True)}


async def test_a_task_in_other_words_finds_its_lesson_among_three_in_every_language(
    engine: Engine, told: dict[str, str]
) -> None:
    missed: list[str] = []
    for task, lesson_id in told.items():
        found = await engine.recall(task=task)
        if lesson_id not in [hit.id for hit in found.lessons]:
            missed.append(task)
    assert len(CASES) - len(missed) >= 27, missed


@pytest.mark.parametrize(
    "task",
    [
        "Water the tomatoes on the balcony",
        "Das Fahrrad putzen",
        "Choisir un vin pour le dîner",
        "Reservar mesa en la playa",
        "周末去爬山看日出",
        "猫のえさを買いに行く",
    ],
)
async def test_nothing_fits_a_task_from_elsewhere_strongly_in_any_language(
    engine: Engine, told: dict[str, str], task: str
) -> None:
    assert told
    assert not [hit for hit in (await engine.recall(task=task)).lessons if hit.fit == "strong"]
