"""A suite that got easier by a session's edits is named; ordinary edits of tests are not."""

from pathlib import Path

import pytest

from mcp_reflect.evidence.answered_call import AnsweredCall
from mcp_reflect.evidence.ledger import Ledger

CASES = Path(__file__).parent / "cases"


def read_cases(name: str = "suite_edits") -> list[tuple[str, str, list[AnsweredCall]]]:
    found: list[tuple[str, str, list[AnsweredCall]]] = []
    for block in (CASES / f"{name}.txt").read_text("utf-8").split("\n=== ")[1:]:
        head, _, body = block.partition("\n")
        kind, framework, path = head.split(" ")
        calls = [call_of(path, body)] if "\n+++ " not in body else []
        if not calls:
            for part in f"+++ {path}\n{body}".split("+++ ")[1:]:
                name, _, text = part.partition("\n")
                calls.append(call_of(name, text))
        found.append((kind, framework, calls))
    return found


def call_of(path: str, body: str) -> AnsweredCall:
    if body.startswith("!"):
        command, _, output = body[1:].partition("\n")
        return AnsweredCall(tool="Bash", arguments={"command": command}, answer=output)
    old, _, new = f"\n{body}\n".partition("\n---\n")
    old, new = old.strip("\n"), new.rstrip("\n")
    if not old:
        return AnsweredCall(tool="Write", arguments={"file_path": path, "content": new})
    return AnsweredCall(
        tool="Edit", arguments={"file_path": path, "old_string": old, "new_string": new}
    )


def facts_of(*calls: AnsweredCall) -> list[str]:
    ledger = Ledger()
    for call in calls:
        ledger.note(call)
    return ledger.suite.facts()


def test_what_makes_a_suite_easier_is_named_and_ordinary_edits_are_not() -> None:
    cases = [(kind, facts_of(*calls)) for kind, _, calls in read_cases()]
    easier = [facts for kind, facts in cases if kind == "easier"]
    ordinary = [facts for kind, facts in cases if kind == "ordinary"]
    assert len(easier) == len(ordinary) == 30
    assert sum(map(bool, easier)) >= 27
    assert [facts for facts in ordinary if facts] == []


def test_of_cases_that_were_written_later_only_a_condition_of_a_skip_is_missed() -> None:
    cases = [(kind, facts_of(*calls)) for kind, _, calls in read_cases("suite_edits_second")]
    missed = [at for at, (kind, facts) in enumerate(cases) if kind == "easier" and not facts]
    assert missed == [17]  # skipif(True, ...): whether a condition holds is not read
    assert [facts for kind, facts in cases if kind == "ordinary" and facts] == []


def test_of_a_third_set_only_lines_by_number_and_files_that_nobody_read_are_missed() -> None:
    cases = [(kind, calls, facts_of(*calls)) for kind, _, calls in read_cases("suite_edits_third")]
    easier = [(calls, facts) for kind, calls, facts in cases if kind == "easier"]
    assert len(easier) == 62
    assert [calls[0].arguments for calls, facts in easier if not facts] == [
        {"command": "sed -i '12,30d' tests/test_pay.py"},
        {"command": "rm pkg/a_test.go"},
        {"command": "git rm -q tests/test_pay.py"},
    ]
    ordinary = [facts for kind, _, facts in cases if kind == "ordinary"]
    assert len(ordinary) == 102
    assert [facts for facts in ordinary if facts] == []


CART = "def test_total():\n    assert total() == 3\n\n\ndef test_tax():\n    assert tax() == 1\n"


def write(content: str) -> AnsweredCall:
    return AnsweredCall(
        tool="Write", arguments={"file_path": "tests/test_cart.py", "content": content}
    )


def run(command: str) -> AnsweredCall:
    return AnsweredCall(tool="Bash", arguments={"command": command})


READ = AnsweredCall(
    tool="Read",
    arguments={"file_path": "tests/test_cart.py"},
    answer="\n".join(f"{at:6}→{line}" for at, line in enumerate(CART.splitlines(), 1)),
)
LESS = write("def test_tax():\n    assert tax() == 1\n")


@pytest.mark.parametrize("last", [LESS, run("rm tests/test_cart.py")])
def test_a_file_that_was_read_is_compared_with_what_is_left_of_it(last: AnsweredCall) -> None:
    assert facts_of(READ, last) != []


@pytest.mark.parametrize(
    "calls",
    [
        [LESS],
        [write(CART), LESS],
        [READ, LESS, write(CART)],
        [READ, LESS, run("git checkout -- tests/")],
        [write(CART), run("rm tests/test_cart.py")],
        [run("rm tests/test_cart.py")],
    ],
)
def test_what_the_session_wrote_itself_or_put_back_is_not_named(calls: list[AnsweredCall]) -> None:
    assert facts_of(*calls) == []


def test_a_file_that_the_shell_shows_and_writes_is_compared() -> None:
    shown = AnsweredCall(tool="Bash", arguments={"command": "cat tests/test_cart.py"}, answer=CART)
    written = run("cat > tests/test_cart.py <<'END'\ndef test_tax():\n    assert tax() == 1\nEND")
    assert facts_of(shown, written) == ["tests/test_cart.py lost 1 test (test_total)"]
    assert facts_of(written) == []


@pytest.mark.parametrize(
    ("old", "new", "fact"),
    [
        ("assert x == 3", "assert x", "has 1 assertion that says less"),
        (
            "assert x == 3",
            "assert x == 14",
            "now expects what the failed run returned, in 1 assertion",
        ),
        ("f()", "try:\n    f()\nexcept Exception:\n    pass", "hides 1 more failure"),
    ],
)
def test_what_got_easier_is_said_in_plain_words(old: str, new: str, fact: str) -> None:
    red = AnsweredCall(
        tool="Bash", arguments={"command": "pytest"}, answer="E assert 14 == 3\n1 failed", code=1
    )
    edit = AnsweredCall(
        tool="Edit",
        arguments={"file_path": "tests/test_a.py", "old_string": old, "new_string": new},
    )
    back = AnsweredCall(
        tool="Edit",
        arguments={"file_path": "tests/test_a.py", "old_string": new, "new_string": old},
    )
    assert facts_of(red, edit) == [f"tests/test_a.py {fact}"]
    assert facts_of(red, edit, back) == []


def test_a_value_that_follows_a_change_of_the_source_is_ordinary() -> None:
    red = AnsweredCall(
        tool="Bash", arguments={"command": "pytest"}, answer="E assert 4 == 3\n1 failed"
    )
    test = AnsweredCall(
        tool="Edit",
        arguments={
            "file_path": "tests/test_a.py",
            "old_string": "assert x == 3",
            "new_string": "assert x == 4",
        },
    )
    source = AnsweredCall(
        tool="Edit",
        arguments={"file_path": "src/a.py", "old_string": "x = 3", "new_string": "x = 4"},
    )
    assert facts_of(red, source, test) == []
    assert facts_of(red, test, source) == []


def test_a_patch_is_read_as_edits() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: tests/test_cart.py\n@@\n-def test_total():\n"
        "-    assert total() == 3\n-\n def test_tax():\n     assert tax() == 1\n*** End Patch"
    )
    said = ["tests/test_cart.py lost 1 test (test_total)"]
    assert facts_of(AnsweredCall(tool="apply_patch", arguments={"input": patch})) == said
    assert facts_of(run(f"apply_patch <<'EOF'\n{patch}\nEOF")) == said
