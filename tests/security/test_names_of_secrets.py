"""Names of secrets: quick searches look for a part of each name first, so each name has one of those parts in it."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.security.secret_tables import pattern_of, rows_of

_parse: Any = getattr(re, "_parser").parse  # noqa: B009 - typeshed has no name for it


def spelled(pattern: str) -> Iterator[str]:
    """Yield every text that a pattern without long repetitions matches."""
    yield from _spelled(list(_parse(pattern)))


def _spelled(parts: list[Any]) -> Iterator[str]:
    for choice in itertools.product(*(_choices(str(op), value) for op, value in parts)):
        yield "".join(choice)


def _choices(op: str, value: Any) -> list[str]:
    match op:
        case "LITERAL":
            return [chr(value)]
        case "IN":
            return [chr(sign) for _, sign in value]
        case "BRANCH":
            return [text for branch in value[1] for text in _spelled(list(branch))]
        case "SUBPATTERN":
            return [*_spelled(list(value[3]))]
        case "MAX_REPEAT":
            least, most, repeated = value
            assert (least, most) == (0, 1)
            return ["", *_spelled(list(repeated))]
        case "ASSERT_NOT":
            return [""]  # what must not follow belongs to no name
        case _:
            raise AssertionError(op)


@pytest.mark.parametrize("kind", ["foreign key", "foreign password"])
def test_each_foreign_name_has_a_core(kind: str) -> None:
    ascii_cores = pattern_of("secret_nouns.txt", "foreign core").split("|")
    letters = pattern_of("secret_nouns.txt", "foreign letters").split("|")
    names = [
        name for row in rows_of("secret_nouns.txt") if row[0] == kind for name in spelled(row[1])
    ]
    assert len(names) > 10
    for name in names:
        cores = ascii_cores if name.isascii() else [*ascii_cores, *letters]
        assert any(core in name for core in cores), name


@pytest.mark.parametrize(
    "name", ["Hasłem", "haslem", "contraseña", "Şifre", "mật khẩu", "パスワード", "κωδικός"]
)
@pytest.mark.parametrize("far", [0, 7_000])
def test_a_foreign_name_is_found_however_far_in_a_text(name: str, far: int) -> None:
    text = f"{'word ' * (far // 5)}{name}: Kelp4Dune7x\n{'and so on ' * (far // 10)}"
    assert "Kelp4Dune7x" not in clean_text(text)


def test_each_of_thousands_of_secrets_in_one_text_is_cut() -> None:
    rows = [f'{{"user": "u{place}", "password": "Kelp{place}Dune"}}' for place in range(4_000)]
    rows += [f"api_key={place:04d}aB3dE5gH7jK9mN1p" for place in range(2_000)]
    cleaned = clean_text("\n".join(rows))
    assert "Dune" not in cleaned
    assert "aB3dE5gH" not in cleaned


def test_words_about_secrets_stay_behind_thousands_of_names() -> None:
    text = "token: none\npassword = null\nmax_tokens: 4096\n" * 2_000
    assert clean_text(text) == text


def test_what_stands_across_the_ends_of_long_texts_of_a_list_is_cut() -> None:
    middle = "nothing to see here\n" * 200
    cleaned = clean([f"first\n{middle}password:", f"Kelp4Dune7x\n{middle}last"])
    assert "Kelp4Dune7x" not in "".join(cleaned)
    assert cleaned[0].startswith(f"first\n{middle}")
    assert cleaned[1].endswith(f"{middle}last")


@pytest.mark.parametrize(
    "text", ["x" * 2_000, "line\n" * 500, "\n" * 2_000, f"a\n{'x' * 2_000}\nb"]
)
def test_long_texts_of_a_list_without_secrets_stay_as_they_are(text: str) -> None:
    assert clean([text, text, "--", text]) == [text, text, "--", text]


@pytest.mark.parametrize("unit", ["token: ", "the password is here and ", "Passwort: ändern, "])
def test_a_crowd_of_names_leaves_little_of_its_text(unit: str) -> None:
    """What is cut of it grows no text past a limit, and is read quickly where it is read again."""
    text = unit * (40_000 // len(unit))
    cleaned = clean_text(text)
    assert len(cleaned) < len(text) / 2
    assert clean_text(str(cleaned)) == cleaned


@pytest.mark.parametrize("length", [900, 20_000, 125_000])
@pytest.mark.parametrize(
    "unit", ["token: ", "-----BEGIN PRIVATE KEY-----\nMIIE\n", "a:b@host token: "]
)
def test_a_crowd_that_was_cut_stays_as_it_is_when_its_end_is_read_again(
    unit: str, length: int
) -> None:
    cleaned = clean_text(unit * (length // len(unit)))
    again = clean_text(f"{cleaned} ")  # another text, so that no form of it is known
    assert again.rstrip() == cleaned.rstrip()
