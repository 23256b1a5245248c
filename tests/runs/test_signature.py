"""Signatures: the same mistake on another day is the same, another mistake is another."""

import pytest

from mcp_reflect.models.common import Json
from mcp_reflect.signature import CALL_LIMIT, ERROR_LIMIT, exact_call, fingerprint, normalized_call, signature

SAME: list[tuple[Json, Json]] = [
    ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
    ({"query": '"Nick  Park" '}, {"query": "Nick Park"}),
    ({"path": "/tmp/tmpab12/x.py"}, {"path": "/tmp/tmpzz99/y.py"}),  # noqa: S108 - a path in a text
    ({"url": "http://localhost:8000/a"}, {"url": "http://localhost:9123/a"}),
    ({"day": "2024-05-01"}, {"day": "2025-11-30"}),
    ({"id": "3f2504e0-4f89-11d3-9a0c-0305e82c3301"}, {"id": "7c9e6679-7425-40de-944b-e07fc1f90ae7"}),
    ({"commit": "a1b2c3d4e5"}, {"commit": "0f9e8d7c6b"}),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_calls_that_differ_only_in_dress_are_one(first: Json, second: Json) -> None:
    assert normalized_call("Fetch", first) == normalized_call("fetch", second)


@pytest.mark.parametrize(
    ("first", "second"),
    [({"limit": 10}, {"limit": 100}), ({"q": "cats"}, {"q": "dogs"}), ({"path": "src/a.py"}, {"path": "src/b.py"})],
)
def test_calls_that_differ_in_what_they_ask_are_two(first: Json, second: Json) -> None:
    assert normalized_call("fetch", first) != normalized_call("fetch", second)


def test_an_exact_call_keeps_what_a_normalised_one_drops() -> None:
    assert exact_call("f", {"day": "2024-05-01"}) != exact_call("f", {"day": "2024-05-02"})


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
