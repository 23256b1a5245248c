"""A language model on the server: who is asked, in what order, when, and what of its word counts."""

import json
import threading
import time
from collections.abc import Sequence
from typing import Any, Literal

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.evidence import loop
from mcp_reflect.evidence.verifying import Verified, verifier
from mcp_reflect.evidence.work import Work
from mcp_reflect.llm.protocol import Role, UnreachableError
from mcp_reflect.models.critique import Opinion, StopReason
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted

POEM = ["Roses are red", "Violets are brown"]
BETTER = ["Roses are red", "Violets are blue"]
CRITIC, CORRECTOR = Role.CRITIC, Role.CORRECTOR
BAD = json.dumps({"quality_score": 0.3, "issues": ["Step 2: violets are not brown"], "extra": 1})
WORSE = json.dumps({"quality_score": 0.1, "issues": ["Step 2: worse"]})
GOOD = json.dumps({"quality_score": 0.9, "issues": "No issues found"})
DOWN = UnreachableError("scripted", "it is down", "Start it")


def steps(*texts: str) -> str:
    return json.dumps({"corrected_steps": texts})


def thinking(
    settings: Settings, llm: Scripted, mode: Literal["auto", "always", "off"] = "auto"
) -> Engine:
    made = Settings(bank=settings.bank, project="app", critique=mode)
    return Engine(made, llm=llm)


@pytest.mark.parametrize(
    ("answers", "most", "stopped", "corrected"),
    [
        ((BAD, steps(*BETTER), GOOD), 3, StopReason.PASSED, BETTER),
        ((BAD, steps("Roses", "Violets"), WORSE), 1, StopReason.BUDGET, ()),
        ((BAD, steps(*BETTER), BAD), 5, StopReason.SAME_ISSUES, ()),
        ((BAD, steps(*POEM)), 5, StopReason.NO_CHANGE, ()),
        ((BAD, steps(*BETTER), DOWN), 3, StopReason.BUDGET, ()),
    ],
    ids=["better", "judged worse", "the same issues", "nothing changed", "a critic falls silent"],
)
async def test_critic_corrector_and_critic_are_asked_in_order_until_one_ends_it(
    settings: Settings, answers: Any, most: int, stopped: StopReason, corrected: Sequence[str]
) -> None:
    with Scripted(*answers, roles=[CRITIC, CORRECTOR, CRITIC][: len(answers)]) as llm:
        async with thinking(settings, llm) as engine:
            found = await engine.critique(goal="A poem", steps=POEM, max_iterations=most)
    assert (found.stopped, found.iterations, found.corrected_steps) == (
        stopped,
        1,
        tuple(corrected),
    )
    assert (found.thinker, found.quality_score) == ("scripted:model", 0.3)
    assert ("it is down" in (found.note or "")) == (DOWN in answers)


async def test_a_corrector_that_leaves_steps_out_is_asked_once_more(settings: Settings) -> None:
    with Scripted(BAD, steps("Violets are blue"), steps(*BETTER), GOOD) as llm:
        async with thinking(settings, llm) as engine:
            found = await engine.critique(goal="A poem", steps=POEM)
        assert "1 of 2 steps" in llm.asked[2].user
    assert found.corrected_steps == tuple(BETTER)


async def test_a_model_that_fails_leaves_it_to_rules_with_the_reason(settings: Settings) -> None:
    with Scripted(DOWN) as llm:
        async with thinking(settings, llm) as engine:
            found = await engine.critique(goal="A poem", steps=POEM)
    assert (found.thinker, found.quality_score) == ("rules", None)
    assert "it is down" in (found.note or "")


@pytest.mark.parametrize(("mode", "answers"), [("auto", ()), ("always", (GOOD,)), ("off", ())])
async def test_what_is_certainly_wrong_is_shown_to_a_model_only_always(
    settings: Settings, mode: Any, answers: Any
) -> None:
    with Scripted(*answers) as llm:
        async with thinking(settings, llm, mode) as engine:
            found = await engine.critique(goal="Sum", steps=["2 + 2 = 5"], max_iterations=0)
    assert found.thinker == ("scripted:model" if answers else "rules")
    assert found.passes_quality_gate is False


async def test_a_model_judges_each_claim_and_gate_and_score_follow(settings: Settings) -> None:
    verdicts = [
        {"claim": 1, "verdict": "holds"},
        {"claim": 2, "verdict": "wrong", "correction": "420 × 6 = 2520"},
    ]
    right = json.dumps(
        {"verdicts": [{"claim": 1, "verdict": "holds"}, {"claim": 2, "verdict": "holds"}]}
    )
    with Scripted(json.dumps({"verdicts": verdicts}), right, roles=[CRITIC, CRITIC]) as llm:
        async with thinking(settings, llm) as engine:
            found = await engine.critique(
                goal="I save 12 % of 3,500 for 6 months",
                steps=["3500 × 0.12 = 420", "420 + 6 = 426"],
            )
    assert (found.passes_quality_gate, found.quality_score, found.first_error_step) == (
        False,
        0.5,
        2,
    )
    assert found.corrected_steps == ("3500 × 0.12 = 420", "420 × 6 = 2520")


async def test_off_asks_neither_critic_nor_corrector(settings: Settings) -> None:
    with Scripted() as llm:
        async with thinking(settings, llm, "off") as engine:
            found = await engine.critique(
                goal="Poem", steps=[*POEM, "2 + 2 = 4 and 10 > 20"], criteria=["tone"]
            )
    assert found.thinker == "rules"


async def test_criteria_and_lessons_reach_the_critic_and_secrets_do_not(settings: Settings) -> None:
    secret = "sk-ant-" + "api03-" + "Zq8" * 12
    told = json.dumps({"quality_score": 1, "criteria": {"rhyme": {"score": 0.2, "reason": "none"}}})
    with Scripted(told) as llm:
        async with thinking(settings, llm) as engine:
            await engine.store_lesson(
                mistake="Called violets brown in a poem", correction="Look at one first"
            )
            recalled = await engine.recall(task="write a poem about violets")
            found = await engine.critique(
                goal=f"A poem {secret}",
                steps=BETTER,
                criteria={"rhyme": "does it"},
                recall_id=recalled.recall_id,
            )
        assert "Called violets brown" in llm.asked[0].user
        assert "rhyme: does it" in llm.asked[0].user
        assert secret not in llm.asked[0].user
    assert found.criteria["rhyme"].score == 0.2


async def test_a_stream_of_bad_input_raises_what_the_call_raises(engine: Engine) -> None:
    with pytest.raises(InputError, match="response"):
        _ = [one async for one in engine.critique_stream(goal="Add")]


def ignore_start(iteration: int, issues: tuple[str, ...]) -> None:
    """Do nothing where a correction starts."""


async def ignore_version(iteration: int, version: Verified) -> None:
    """Do nothing where a version is verified."""


async def test_the_deadline_ends_it_with_the_best_so_far_and_verifying_leaves_the_loop_free() -> (
    None
):
    threads: set[int] = set()
    check = verifier(Work(goal="", steps=()))

    def verify(given: Any) -> Verified:
        threads.add(threading.get_ident())
        return check(given)

    async def critic(version: Verified) -> Opinion:
        return Opinion(issues=(f"not {version.steps[0]}",))

    async def corrector(version: Verified, issues: Any) -> tuple[str, ...]:
        del issues
        return (version.steps[0] + "!",)

    found = await loop.run(
        ["a"],
        verify=verify,
        critic=critic,
        corrector=corrector,
        max_iterations=5,
        on_start=ignore_start,
        on_version=ignore_version,
        until=time.monotonic() - 1,
    )
    assert (found.stopped, found.iterations, found.best.verified.steps) == (
        StopReason.DEADLINE,
        0,
        ("a",),
    )
    assert threading.get_ident() not in threads


@pytest.mark.parametrize(
    ("work", "iterations"),
    [
        (
            [(f"{step} + 1 = {step} and the quick brown fox. " * 28)[:1000] for step in range(200)],
            0,
        ),
        (["word " * 200] * 200, 3),
        ([(f"x = {step}; y = x + 4 = 9 " * 45)[:1000] for step in range(200)], 3),
    ],
    ids=["wrong", "words", "names"],
)
async def test_the_largest_work_ends_soon_and_its_answer_stays_small(
    engine: Engine, work: list[str], iterations: int
) -> None:
    began = time.process_time()
    found = await engine.critique(goal="Large", steps=work, max_iterations=iterations)
    assert time.process_time() - began < 8  # some 2 s of the processor
    assert len(found.issues) <= 41


async def test_a_critique_in_prose_is_read(settings: Settings) -> None:
    prose = "The plan is sound and complete. I found no issues."
    with Scripted(prose, prose) as llm:
        async with thinking(settings, llm) as engine:
            found = await engine.critique(goal="A plan", steps=["First back up.", "Then migrate."])
    assert (found.thinker, found.passes_quality_gate, found.issues) == ("scripted:model", True, ())


async def test_steps_that_the_critic_corrects_without_a_word_are_no_acceptance(
    settings: Settings,
) -> None:
    with Scripted(steps(*BETTER), GOOD, roles=[CRITIC, CRITIC]) as llm:
        async with thinking(settings, llm) as engine:
            found = await engine.critique(goal="A poem", steps=POEM)
    assert (found.passes_quality_gate, found.issues) == (False, ("Step 2: the judge corrects it",))
    assert found.corrected_steps == tuple(BETTER)
    assert "verified" not in (found.retry_guidance or "")


async def test_a_claim_that_the_model_leaves_out_is_asked_of_the_host(settings: Settings) -> None:
    with Scripted(GOOD) as llm:
        async with thinking(settings, llm) as engine:
            found = await engine.critique(
                goal="Deploy", response="I deployed the service to production."
            )
    assert (found.passes_quality_gate, found.quality_score) == (None, 0.9)  # the model's own
    assert str(found.next["send"]).startswith("critique_id with verdicts")
