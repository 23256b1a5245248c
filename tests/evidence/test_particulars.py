"""An output is named for a claim where a line of it has what the claim is on in particular."""

import pytest

from mcp_reflect.evidence.digest import Outputs
from mcp_reflect.evidence.work import statements_of
from mcp_reflect.models.critique import ToolResult

NOISE = tuple(
    ToolResult(
        tool=f"cat part{number}.py", content=f"log part {number}\nread items\nstyle {number}"
    )
    for number in range(30)
)
STYLES = ToolResult(
    tool="cat charts.css",
    content="\n".join(
        line
        for number in range(40)
        for line in (f"/* chart-view part {number}: headers */", f".chart-view .row{number} {{}}")
    ),
)
RETRY = ToolResult(
    tool="cat client.py",
    content="\n".join(f"value_{number} = {number}" for number in range(40))
    + "\n# exponential backoff after a timeout\nTIMEOUT_S = 45",
)
LAST = ToolResult(tool="cat end.py", content="\n".join(f"end_{n} = {n}" for n in range(40)))


@pytest.mark.parametrize(
    ("claim", "result"),
    [
        ("The chart-view library renders its legends by itself.", STYLES),
        ("The items are read with a log of every part that was styled.", NOISE[0]),
    ],
)
def test_no_output_is_named_for_words_that_many_lines_have(claim: str, result: ToolResult) -> None:
    digest = Outputs([*NOISE, result, LAST]).digest(statements_of([claim]).claims)
    assert not digest.places


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        ("`TIMEOUT_S` is set for each call.", "TIMEOUT_S = 45"),
        ("It uses an exponential backoff.", "# exponential backoff after a timeout"),
    ],
)
def test_an_output_is_named_for_a_quoted_name_or_two_rare_words(claim: str, line: str) -> None:
    digest = Outputs([*NOISE, RETRY, LAST]).digest(statements_of([claim]).claims)
    assert digest.places == {1: (1,)}
    assert line in digest.deciding[0].lines
