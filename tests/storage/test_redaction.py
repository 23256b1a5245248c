"""What the door takes out of a text, and what it leaves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.security.redact import clean, clean_text
from tests.secrets import SECRETS, TELLING


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("frame", ["{}", "It said {} and stopped.", '{{"log": "{}"}}', "a='{}'", "\u200b{}\n"])
def test_a_secret_is_replaced_by_the_name_of_its_kind(kind: str, frame: str) -> None:
    cleaned = clean_text(frame.format(SECRETS[kind]))
    assert f"[redacted:{kind}]" in cleaned
    assert [part for part in TELLING[kind] if part in cleaned] == []


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_with_a_zero_width_character_inside_is_one_still(kind: str) -> None:
    secret = SECRETS[kind]
    middle = secret.index(TELLING[kind][0]) + 4
    cleaned = clean_text(f"{secret[:middle]}\u200b{secret[middle:]}")
    assert f"[redacted:{kind}]" in cleaned


@pytest.mark.parametrize(
    "text",
    [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "request 3f2b8c1e-7d4a-4e6b-9c0d-1a2b3c4d5e6f failed",
        "the password is required",
        "password: required field",
        'password = os.environ["DB_PASSWORD"]',
        "password=get_password(user_id=7)",
        "api_key: str | None = None",
        "export TOKEN=$CI_TOKEN; password=${DB_PASSWORD}",
        "<password>{password}</password>",
        "pip install sk-learn-contrib-tools-and-friends",
        "see https://docs.python.org:8080/3/library/json.html",
        "git@github.com:owner/repository.git",
        "skill_test_of_the_long_function_name_here",
        "basic authentication is needed for that",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "/usr/lib/python3.11/site-packages/secret_santa/__init__.py",
        "line\twith a tab\r\nand the next",
        "naïve 日本語 العربية 🙂",
    ],
)
def test_what_only_looks_like_a_secret_is_kept(text: str) -> None:
    assert clean_text(text) == text


@given(st.text())
def test_a_clean_text_is_unicode_without_unseen_characters(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode()
    assert not {"\0", "\u200b", "\u202e", "\ufeff", "\x1b"} & set(cleaned)


@pytest.mark.parametrize(
    "name", ["password", "DB_PASSWORD", "api_key", "client-secret", "Authorization", "x_access_token"]
)
def test_what_a_secrets_name_holds_is_cut_out_whatever_it_looks_like(name: str) -> None:
    assert clean({"a": [{name: "plainword"}]}) == {"a": [{name: "[redacted:password]"}]}


@pytest.mark.parametrize("name", ["passwords_seen", "secretary", "key", "monkey", "tokens"])
def test_a_name_that_is_no_secrets_keeps_its_value(name: str) -> None:
    assert clean({name: "plainword"}) == {name: "plainword"}
