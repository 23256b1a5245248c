"""Laws of changing JSON in place, over documents of any shape."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.cli.host_files import add_item, read_json, remove_items, remove_member, set_member

NAMES = st.text(max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=4)
INDENTS = st.sampled_from([None, 1, 2, "\t"])
PATH = ("servers", "ours")
OURS: dict[str, Any] = {"command": "/x", "args": ["a", {"b": 1}]}


def commented(text: str) -> str:
    """The document with a comment at the end of each line, and before it all."""
    return "/* { */\n" + "".join(f"{line} // , }} ] {number}\n" for number, line in enumerate(text.split("\n")))


@given(DOCUMENTS, INDENTS, st.booleans())
def test_what_is_put_in_can_be_taken_out_and_nothing_else_changes(
    doc: dict[str, Any], indent: Any, plain: bool
) -> None:
    doc.pop("servers", None)
    text = json.dumps(doc, indent=indent, ensure_ascii=False)
    text = text if plain else commented(text)
    put = set_member(text, PATH, OURS)
    assert read_json(put) == {**doc, "servers": {"ours": OURS}}
    assert set_member(put, PATH, OURS) == put
    taken = remove_member(put, PATH)
    assert read_json(taken) == doc
    assert read_json(taken) == read_json(text)
    if plain:
        assert json.loads(put) == read_json(put)
        assert json.loads(taken) == doc
    else:
        assert taken.count("//") >= text.count("//")


@given(DOCUMENTS, st.lists(VALUES, max_size=3), INDENTS, st.booleans())
def test_an_item_is_put_into_a_list_and_taken_out_again(
    doc: dict[str, Any], items: list[Any], indent: Any, plain: bool
) -> None:
    doc["hooks"] = {"before": items}
    text = json.dumps(doc, indent=indent, ensure_ascii=False)
    text = text if plain else commented(text)
    put = add_item(text, ("hooks", "before"), OURS)
    assert read_json(put)["hooks"]["before"] == [OURS, *items]
    taken = remove_items(put, ("hooks", "before"), lambda one: one == OURS)
    kept = [one for one in items if one != OURS]
    assert read_json(taken).get("hooks", {}).get("before", []) == kept


@given(DOCUMENTS, INDENTS)
def test_a_document_is_read_as_any_other_reader_reads_it(doc: dict[str, Any], indent: Any) -> None:
    text = json.dumps(doc, indent=indent)
    assert read_json(text) == json.loads(text)
    assert read_json(commented(text)) == json.loads(text)
