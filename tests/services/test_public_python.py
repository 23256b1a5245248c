"""The names that Python programs rest on: a change of one is made on purpose, and told in CHANGELOG.md."""

import inspect

import mcp_reflect
from mcp_reflect import Engine
from mcp_reflect.server.service import tools
from mcp_reflect.services.engine import TOOLS

NAMES = "Engine InputError Lesson Reflection Settings"
ENGINE = "settings llm embedder store scorer clock reflection_bank_size tenant_id scopes"
METHODS = """
after_call(tool arguments result error session project)
before_call(tool arguments session call_id project)
build_improvement_prompt(goal steps critique tool_results)
build_reflection_prompt(**arguments)
call(tool arguments client)
close()
critique(on_start on_complete on_text **arguments)
critique_stream(**arguments)
dream(plan_only analysis)
edit_lesson(lesson_id changes)
end_session(session)
enhance_reasoning(query steps **arguments)
forget_lesson(**arguments)
generate_reflection(**arguments)
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
undo_dream(dream_id)
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
    methods = [f"{name}({parameters(getattr(Engine, name))})" for name in vars(Engine) if not name.startswith("_")]
    assert parameters(Engine) == ENGINE
    assert sorted(methods) == METHODS.split("\n")[1:-1]


def test_each_listed_tool_has_its_function() -> None:
    assert {tool["name"] for tool in tools()} == TOOLS.keys()
    assert all(inspect.iscoroutinefunction(function()) for function in TOOLS.values())
