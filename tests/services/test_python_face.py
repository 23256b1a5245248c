"""The engine in Python: the names that programs rest on (a change is told in CHANGELOG.md), and what they do."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

import mcp_reflect
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.llm.protocol import UnreachableError
from mcp_reflect.server.service import tools
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.tool_functions import TOOL_FUNCTIONS
from tests.scripted import Scripted
from tests.server.calls import FAILED_RUN, LESSON

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["python.md", "systems.md"])
def test_the_examples_of_a_page_run(page: str, settings: Settings) -> None:
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL
    )
    assert blocks
    space: dict[str, Any] = {"settings": settings}
    for block in blocks:
        exec(compile(block, page, "exec"), space)  # noqa: S102 - our own page


async def test_generating_stores_nothing_and_storing_twice_stores_once(settings: Settings) -> None:
    async with Engine(settings) as engine:
        generated = await engine.generate_reflection(**FAILED_RUN)
        assert not await engine.bank.reflections.latest(engine.scopes.own)
        kept = await engine.store_reflection(generated)
        assert await engine.store_reflection(generated) == kept
        (stored,) = await engine.bank.reflections.latest(engine.scopes.own)
        assert stored.id == kept.reflection_id
        assert (kept.thinker, kept.strategy_id, kept.lessons) == ("rules", None, ())
        assert (await engine.reflect(**FAILED_RUN)).reflection_id == kept.reflection_id


async def test_what_failed_a_check_cannot_be_stored(engine: Engine) -> None:
    generated = await engine.generate_reflection(
        task="t", outcome="success", decision={"action": "keep"}
    )
    assert generated.reflection.validation is not None
    with pytest.raises(InputError, match=r"^reflection: a check of its decision failed"):
        await engine.store_reflection(generated)


async def test_reflections_are_found_by_text_by_importance_and_by_tag(engine: Engine) -> None:
    for name, importance in (("alpha", 0.9), ("beta", 0.6), ("gamma", 0.2)):
        said = {
            "reflection": f"The {name} service was down.",
            "importance": importance,
            "tags": [name],
        }
        await engine.reflect(task=f"Call the {name} service", outcome="failure", analysis=said)

    async def names(*args: Any, **more: Any) -> list[str]:
        return [found.tags[0] for found in await engine.query_reflections(*args, **more)]

    assert await names() == ["alpha", "beta"]
    assert await names(min_importance=0) == ["alpha", "beta", "gamma"]
    assert await names(k=1) == ["alpha"]
    assert await names(min_importance=0, tags=["Gamma", "beta"]) == ["beta", "gamma"]
    assert (await names("the beta service is down"))[0] == "beta"
    assert await names("the gamma service is down", tags=["gamma"]) == []  # below the importance
    assert await names("the gamma service is down", min_importance=0, tags=["gamma"]) == ["gamma"]
    assert all(
        lesson.times_applied == 0
        for lesson in await engine.bank.lessons.latest(engine.scopes.own, kind=None)
    )


def test_prompts_are_built_and_read_without_a_bank_or_a_language_model(settings: Settings) -> None:
    engine = Engine(settings)
    decision = {"action": "keep", "component": "cache"}
    execution = {"component": "cache", "metrics": {"accuracy": 0.9}}
    prompt = engine.build_reflection_prompt(**FAILED_RUN, decision=decision, execution=execution)
    assert '"accuracy": 0.9' in prompt.user
    with pytest.raises(InputError, match=r"^decision: decision\.component is missing"):
        engine.build_reflection_prompt(**FAILED_RUN, decision={"action": "keep"})
    with pytest.raises(InputError, match=r"^reflection_id"):
        engine.build_reflection_prompt(reflection_id="ref_1", analysis="x")
    assert engine.parse_reflection({"reflection": "So."}).reflection == "So."
    assert "step one" in engine.build_improvement_prompt("goal", "step one", ["wrong"]).user
    assert (
        "it is wrong" in engine.build_improvement_prompt("goal", ["step one"], "it is wrong").user
    )
    assert not settings.bank_path.exists()


@pytest.mark.parametrize("error", [TimeoutError(), ValueError("key sk-1"), KeyError("x")])
async def test_rules_reflect_where_a_model_that_was_passed_raises_anything(
    settings: Settings, error: BaseException
) -> None:
    class Failing:
        async def complete(self, request: Any) -> Any:
            del request
            raise error

    async with Engine(settings, llm=Failing()) as engine:
        found = await engine.reflect(**FAILED_RUN)
    assert found.thinker == "rules"
    assert f"raised {type(error).__name__}" in (found.note or "")
    assert "no reply within" not in (found.note or "")
    assert "sk-1" not in (found.note or "")


async def test_a_scorer_of_ones_own_may_set_importance_and_confidence(settings: Settings) -> None:
    class Judge:
        def score(self, trace: Any) -> dict[str, float]:
            del trace
            return {"importance": 0.95, "confidence": 0.15}

    async with Engine(settings, scorer=Judge()) as engine:
        found = await engine.reflect(**FAILED_RUN)
    assert (found.importance, found.confidence) == (0.95, 0.15)


def test_the_size_of_the_bank_is_passed_on_and_goes_before_the_setting(settings: Settings) -> None:
    assert Engine(settings, reflection_bank_size=100).settings.bank_size == 100
    assert Engine(settings).settings.bank_size is None


async def test_every_log_event_has_the_keys_of_the_page(
    bank_path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        def score(self, trace: Any) -> Any:
            raise ZeroDivisionError(trace)

    told = dict(re.findall(r"^- `(\w+)`: ([\w, ]+)$", PAGE, re.MULTILINE))
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "evaluate.md").write_text("nonsense")
    settings = Settings(bank=bank_path, project="app", log_level="info", prompts_dir=prompts)
    thought, scores = json.dumps({"reflection": "So."}), json.dumps({"scores": {"tone": 0.5}})
    answers = (thought, scores, UnreachableError("x:y", "it is down", "Start it"), "none", "none")
    with Scripted(*answers) as llm:
        async with Engine(settings, llm=llm, scorer=Broken()) as engine:
            await engine.should_reflect(confidence=0.1, run_id="r")
            await engine.reflect(**FAILED_RUN, criteria=["tone"])
            await engine.reflect(**FAILED_RUN, criteria=["tone"])  # found
            await engine.reflect(**{**FAILED_RUN, "task": "Another"}, criteria=["tone"])
            await engine.reflect(task="t", outcome="success", decision={})
    async with Engine(settings) as engine:
        await engine.critique(goal="Add", response="2 + 2 = 4")
        await engine.replan(user_message="find it", queries=[{"table": "t", "query_text": "it"}])
        stored = await engine.store_lesson(**LESSON)
        await engine.recall(task="get the orders of a customer")
        await engine.record_outcome(success=True, lesson_ids=[stored.lesson_id])
        await engine.forget_lesson(lesson_id=stored.lesson_id, reason="wrong")
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    keys = {
        line["event"]: ", ".join(key for key in line if key not in ("event", "level", "timestamp"))
        for line in lines
    }
    dreams = {"dream_finished", "dream_failed", "dream_undone"}
    elsewhere = {"setting_unknown", "tool_failed", *dreams}  # the server's, and what no call starts
    assert {name: sorted(found.split(", ")) for name, found in keys.items()} == {
        name: sorted(found.split(", ")) for name, found in told.items() if name not in elsewhere
    }


NAMES = "Engine InputError Lesson Reflection Settings"
ENGINE = "settings llm embedder store scorer clock reflection_bank_size tenant_id scopes"
METHODS = """
after_call(tool arguments result error session project)
before_call(tool arguments session call_id project)
build_improvement_prompt(goal steps critique tool_results)
build_reflection_prompt(**arguments)
call(tool arguments client on_cut)
close()
critique(on_start on_complete on_text **arguments)
critique_stream(**arguments)
dream(plan_only analysis)
edit_lesson(lesson_id changes by seen)
end_session(session)
enhance_reasoning(query steps **arguments)
forget_lesson(**arguments)
generate_reflection(context **arguments)
get_relevant_lessons(task **arguments)
get_stats()
import_lessons(lines)
open()
parse_reflection(text event_ids)
query_reflections(query_text k min_importance tags)
recall(**arguments)
record_lesson_outcome(lesson_id success **arguments)
record_outcome(**arguments)
reflect(**arguments)
replan(**arguments)
reset_step_counts(run_id)
should_reflect(**arguments)
store_lesson(**arguments)
store_reflection(generated)
undo_dream(dream_id by)
use(scopes)
"""


def parameters(function: object) -> str:
    """The names of a function's parameters, without `self`."""
    assert callable(function)
    given = inspect.signature(function).parameters.values()
    names = (f"**{one.name}" if one.kind is one.VAR_KEYWORD else one.name for one in given)
    return " ".join(name for name in names if name != "self")


def test_the_package_offers_these_names() -> None:
    assert " ".join(mcp_reflect.__all__) == NAMES
    assert all(getattr(mcp_reflect, name) for name in mcp_reflect.__all__)


def test_the_engine_has_these_methods_with_these_parameters() -> None:
    methods = [
        f"{name}({parameters(getattr(Engine, name))})"
        for name in dir(Engine)
        if not name.startswith("_")
    ]
    assert parameters(Engine) == ENGINE
    assert sorted(methods) == METHODS.split("\n")[1:-1]


def test_each_listed_tool_has_its_function() -> None:
    assert {tool["name"] for tool in tools()} == TOOL_FUNCTIONS.keys()
    assert all(inspect.iscoroutinefunction(function()) for function in TOOL_FUNCTIONS.values())
