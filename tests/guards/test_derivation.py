"""A guard comes from a difference in the structure of two calls, and from nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.derivation import derive
from mcp_reflect.guards.guard import Guard
from mcp_reflect.guards.matching import matches

FOLDER = Path(__file__).with_name("cases")
# Written before the derivation: `silent` are lessons whose calls differ by a value or a bare program alone.
TWO_CALLS: list[dict[str, Any]] = [
    json.loads(line)
    for line in FOLDER.joinpath("two_calls.jsonl").read_text(encoding="utf-8").splitlines()
]
TEACHING = [lesson for lesson in TWO_CALLS if not lesson.get("silent")]
SILENT = [lesson for lesson in TWO_CALLS if lesson.get("silent")]
OLDER: list[dict[str, Any]] = [
    json.loads(line)
    for name in ("guards.jsonl", "other_programs.jsonl")
    for line in FOLDER.joinpath(name).read_text(encoding="utf-8").splitlines()
]
# Written before options with a value counted; these have both calls from somebody who chose them.
OPTIONS: list[dict[str, Any]] = [
    json.loads(line)
    for line in FOLDER.joinpath("valued_flags.jsonl").read_text(encoding="utf-8").splitlines()
]
NO_GUARD = {
    "yarn's global install is not on the path"
}  # another program, and another way to say what it does
# A call of another shape that follows, by the lesson: nothing in the two calls tells it.
ALIKE = {
    "aws s3 rm s3://bkp/one.txt",
    "Remove-Item notes.txt",
    "pre-commit run -a",  # the short form of the flag that was missing
}


def call_of(call: dict[str, Any] | str) -> Call:
    if isinstance(call, str):
        return Call("Bash", {"command": call})
    return Call(call["tool"], call["arguments"])


def derived(lesson: dict[str, Any], *, is_chosen: bool = False) -> Guard | None:
    wrong, right = call_of(lesson["against"][0]), call_of(lesson["follows"][0])
    return derive(wrong, right, is_chosen=is_chosen)


@pytest.mark.parametrize("lesson", TEACHING, ids=lambda lesson: lesson["mistake"][:40])
def test_a_difference_of_structure_meets_other_wrong_calls_and_no_right_one(
    lesson: dict[str, Any],
) -> None:
    guard = derived(lesson)
    assert (guard is None) == (lesson["mistake"] in NO_GUARD)
    if guard is not None:
        assert all(matches(guard, call_of(call)) for call in lesson["against"])
        assert not any(matches(guard, call_of(call)) for call in lesson["follows"])


@pytest.mark.parametrize("lesson", SILENT, ids=lambda lesson: lesson["mistake"][:40])
def test_a_value_a_bare_program_or_an_order_gives_no_guard(lesson: dict[str, Any]) -> None:
    assert derived(lesson) is None


@pytest.mark.parametrize("lesson", OPTIONS, ids=lambda lesson: lesson["correction"][:40])
def test_a_missing_option_gives_a_guard_where_somebody_chose_the_two_calls(
    lesson: dict[str, Any],
) -> None:
    assert derived(lesson) is None  # only seen one after the other, it may be a value of the task
    guard = derived(lesson, is_chosen=True)
    assert (guard is None) == lesson.get("silent", False)
    if guard is not None:
        assert all(matches(guard, call_of(call)) for call in lesson["against"])
        assert not any(matches(guard, call_of(call)) for call in lesson["follows"])


def test_calls_that_follow_a_lesson_are_not_met_but_for_those_that_are_named() -> None:
    met = {
        str(call["arguments"].get("command"))
        for lesson in OLDER
        if (guard := derived(lesson, is_chosen=True)) is not None
        for call in lesson["follows"]
        if matches(guard, call_of(call))
    }
    assert met == ALIKE


@pytest.mark.parametrize(
    ("wrong", "right", "told"),
    [
        ("relctl cut v1", "relctl cut --no-rehearse v1", "`relctl cut` without `--no-rehearse`"),
        ("docker-compose up -d db", "docker compose up -d db", "`docker-compose`"),
        ("npm install zod", "pnpm add zod", "`npm install` or `npm i`"),
        ("tsc -p .", "npx tsc --noEmit", "`tsc` without `--noEmit`"),
        ("pip install x", "sudo pip install x", "`pip install` without `sudo ...`"),
        ("python3.12 -m pytest", "uv run pytest", "`pytest` with `python -m ...`"),
    ],
)
def test_a_guard_is_said_in_words(wrong: str, right: str, told: str) -> None:
    guard = derive(call_of(wrong), call_of(right))
    assert guard is not None
    assert guard.in_words == told


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("make test", "make test"),
        ("git push", "git status"),
        ("git stash", "git stash -u"),  # and not `git stash pop`
        ("./rows read", "./rows read --from 251 --to 500"),
        ("kubectl get pods", "kubectl --context staging get pods"),
        ("git tag v1", "git tag -a v1 -m 'Release 1'"),
        ("a 'open", "a --x 'open'"),
        ("billing pay 3", "identity check 3"),
    ],
)
def test_what_leaves_a_doubt_gives_no_guard(wrong: str, right: str) -> None:
    assert derive(call_of(wrong), call_of(right)) is None


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("./rows read", "./rows read --from 251 --to 500"),
        ("git tag v1", "git tag -a v1 -m 'Release 1'"),
        ("./rows read --from 1", "./rows read --from 251"),
        ("kubectl get pods", "kubectl get nodes --context staging"),
        ("curl https://a.example", "curl --max-time 5 https://a.example"),
        ("make test", "make test --jobs 4"),
        ("kubectl logs api", "kubectl logs --tail=200 api && kubectl get pods"),
        ("deployctl run", "deployctl run --color never"),
    ],
)
def test_of_two_chosen_calls_too_what_leaves_a_doubt_gives_no_guard(wrong: str, right: str) -> None:
    assert derive(call_of(wrong), call_of(right), is_chosen=True) is None


@pytest.mark.parametrize(
    ("wrong", "right", "told"),
    [
        ({"title": "a"}, {"title": "a", "timezone": "Europe/Rome"}, "without `timezone`"),
        ({"title": "a"}, {"title": "b", "timezone": "Europe/Rome"}, None),  # another value
        ({"title": "a"}, {"title": "a", "timezone": "UTC", "room": "Elm"}, None),  # two more
        ({"title": "a", "day": "1"}, {"title": "a", "timezone": "UTC"}, None),  # one less
        ({"tags": ["a"]}, {"tags": ["a", "b"]}, None),  # another value of the same name
        ({}, {"timezone": "UTC"}, None),  # a bare tool
    ],
)
def test_a_missing_argument_of_a_servers_tool_gives_a_guard_where_somebody_chose_the_two_calls(
    wrong: dict[str, Any], right: dict[str, Any], told: str | None
) -> None:
    tool = "mcp__calendar__create_event"
    calls = Call(tool, wrong), Call(tool, right)
    assert derive(*calls) is None
    guard = derive(*calls, is_chosen=True)
    assert (guard is None) == (told is None)
    if guard is not None and told is not None:
        assert guard.in_words.endswith(told)
        assert matches(guard, Call(tool, {"title": "c", "day": "2"}))
        assert not matches(guard, Call(tool, {"title": "c", "timezone": "UTC"}))
    of_host = Call("Read", wrong), Call("Read", right)
    assert derive(*of_host, is_chosen=True) is None


def test_the_guard_of_a_missing_option_meets_no_form_of_it() -> None:
    wrong, right = (
        call_of("kubectl apply -f a.yaml"),
        call_of("kubectl apply -f a.yaml --context x"),
    )
    guard = derive(wrong, right, is_chosen=True)
    assert guard is not None
    assert guard.in_words == "`kubectl apply` without `--context` or `-c`"
    assert matches(guard, call_of("cd ops; kubectl apply -k overlays/x"))
    for call in (
        "kubectl --context x apply -f b",
        "kubectl apply --context=y -f b",
        "kubectl get po",
    ):
        assert not matches(guard, call_of(call))
