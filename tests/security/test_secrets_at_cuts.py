"""Where a text is cut to its ends, or a list has other items than texts, no part of a secret comes out."""

import random
from base64 import b64encode
from string import ascii_letters, digits

import pytest

from mcp_reflect.security.gate import clean_json, clean_output
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.security.text_ends import clean_ends

_RUN = 12  # characters of a secret that tell something of it
TOKEN = "ghp" + "_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
LINE = "the build went on and nothing was wrong\n"


def key_of(length: int, seed: int = 7) -> str:
    """Return a private key in armor with a body of so many characters, drawn anew."""
    draw = random.Random(seed)
    body = "".join(draw.choices(ascii_letters + digits + "+/", k=length))
    lines = [body[start : start + 64] for start in range(0, length, 64)]
    kind = "RSA PRIVATE" + " KEY"
    return "\n".join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----\n"))


def runs_of(secret: str) -> set[str]:
    """Return the runs of a secret that may not come out."""
    lines = [line for line in secret.splitlines() if "-----" not in line]
    return {run for line in lines for run in _parts_of(line)}


def _parts_of(text: str) -> set[str]:
    return {text[at : at + _RUN] for at in range(len(text) - _RUN + 1)}


def filled(length: int) -> str:
    return (LINE * (length // len(LINE) + 1))[:length]


@pytest.mark.parametrize("most", [1_000, 6_000])
@pytest.mark.parametrize("keys", [0, 1, 4, 12])
@pytest.mark.parametrize("margin", [4_000, 20_000])
def test_a_token_that_the_edge_halves_does_not_come_out(most: int, keys: int, margin: int) -> None:
    behind = "".join(key_of(1_600, seed) for seed in range(keys))
    for part in (4, 20, 36):
        rest = TOKEN[part:] + "\n" + behind
        tail = filled(60_000) + " " + TOKEN[:part] + rest + filled(most + margin - len(rest))
        front = behind + "\n" + TOKEN[:part]
        room = filled(most + margin - len(front))
        head = room + front + TOKEN[part:] + "\n" + filled(60_000)
        for text in (tail, head):
            shown = str(clean_output(text, most)) + clean_ends(text, most)
            assert not runs_of(TOKEN) & _parts_of(shown)


@pytest.mark.parametrize("length", [1_600, 6_400, 16_000])
@pytest.mark.parametrize("most", [300, 1_000, 6_000])
def test_a_private_key_around_the_cut_does_not_come_out(length: int, most: int) -> None:
    key = key_of(length)
    runs = runs_of(key)
    draw = random.Random(length + most)
    for back in (0, 40, *(draw.randrange(most + 26_000) for _ in range(12))):
        text = filled(40_000) + "\n" + key + filled(back)
        before = filled(back) + "\n" + key + filled(40_000)
        for shown in (clean_ends(text, most), clean_ends(before, most)):
            assert not runs & _parts_of(shown)


def test_the_ends_of_a_text_without_secrets_are_whole() -> None:
    text = "".join(f"{number} lines were read\n" for number in range(10_000))
    assert clean_ends(text, 1_000) == f"{text[:1_000]}\n...\n{text[-1_000:]}"


def test_a_secret_in_the_kept_end_leaves_its_mark_and_the_text_around_it() -> None:
    shown = clean_ends(filled(40_000) + f"begin {TOKEN} end of it", 1_000)
    assert shown.endswith(" end of it")
    assert "begin [redacted:" in shown
    assert clean_ends(filled(40_000) + key_of(6_400), 1_000).rstrip().endswith("]")


@pytest.mark.parametrize("other", [None, 7, True, [], {"at": 1}])
@pytest.mark.parametrize("place", [0, 9, 200])
def test_an_item_that_is_no_text_does_not_hide_a_secret_across_lines(
    other: object, place: int
) -> None:
    key = key_of(1_600)
    lines: list[object] = [*key.splitlines()]
    lines.insert(place, other)
    rows = [line if line is other else {"text": line} for line in lines]
    for value in (lines, rows):
        shown = str(clean(value)) + clean_json(value)
        assert not runs_of(key) & _parts_of(shown)
        assert other in clean(value)


def test_a_key_in_base64_around_the_cut_does_not_come_out() -> None:
    code = b64encode(key_of(4_200).encode()).decode()
    runs = runs_of(code)
    for back in (0, 40, 900, 1_000, 2_500, 4_900):
        text = filled(40_000) + f"\ntls.key: {code}\n" + filled(back)
        shown = clean_ends(text, 1_000)
        assert not runs & _parts_of(shown)


def test_a_head_of_a_table_with_many_blanks_is_read_once() -> None:
    head = "password      |      " * 12 + "!"
    assert clean_text(f"{head}\nada | Wolke7x\n") == f"{head}\nada | Wolke7x\n"
    table = "| user     |     password     |\n|---|---|\n| ada | {} |\n"
    assert "Wolke7!" not in clean_text(table.format("Wolke7!"))
