"""The reading of a script against bash itself, which runs it with a stub in place of each program."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_reflect.shell import read_script
from tools.shell_oracle import can_isolate, differences, is_straight, takes, traced

TEXT = Path(__file__).with_name("scripts.txt").read_text(encoding="utf-8")
SCRIPTS = TEXT.partition("\n")[2].split("\n---\n")

pytestmark = pytest.mark.skipif(
    not can_isolate(), reason="this machine gives no namespace of its own to a process"
)


@pytest.mark.parametrize("text", SCRIPTS)
def test_all_that_bash_runs_was_read(text: str) -> None:
    script = read_script(text)
    assert not script.is_partial
    ran = traced(text)
    assert ran
    assert list(differences(text, script, ran)) == []


def test_the_stubs_tell_words_order_and_branches() -> None:
    assert traced("a 'b c' | d; if e; then f; else g; fi") is not None
    assert traced("a 'b c'; d $(e)") == [["a", "b c"], ["e"], ["d"]]
    assert list(differences("a; b", read_script("a; b"), [["b"], ["a"]])) != []
    assert list(differences("a x", read_script("a x"), [["a", "y"]])) != []
    assert is_straight(read_script("a; b"))
    assert not is_straight(read_script("a && b"))


WORDS = st.sampled_from(
    [
        "p",
        "q r",
        "-x",
        "--flag=a",
        "$v",
        '"$v w"',
        "'s t'",
        "a\\ b",
        "$(c d)",
        "{e,f}",
        "g{1..2}h",
        '""',
        "$'i\\n'",
        "-",
    ]
)


def command_of(name: str, words: list[str]) -> str:
    return " ".join((name, *words))


COMMANDS = st.builds(
    command_of, st.sampled_from(["run", "tool", "make"]), st.lists(WORDS, max_size=3)
)
SCRIPT_TEXTS = st.recursive(
    COMMANDS,
    lambda inner: st.one_of(
        st.builds("{} ; {}".format, inner, inner),
        st.builds("{} && {}".format, inner, inner),
        st.builds("{} | {}".format, inner, inner),
        st.builds("( {} )".format, inner),
        st.builds("{{ {} ; }}".format, inner),
        st.builds("if {}; then {}; fi".format, inner, inner),
        st.builds("for i in 1 2; do {}; done".format, inner),
        st.builds("v='one two'; {}".format, inner),
        st.builds("f() {{ {}; }}; f".format, inner),
        st.builds("eval '{}'".format, st.sampled_from(["run a", "tool b; make c"])),
        st.builds("{}\n{}".format, inner, inner),
    ),
    max_leaves=6,
)


@given(text=SCRIPT_TEXTS)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
def test_random_scripts_are_read_as_bash_runs_them(text: str) -> None:
    script = read_script(text)
    if not takes(text):
        return
    assert not script.is_partial, text
    ran = traced(text)
    assert ran is not None
    assert list(differences(text, script, ran)) == [], text


SETTING = st.sampled_from(
    [
        "x=a",
        "x=$y",
        "x+=d",
        "(x=e)",
        "x=f | run p",
        "unset x",
        "set -- 1 2 3",
        "shift",
        "local x=l",
        "f 9",
        "eval 'x=g'",
        "((x++))",
        "let x=3",
        "x=(m n)",
        "read x <<< q",
        "y=$(x=z; echo r)",
        "printf -v x %s w",
        "x=i && y=j",
        "false && x=k",
        ": ${x:=dd}",
        "y=${y:-nn}",
        "IFS=,",
        "declare -i x=2+3",
        "f() { local x=L; y=$1; run in $x; }",
        "f() { x=F; }",
        "run $x",
        'run "$x" $1',
        'run $y "$@"',
    ]
)
VARIABLE_SCRIPTS = st.recursive(
    SETTING,
    lambda inner: st.one_of(
        st.builds("{}\n{}".format, inner, inner),
        st.builds(
            "if {}; then {}; else {}; fi".format, st.sampled_from(["true", "false"]), inner, inner
        ),
        st.builds("for x in 1 2; do {}; done".format, inner),
        st.builds("i=0; while (( i++ < 2 )); do {}; done".format, inner),
        st.builds("( {} )".format, inner),
        st.builds("{{ {}; }} | run z".format, inner),
        st.builds("case $x in a) {};; *) {};; esac".format, inner, inner),
        st.builds("g() {{ {}; }}; g A B".format, inner),
    ),
    max_leaves=8,
)


@given(text=VARIABLE_SCRIPTS)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
def test_no_value_is_taken_as_known_that_bash_does_not_have(text: str) -> None:
    text += '\nrun $x $y "$1"'
    if not takes(text):
        return
    script = read_script(text)
    assert not script.is_partial, text
    ran = traced(text)
    assert ran is not None
    assert list(differences(text, script, ran)) == [], text
