"""A run that comes again: what the same kind of thinker said of it is found before anybody is asked anew."""

import json

from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import Role, UnreachableError
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted
from tests.server.calls import FAILED_RUN

SAID = json.dumps({"reflection": "The path was misspelt.", "strategy": "List the folder first."})
JUDGED = json.dumps(
    {"decision_appropriate": None, "execution_effective": None, "confidence": 0.8, "reasoning": "seen", "scores": {}}
)


async def test_a_model_is_not_asked_again_about_a_run_it_has_reflected_on(settings: Settings) -> None:
    with Scripted(SAID) as llm:
        async with Engine(settings, llm=llm) as engine:
            first = await engine.reflect(**FAILED_RUN)
            assert await engine.reflect(**FAILED_RUN) == first
            generated = await engine.generate_reflection(**FAILED_RUN)
            assert (await engine.store_reflection(generated)).reflection_id == first.reflection_id
            assert len(await engine.bank.reflections.latest(engine.scopes.own)) == 1


async def test_a_model_is_asked_about_a_run_that_rules_alone_reflected_on(settings: Settings) -> None:
    async with Engine(settings) as engine:
        by_rules = await engine.reflect(**FAILED_RUN)
    with Scripted(SAID) as llm:
        async with Engine(settings, llm=llm) as engine:
            by_model = await engine.reflect(**FAILED_RUN)
    async with Engine(settings) as engine:
        again = await engine.reflect(**FAILED_RUN)
    assert (by_rules.thinker, by_model.thinker) == ("rules", "scripted:model")
    assert again.reflection_id == by_rules.reflection_id != by_model.reflection_id


async def test_a_model_that_failed_is_asked_again(settings: Settings) -> None:
    with Scripted(UnreachableError("scripted:model", "no route", "Look at the network."), SAID) as llm:
        async with Engine(settings, llm=llm) as engine:
            assert (await engine.reflect(**FAILED_RUN)).thinker == "rules"
            assert (await engine.reflect(**FAILED_RUN)).thinker == "scripted:model"


async def test_other_events_are_another_run(settings: Settings) -> None:
    with Scripted(SAID, SAID) as llm:
        async with Engine(settings, llm=llm) as engine:
            first = await engine.reflect(**FAILED_RUN)
            other = await engine.reflect(**{**FAILED_RUN, "task": "Read the settings of the billing service"})
    assert first.reflection_id != other.reflection_id


async def test_criteria_that_nobody_has_scored_are_asked_about_once(settings: Settings) -> None:
    roles = (Role.REFLECTOR, Role.REFLECTOR, Role.EVALUATOR)
    with Scripted(SAID, SAID, JUDGED, roles=roles) as llm:
        async with Engine(settings, llm=llm) as engine:
            await engine.reflect(**FAILED_RUN)
            scored = await engine.reflect(**FAILED_RUN, criteria=["tone: is it friendly"])
            assert scored.assessment is not None
            assert "tone" in scored.assessment.scores
            assert await engine.reflect(**FAILED_RUN, criteria=["tone: is it friendly"]) == scored


async def test_an_analysis_is_the_next_version_however_often_the_run_was_sent(settings: Settings) -> None:
    async with Engine(settings) as engine:
        first = await engine.reflect(**FAILED_RUN)
        told = await engine.reflect(reflection_id=first.reflection_id, analysis={"reflection": "A typo in the path."})
        assert (told.reflection_id, told.thinker) == (first.reflection_id, "host")
        assert (await engine.bank.reflections.by_id(engine.scopes.own, first.reflection_id)).version == 2


async def test_the_same_call_after_an_analysis_was_added_stores_nothing(settings: Settings) -> None:
    async with Engine(settings) as engine:
        first = await engine.reflect(**FAILED_RUN)
        told = await engine.reflect(reflection_id=first.reflection_id, analysis={"reflection": "A typo in the path."})
        again = await engine.reflect(**FAILED_RUN)
        assert (again.reflection_id, again.lessons) == (told.reflection_id, told.lessons)
        assert len(await engine.bank.reflections.latest(engine.scopes.own)) == 1
