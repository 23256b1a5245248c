"""A variable is known where every way through the script gives it one value; a guard sees each value that it may have."""

import pytest

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import parse_guard
from mcp_reflect.guards.matching import matches
from mcp_reflect.shell import Command, read_script

GUARD = parse_guard("Bash: `git push` with `--force`")


def last_run(text: str) -> Command:
    return next(one for one in reversed(read_script(text).commands) if one.program == "run")


@pytest.mark.parametrize(
    "text",
    [
        # arguments
        "set -- a b; shift $n; run $1",
        "shift; run $1",
        "set -- a b; while x; do shift; done; run $1",
        "set -- a; set $(ls); run $1",
        "set -- a; if x; then shift; fi; run $1",
        "set -- a; for f in x y; do set -- $f; done; run $1",
        # shells of their own
        "(x=a); run $x",
        "x=a; (x=b); y=$(x=c); (x=$y); (run) ; unset_not=1; x=$z; run $x",
        "x=a & run $x",
        "x=a | cat; run $x",
        "export x=a | cat; run $x",
        "echo $(x=a); run $x",
        "diff <(x=a) b; run $x",
        "bash -c 'x=a'; run $x",
        "x=a; bash -c 'run $x'",
        "x=a; echo 'run $x' | sh",
        "export x=a; ssh host 'run $x'",
        "export x=a; sudo bash -c 'run $x'",
        "export x=a; docker exec web sh -c 'run $x'",
        "x=a; export -n x; bash -c 'run $x'",
        "set -- a; bash -c 'run $1'",
        # arithmetic and commands of the shell that set
        "i=1; ((i++)); run $i",
        "i=1; ((i += 2)); run $i",
        "i=1; : $((i++)); run $i",
        "i=1; let i++; run $i",
        "i=1; let 'i = 5'; run $i",
        "x=a; read x; run $x",
        "x=a; read -r -p 'which? ' y x; run $x",
        "x=a; mapfile -t x < f; run $x",
        "x=a; printf -v x %s b; run $x",
        "x=a; while getopts ab x; do y; done; run $x",
        "declare -i x=1+1; run $x",
        "y=b; declare -n x=y; run $x",
        "declare -u x=abc; run $x",
        "declare -i x=2; x=(m n); run $x",
        "declare -l x; if y; then x=A; fi; x=B; run $x",
        "(declare -i x); typeset -u x; x=a; run $x",
        "local x=a; run $x",
        "x=a; source ./env; run $x",
        "x=a; . ./env; run $x",
        'x=a; eval "$(make-env)"; run $x',
        "x=a; trap 'run $x' EXIT; x=b",
        "RANDOM=1; run $RANDOM",
        "PWD=/a; cd b; run $PWD",
        # branches and loops
        "if y; then x=a; fi; run $x",
        "x=a; if y; then x=b; else x=c; fi; run $x",
        "x=a; y && x=b; run $x",
        "x=a; y || x=b; run $x",
        "case $y in 1) x=a;; *) x=b;; esac; run $x",
        "x=a; while y; do run $x; x=b; done",
        "for x in a b; do y; done; run $x",
        "for x in *.py; do run $x; done",
        "x=1; for ((x=0; x<3; x++)); do run $x; done",
        "x=a; until y; do read x; done; run $x",
        "x=a; f() { x=b; }; if y; then f; fi; run $x",
        "x=a; f() { x=$1; }; while y; do run $x; f b; done",
        "x=a; for f in 1 2; do unset x; done; run $x",
        # functions
        "f() { local x=a; }; f; run $x",
        "f() { run $1; }; f $y",
        "x=a; x[0]=b; run $x",
        "IFS=,; x=a,b; run $x",
        "x=1 y; run $x",
        ": ${x:=a}; run $x",
        "x=a; f() { run $x; }; x=$(b); f",
    ],
)
def test_what_may_be_another_value_is_not_known(text: str) -> None:
    command = last_run(text)
    assert command.unknown == frozenset(range(1, len(command.words)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("set -- a b; shift; run $1 $2", "run b"),
        ("set -- a b c; shift 2; run $@", "run c"),
        ("set a b; run $2", "run b"),
        ("x=a; (x=b); run $x", "run a"),
        ("x=a; x=b | cat; run $x", "run a"),
        ("x=a; y=$(x=b); run $x", "run a"),
        ("x=a; bash -c 'x=b'; run $x", "run a"),
        ("export x=a; bash -c 'run $x'", "run a"),
        ("x=a bash -c 'run $x'", "run a"),
        ("set -a; x=a; sh -c 'run $x'", "run a"),
        ("bash -c 'run $1 $0' b a", "run a b"),
        ("x=a; eval 'x=b'; run $x", "run b"),
        ("x=a; unset x; run $x c", "run c"),
        ("x=a && cd b && run $x", "run a"),
        ("x=a; if y; then x=b; run $x; fi", "run b"),
        ("x=a; if y; then x=a; fi; run $x", "run a"),
        ("x=a; while y; do run $x; done", "run a"),
        ("for x in a; do run $x; done", "run a"),
        ("f() { local x=b; x=c; }; x=a; f; run $x", "run a"),
        ("f() { x=b; }; x=a; f; run $x", "run b"),
        ("f() { shift; run $1; }; f a b", "run b"),
        ("f() { set -- z; }; set -- a; f; run $1", "run a"),
        ("x=(a b); x+=(c); run ${x[@]}", "run a b c"),
        ('x=(); run "${x[@]}" c', "run c"),
        ("x=(a b); run $x", "run a"),
        ("x=; run ${x:-a} ${x:+b}", "run a"),
        ("x=c; run ${x:-a} ${x:+b}", "run c b"),
        ("x=a; x+=b; run $x", "run ab"),
    ],
)
def test_what_is_certain_is_known(text: str, words: str) -> None:
    command = last_run(text)
    assert " ".join(command.words) == words
    assert not command.unknown


@pytest.mark.parametrize(
    "text",
    [
        "x=; if y; then x=--force; fi; git push $x",
        "x=-q; y && x=--force; git push $x",
        "case $y in 1) x=--force;; *) x=-q;; esac; git push $x",
        "for x in a --force; do git push $x; done",
        "x=-q; while y; do git push $x; x=--force; done",
        "x=-q; for i in 1 2; do git push $x; x='-v --force'; done",
        'a=(main); if y; then a+=(--force); fi; git push "${a[@]}"',
        "if y; then g=git; else g=hub; fi; $g push --force",
        "x=--force; source ./env; git push $x",
        'x=--force; read -t 1 y; eval "$(z)"; git push $x',
        "f() { git push $1; }; for x in -q --force; do f $x; done",
        "for c in 'git status' 'git push --force'; do bash -c \"$c\"; done",
        "for c in 'git status' 'git push --force'; do $c; done",
        "git push ${x:---force}",
        "git push ${x:+--force}",
        "${g:-git} push --force",
        ": ${x:=--force}; git push $x",
        "if y; then p() { git push --force; }; else p() { ls; }; fi; p",
        "x=-q; if y; then x=--force; fi; f() { git push $x; }; f",
        "set -- -q; if y; then set -- --force; fi; git push $1",
        "x='git push'; for y in 1 2; do x=\"$x\"; done; $x --force",
        "x=--force; trap 'git push $x' EXIT",
        "x=--force; x=$x | cat; (git push $x)",
    ],
)
def test_a_guard_meets_each_value_that_a_variable_may_have(text: str) -> None:
    assert matches(GUARD, Call("Bash", {"command": text}))


@pytest.mark.parametrize(
    "text",
    [
        "x=--force; x=-q; git push $x",
        "for x in a b; do git push $x; done; echo --force",
        "(x=--force); git push $x",
        "x=--force; unset x; git push $x",
        "x=--force; bash -c 'git push $x'",
        "f() { local x=--force; }; f; git push $x",
        "git push $x",
        "if y; then x=--force; x=-q; fi; git push $x",
    ],
)
def test_a_guard_meets_no_value_that_a_variable_cannot_have(text: str) -> None:
    assert not matches(GUARD, Call("Bash", {"command": text}))


def test_values_that_multiply_stay_within_the_bounds() -> None:
    names = [f"a{number}" for number in range(12)]
    setting = "\n".join(f"for {name} in 1 2 3 4 5 6 7 8; do :; done" for name in names)
    used = " ".join(f"${name}" for name in names)
    script = read_script(f"{setting}\n" + f"run {used}\n" * 50)
    assert not script.is_partial
    assert len(script.commands) + len(script.possible) <= 2_000
