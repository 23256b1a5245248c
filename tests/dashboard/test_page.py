"""The page itself: one file that loads nothing, runs nothing but its own script, and keeps hostile text as text."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.dashboard.page import ASSETS, SCRIPTS, STYLES, VENDORED, Mode, collect, render_page, script_json
from mcp_reflect.services.engine import Engine
from tests.dashboard.pages import Context, records

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "]]> & &lt;img src=x onerror=alert(1)>",
    "line\u2028separator\u2029paragraph",
    "${alert(1)} `$data` $policy",
    "\"'\\u003c/script\\u003e\\",
)


def hash_of(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


@pytest.mark.parametrize("mode", ["written", "served", "app"])
def test_a_page_may_run_its_own_script_and_style_and_nothing_else(mode: Mode) -> None:
    made = render_page(mode, {"lessons": []})
    parts = Context(made.html)
    allowed = parts.policy
    assert allowed["default-src"] == ["'none'"]
    assert allowed["script-src"] == [hash_of(parts.texts["script"][1])]
    assert allowed["style-src"] == [hash_of(parts.texts["style"][0])]
    assert allowed["base-uri"] == allowed["form-action"] == ["'none'"]
    assert ("connect-src" in allowed) == (mode == "served")
    assert set(allowed) <= {
        *("default-src", "connect-src", "img-src", "script-src", "style-src", "base-uri", "form-action"),
    }


def test_a_page_loads_nothing() -> None:
    parts = Context(render_page("written", None).html)
    sources = [
        value for _, attributes in parts.elements for name, value in attributes.items() if name in ("src", "href")
    ]
    assert sources == ["data:,"]
    assert not [
        name for _, attributes in parts.elements for name in attributes if name.startswith("on") or name == "style"
    ]


def test_the_own_scripts_write_text_and_never_markup() -> None:
    for name in SCRIPTS:
        text = (ASSETS / name).read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|\bstyle=", text
        ), name


def test_every_asset_is_in_the_page_and_short() -> None:
    found = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in ASSETS.iterdir()}
    assert set(found) == {*SCRIPTS, *STYLES, "page.html"}
    assert {name: lines for name, lines in found.items() if lines > 300} == {}


@pytest.mark.parametrize("text", HOSTILE)
async def test_a_hostile_lesson_is_data_in_the_page(engine: Engine, text: str) -> None:
    stored = await engine.store_lesson(mistake=f"Saw {text} once", correction="Leave it be", tags=["<b>"])
    made = Context(render_page("written", await collect(engine)).html)
    assert len(made.texts["script"]) == 2
    assert made.texts["script"][1] == Context(render_page("written", None).html).texts["script"][1]
    (lesson,) = records(made.data["lessons"])
    kept = await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)
    assert (lesson["mistake"], lesson["tags"]) == (kept.mistake, ["<b>"])


VALUES = st.recursive(
    st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)


@given(VALUES)
def test_no_text_ends_the_block_it_stands_in_and_all_come_out_as_they_were(value: object) -> None:
    text = script_json({"value": value})
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == {"value": value}


def test_half_a_character_is_still_json_that_can_be_written() -> None:
    text = script_json({"value": "\ud83d"})
    assert text.encode()
    assert json.loads(text) == {"value": "\ud83d"}


def test_the_vendored_library_is_the_one_that_is_written_down() -> None:
    described = json.loads((VENDORED / "VENDORED.json").read_text(encoding="utf-8"))
    inside = {path.name: path for path in VENDORED.iterdir() if path.name != "VENDORED.json"}
    assert set(inside) == set(described["files"])
    for name, path in inside.items():
        body = path.read_bytes()
        assert described["files"][name] == {"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    assert described["version"] in inside["uPlot.iife.min.js"].read_text(encoding="utf-8")[:200]
    assert described["licence"] in inside["LICENSE"].read_text(encoding="utf-8")


def test_only_the_vendor_folder_holds_what_others_wrote() -> None:
    root = Path(VENDORED).parent.parent
    assert [path for path in root.rglob("*.min.*") if "vendor" not in path.parts] == []
