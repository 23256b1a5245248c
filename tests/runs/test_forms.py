"""Forms of calls and signatures: dress and the day do not count, what a call does counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.models.common import Json
from mcp_reflect.runs.known_failures import drops_quotes, forms_of
from mcp_reflect.signature import CALL_LIMIT, ERROR_LIMIT, fingerprint, normalized_call, signature

SAME_COMMAND = [
    ("git push --force origin main", "git  push origin main --force"),
    ("pytest -q -x tests", "pytest -x -q tests 2>&1 | tail -20"),
    ("cd app && npm run build", "cd app; npm run build"),
    ("git commit -m 'a b'", 'git commit -m "a b"'),
    ("ls > /dev/null", "ls"),
    ("head -n 5 -q a.txt", "head -q -n 5 a.txt"),
    ("/usr/bin/python3 -m pytest", "python3 -m pytest"),
]
OTHER_COMMAND = [
    ("sudo apt install jq", "apt install jq"),
    ("PYTHONPATH=src pytest", "pytest"),
    ("cp a b", "cp b a"),
    ("cd app && npm test", "npm test"),
    ("git push origin main", "git pull origin main"),
    ("grep 'a b' f", "grep a b f"),
    ("make > build.log", "make"),
]


@pytest.mark.parametrize(("first", "second"), SAME_COMMAND)
def test_commands_that_do_the_same_are_one(first: str, second: str) -> None:
    assert _shell(first).exact == _shell(second).exact


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("python -m pytest", "python -m pytest -q"),
        ("git log", "git log -3"),
        ("apt install jq", "apt -qq install jq"),
        ("git -C app log", "git -C lib log"),
    ],
)
def test_the_head_of_a_command_is_its_program_and_what_it_does(first: str, second: str) -> None:
    assert _shell(first).head == _shell(second).head


@pytest.mark.parametrize(("first", "second"), OTHER_COMMAND)
def test_commands_that_do_something_else_are_two(first: str, second: str) -> None:
    assert _shell(first).exact != _shell(second).exact


def test_every_host_s_shell_is_one_shell() -> None:
    claude = forms_of("Bash", {"command": "npm run build", "description": "Build it", "timeout": 60000})
    codex = forms_of("shell", {"command": ["bash", "-lc", "npm run build"]})
    gemini = forms_of("run_shell_command", {"command": "npm run build", "description": "x"})
    assert claude == codex == gemini
    assert claude.head == "shell:npm run build"


@pytest.mark.parametrize(
    ("tool", "first", "second"),
    [
        ("Bash", {"command": "ls", "timeout": 10}, {"command": "ls"}),
        ("search", {"query": "Nick Park"}, {"query": " Nick  Park"}),
        ("fetch", {"b": 1, "a": [2]}, {"a": [2], "b": 1}),
    ],
)
def test_calls_that_differ_in_dress_have_one_exact_form(tool: str, first: Json, second: Json) -> None:
    assert forms_of(tool, first).exact == forms_of(tool, second).exact


def test_quotation_marks_are_dress_only_where_they_are_added() -> None:
    quoted, plain = forms_of("search", {"query": '"Nick Park"'}), forms_of("search", {"query": "Nick Park"})
    assert quoted.bare == plain.bare
    assert drops_quotes(plain, quoted)
    assert not drops_quotes(quoted, plain)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("/tmp/tmpa1/x.py", "/tmp/tmpb2/y.py"),  # noqa: S108 - a path in a text
        ("http://localhost:8000/a", "http://localhost:9123/a"),
        ("2024-05-01", "2025-11-30"),
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "7c9e6679-7425-40de-944b-e07fc1f90ae7"),
    ],
)
def test_what_differs_from_day_to_day_is_left_out_of_the_loose_form_alone(first: str, second: str) -> None:
    one, two = forms_of("Bash", {"command": f"run {first}"}), forms_of("Bash", {"command": f"run {second}"})
    assert one.loose == two.loose
    assert one.exact != two.exact


def test_edits_are_of_their_file() -> None:
    assert forms_of("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}).head == "edit:a.py"


@given(st.text(max_size=300))
def test_any_command_has_forms_and_the_same_ones_again(command: str) -> None:
    assert _shell(command) == _shell(command)
    assert len(_shell(command).loose) <= 2_000


def _shell(command: str):  # noqa: ANN202 - the type is `forms_of`'s
    return forms_of("Bash", {"command": command})


def test_a_command_of_a_continued_line_alone_has_forms() -> None:
    assert forms_of("bash", {"command": "\\\n"}).head == "shell:"


@pytest.mark.parametrize(
    ("first", "second"),
    [({"limit": 10}, {"limit": 100}), ({"q": "cats"}, {"q": "dogs"}), ({"path": "src/a.py"}, {"path": "src/b.py"})],
)
def test_calls_that_differ_in_what_they_ask_are_two(first: Json, second: Json) -> None:
    assert normalized_call("fetch", first) != normalized_call("fetch", second)


def test_a_fingerprint_leaves_out_numbers_paths_and_times() -> None:
    first = fingerprint("[Errno 2] No such file or directory: '/home/ada/a.csv' at 2024-05-01 10:00:01")
    assert first == fingerprint("[Errno 2] No such file or directory: '/srv/b/c.csv' at 2025-01-31 23:59:59")
    assert first != fingerprint("[Errno 13] Permission denied: '/home/ada/a.csv'")


def test_long_calls_and_errors_are_bounded_and_still_told_apart() -> None:
    one, two = (normalized_call("f", {"text": "x" * 5_000 + end}) for end in ("a", "b"))
    assert len(one) <= CALL_LIMIT
    assert one != two
    assert len(fingerprint("word " * 1_000)) <= ERROR_LIMIT


def test_a_signature_is_sixteen_hex_digits_and_stays_the_same() -> None:
    made = signature("Fetch", normalized_call("Fetch", {"a": 1}), fingerprint("HTTP 500"))
    assert made == signature("fetch", normalized_call("fetch", {"a": 1}), fingerprint("HTTP 502"))
    assert len(made) == 16
    assert int(made, 16) >= 0
