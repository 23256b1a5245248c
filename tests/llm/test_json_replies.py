"""What the reader makes of replies, the schema that asks for one, and that no text makes it raise."""

import json
import subprocess
import sys
import time

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_reflect.llm.json_replies import as_mapping, objects_in, read_object
from mcp_reflect.llm.reply_schemas import is_closed, schema_of
from mcp_reflect.models.common import Json
from tests.llm.messy import CASES, Case

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
)
pieces = st.sampled_from(
    [
        *"{}[]\"'`a1:,\\#“”…=+()e-.\n\x00\ud800",
        "```",
        "```json\n",
        "<think>",
        "</think>",
        "//",
        "/*",
        "...",
        "true",
        '{"a":',
        '"""',
    ]
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_reply_is_read_as_a_careful_person_reads_it(case: Case) -> None:
    assert read_object(case.text, case.value.keys()) == case.value


@given(st.dictionaries(st.text("abc", min_size=1, max_size=4), values, min_size=1, max_size=4))
def test_what_json_writes_is_read_back_alone_in_prose_and_in_a_fence(
    value: dict[str, Json],
) -> None:
    written = json.dumps(value, indent=1)
    for text in (
        written,
        f"Here it is:\n{written}\nThat is it.",
        f"So:\n```json\n{written}\n```\nThat is {{it}}.",
    ):
        assert objects_in(text)[0] == value


@given(st.lists(pieces, max_size=60).map("".join) | st.text(max_size=200))
@settings(max_examples=150)
def test_no_text_makes_the_reader_raise(text: str) -> None:
    read_object(text, {"a"})


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000 + "]" * 10_000,
        '{"a":' * 10_000 + "1" + "}" * 10_000,
        "{'a':" * 10_000,
        "{" * 10_000,
        "[{" * 10_000,
        "<think>" * 10_000,
        "```json\n{" * 10_000,
        '{"a": "' + "x" * 3_000_000,
        "x" * 3_000_000,
        '{"a": "\ud800\x00", "b": \udfff}',
        '{"n": ' + "9" * 5_000 + "}",
    ],
    ids=lambda text: f"{text[:6]!r} {len(text)}",
)
def test_a_hostile_text_is_answered_within_seconds(text: str) -> None:
    started = time.process_time()
    read_object(text, {"a"})
    assert time.process_time() - started < 20


def test_the_object_with_the_expected_keys_is_preferred() -> None:
    text = 'I looked at {"tool": "grep", "n": 1}. {"reflection": "r", "strategy": "s"} And {"strategy": "x"}.'
    assert read_object(text, {"reflection", "strategy"}) == {"reflection": "r", "strategy": "s"}


def test_an_object_is_taken_out_of_its_wrapper() -> None:
    wanted = {"reflection": "r", "importance": 0.5}
    assert read_object(json.dumps({"analysis": wanted}), {"reflection"}) == wanted
    assert read_object(json.dumps([wanted]), {"reflection"}) == wanted
    assert read_object(json.dumps({"result": [wanted], "ok": True}), {"reflection"}) == wanted


def test_objects_are_listed_in_order() -> None:
    assert objects_in('a {"x": 1} b [{"y": 2}] c') == [{"x": 1}, {"y": 2}]


def test_reading_proper_json_does_not_load_the_repair_library() -> None:
    code = (
        "import sys; from mcp_reflect.schemas.analysis import read_analysis; import mcp_reflect.llm.prompts;"
        " read_analysis('{\"reflection\": \"r\"}'); sys.exit('json_repair' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_the_shape_of_a_template_becomes_a_closed_schema_with_its_hints() -> None:
    shape: dict[str, Json] = {
        "score": "number 0..1",
        "tags": ["string"],
        "fix": "string or null",
        "plain": "words",
    }
    assert schema_of({"score": "number 0..1", "inner": shape}) == {
        "type": "object",
        "properties": {
            "score": {"type": "number", "description": "0..1"},
            "inner": schema_of(shape),
        },
        "required": ["score", "inner"],
        "additionalProperties": False,
    }
    jsonschema.Draft202012Validator.check_schema(schema_of(shape))
    jsonschema.validate({"score": 0.5, "tags": ["a"], "fix": None, "plain": "x"}, schema_of(shape))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(
            {"score": 0.5, "tags": ["a"], "fix": None, "plain": "x", "more": 1}, schema_of(shape)
        )


def test_a_schema_with_free_names_at_any_depth_is_not_closed() -> None:
    assert is_closed(schema_of({"items": [{"score": "number"}], "fix": "string or null"}))
    assert not is_closed(schema_of({"filters": {}}))
    assert not is_closed(schema_of({"items": [{"filters": {}}]}))


@pytest.mark.parametrize("name", ["criterion", "name"])
def test_entries_by_criterion_become_an_object_and_an_object_stays(name: str) -> None:
    entry: dict[str, Json] = {name: "tone", "score": 0.7}
    assert as_mapping([entry, {"score": 1}, "odd"], "criterion") == {"tone": entry}
    assert as_mapping({"tone": 0.7}, "criterion") == {"tone": 0.7}
    assert as_mapping(None, "criterion") is None


@pytest.mark.parametrize("unit", ["(", "({", "(a", "(()", "{(", '{"a":(', "([", ")("])
def test_parentheses_over_and_over_are_read_at_once(unit: str) -> None:
    began = time.process_time()
    objects_in(unit * (19_000 // len(unit)))
    assert time.process_time() - began < 0.5
