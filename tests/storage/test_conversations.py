"""In a long conversation the turn that answers a question comes before the short turns of the person it names."""

from itertools import cycle, islice

import pytest

from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.retrieval.vectors import weighed_in_bank, words_query
from tests.imported import imported

SHORT = (
    "haha yes",
    "thanks so much",
    "no way",
    "that is so nice",
    "me too",
    "what about you",
    "sounds good",
    "I have no idea",
    "oh really",
    "good night",
    "see you soon",
    "I guess so",
    "you are right",
    "that would be cool",
)
LONG = (
    "my roommates and I went to the lake on Saturday and it rained the whole day",
    "I had a test in chemistry this morning, and it went better than the last one",
    "my brother plays the drums in a band that tours through the small towns here",
    "we are moving to a bigger apartment in August since the lease ends then",
    "I work at the library in the evenings, which leaves the mornings for classes",
)
ANSWERS = {
    "What chore does Caroline not want to do?": (
        "I currently have a messy room that I really do not want to have to clean"
    ),
    "What flavor is Caroline's favorite?": (
        "I had the honey comb and it was great, possibly the one I like best"
    ),
    "Who made sure Caroline signed up for voting?": (
        "my dad made sure that I was registered, it is important to exercise that power"
    ),
}
SPEAKERS = ("Caroline", "Melanie", "Jon", "Gina", "Nate", "Joanna")
TURNS = 1_100


def _conversation() -> list[dict[str, str]]:
    said = cycle((*SHORT, *LONG))
    said_by = islice(zip(cycle(SPEAKERS), said, strict=False), TURNS)
    turns = [f"{speaker}: {text} {number}" for number, (speaker, text) in enumerate(said_by)]
    turns += [f"Caroline: {answer}" for answer in ANSWERS.values()]
    return [{"mistake": turn, "correction": "-"} for turn in turns]


@pytest.mark.sqlite
async def test_an_answer_comes_before_the_short_turns_of_the_speaker(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_reflect.storage.retrieval.scoring._LEAST_ROWS_FOR_RARITY", 1_000)
    await imported(engine, *_conversation())
    for question, answer in ANSWERS.items():
        hits = (await engine.recall(task=question, limit=10)).lessons
        assert answer in hits[0].text, (question, [hit.text for hit in hits])


def test_a_word_that_many_rows_have_draws_a_question_less() -> None:
    question = words_query("What is the pottery class of Caroline?")
    name = words_query("Caroline")
    assert question is not None
    assert name is not None

    def nearness(rarity: dict[str, float]) -> float:
        return sum(
            one * other
            for one, other in zip(
                weighed_in_bank(question, rarity).numbers, name.numbers, strict=True
            )
        )

    assert nearness({"carolin": 0.1}) < nearness({"carolin": 0.5}) < nearness({})
    assert nearness({}) == pytest.approx(
        sum(one * other for one, other in zip(question.numbers, name.numbers, strict=True))
    )


def test_a_question_of_common_words_alone_keeps_its_vector() -> None:
    question = words_query("tests")
    assert question is not None
    assert weighed_in_bank(question, {"test": 0.0}) == question
