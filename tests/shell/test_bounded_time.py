"""Whatever a command repeats, its reading ends within a bounded time of the processor: it is read, or given up."""

import time

import pytest

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import parse_guard
from mcp_reflect.guards.matching import may_be_met
from mcp_reflect.shell import read_script

_CHARS = 40_000
_MOST_SECONDS = (
    1  # it takes at most half of it on a busy machine; without the bounds it took 1.2 to 15
)
_GUARD = parse_guard("Bash: `git push` with `-f`")

_PAIRS = {
    "${x:-": "}",
    "${x/": "}",
    "${x[": "]}",
    '"${x:-': '}"',
    "$(": ")",
    '"$(': ')"',
    "$((": "))",
    "$[": "]",
    "((": "))",
    "(": ")",
    "{ ": "; }",
    "[[ ": " ]]",
    "<(": ")",
    ">(": ")",
    "a=(": ")",
    "a[": "]",
    "{a,": "}",
    "@(": ")",
    "if a; then ": "; fi",
    "while a; do ": "; done",
    "for a in b; do ": "; done",
    "case a in a) ": " ;; esac",
    "f() { ": "; }",
}
_ALONE = [
    *("`", "'", '"', "$'", "\\", "\\\n", "#", "\0", "\x01", "\x1b", "\t", "\r", "\n", "é"),
    *("<<A ", "<<A\n", "cat <<A\n$(\n", "<<<a ", ">a ", "2>&1 ", ">", "<", "<<", ">>"),
    *("a | ", "a && ", "a || ", "a; ", "a & ", "|", "||", "&&", ";;", "! ", "a=b ", "a=$"),
    *("$a$b", "$!", "$", "a{", "{1..", ")", "}", "]", "))", "a ", "a", "*", "~", "&"),
]


@pytest.mark.parametrize(
    "opener",
    [*_PAIRS, *(pytest.param(opener, marks=pytest.mark.long) for opener in _ALONE)],
    ids=ascii,
)
def test_a_reading_ends_in_time(opener: str) -> None:
    assert _seconds_of_reading("git push -f " + (opener * _CHARS)[:_CHARS]) < _MOST_SECONDS


@pytest.mark.long
@pytest.mark.parametrize("opener", _PAIRS, ids=ascii)
def test_a_reading_of_what_is_closed_ends_in_time(opener: str) -> None:
    closer = _PAIRS[opener]
    count = _CHARS // len(opener + closer)
    for text in (
        "git push -f " + opener * count + closer * count,
        "ls\n" + opener * count + "a" + closer * count,
        (opener + "a" + closer) * (_CHARS // len(opener + "a" + closer)),
    ):
        assert _seconds_of_reading(text) < _MOST_SECONDS, text[:40]


def _seconds_of_reading(text: str) -> float:
    began = time.thread_time()
    read_script(text)
    return time.thread_time() - began


@pytest.mark.parametrize(
    "rest",
    [
        "${x:-" * 4_000 + "}" * 4_000,
        "${x:-" * 100 + "}" * 100,
        "$(" * 50 + ")" * 50,
        "\0" * 60_000,
        "origin\0",
        ">a " * 300,
    ],
    ids=["many levels", "100 levels", "substitutions", "NULs", "one NUL", "redirections"],
)
def test_a_guard_holds_what_was_given_up(rest: str) -> None:
    call = Call("Bash", {"command": f"git push -f {rest}"})
    assert call.script.is_partial
    assert may_be_met(_GUARD, call)


def test_a_nul_within_a_name_hides_it_from_no_guard() -> None:
    assert may_be_met(_GUARD, Call("Bash", {"command": "gi\0t push -f"}))


@pytest.mark.parametrize("levels", [1, 5, 30])
def test_levels_within_the_bound_are_read(levels: int) -> None:
    value = "${x:-" * levels + "a" + "}" * levels
    script = read_script(f'git push "{value}" {value}')
    assert not script.is_partial
    assert script.commands[0].words[:2] == ("git", "push")
