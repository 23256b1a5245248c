"""What the door takes out of a text before it is written, and what it leaves."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.config import Settings
from mcp_reflect.llm.runner import ClientCapabilities
from mcp_reflect.models.lesson import LessonDraft
from mcp_reflect.security.redact import clean, clean_text
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage import screening
from tests.secrets import SECRETS, TELLING, found_in


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize(
    "frame", ["{}", "It said {} and stopped.", '{{"log": "{}"}}', "a='{}'", "\u200b{}\n"]
)
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
        "password: required field",
        "password=get_password(user_id=7)",
        "export TOKEN=$CI_TOKEN; password=${DB_PASSWORD}",
        "<password>{password}</password>",
        "pip install sk-learn-contrib-tools-and-friends",
        "see https://docs.python.org:8080/3/library/json.html",
        "git@github.com:owner/repository.git",
        "skill_test_of_the_long_function_name_here",
        "basic authentication is needed for that",
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
    "name",
    ["password", "DB_PASSWORD", "api_key", "client-secret", "Authorization", "x_access_token"],
)
def test_what_a_secrets_name_holds_is_cut_out_whatever_it_looks_like(name: str) -> None:
    assert clean({"a": [{name: "plainword"}]}) == {"a": [{name: "[redacted:password]"}]}


@pytest.mark.parametrize("name", ["passwords_seen", "secretary", "key", "monkey", "tokens"])
def test_a_name_that_is_no_secrets_keeps_its_value(name: str) -> None:
    assert clean({name: "plainword"}) == {name: "plainword"}


ROOT = Path(__file__).parent.parent.parent
EVERY = "It printed " + " and then ".join(SECRETS.values()) + " at the end"


async def test_no_part_of_a_secret_is_in_the_index(engine: Engine, bank_path: Path) -> None:
    token = "ghp" + "_ZebraQuokkaWombatOkapiIbexLynxPumaTapir42"
    await engine.store_lesson(
        mistake=f"The push failed with {token}", correction="Use the deploy key", context=token
    )
    stored = await engine.recall(task="push failed deploy key")
    assert stored.lessons
    await engine.edit_lesson(stored.lessons[0].id, {"why": f"because {token}"})
    content = b"".join(path.read_bytes().lower() for path in bank_path.parent.iterdir())
    assert [part for part in (b"quokka", b"wombat", b"okapi", b"tapir") if part in content] == []


async def test_a_secret_that_a_cut_would_halve_is_taken_out_first(bank_path: Path) -> None:
    limit = 200
    small = Settings(bank=bank_path, project="app", max_event_chars=limit)
    async with Engine(small) as engine:
        for kind, secret in SECRETS.items():
            for start in range(limit // 2 - len(secret), limit // 2 + 8, 7):
                text = "z" * max(start - 1, 0) + " " + secret + " " + "y" * limit
                events = [
                    {"type": "observation", "content": one} for one in (text, text.rjust(900, "w"))
                ]
                await engine.reflect(
                    task=kind, outcome="failure", events=events, error={"message": text}
                )
    assert found_in(bank_path.parent) == {}


async def test_a_secret_at_the_end_of_what_a_recall_keeps_of_its_task_is_taken_out(
    engine: Engine, bank_path: Path
) -> None:
    for secret in SECRETS.values():
        await engine.recall(task="t " * (1000 - len(secret) // 4) + secret)
    assert found_in(bank_path.parent) == {}


async def test_what_a_crash_says_of_its_arguments_is_clean_in_the_log(
    settings: Settings, bank_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    class Crashing(Engine):
        async def call(
            self,
            tool: str,
            arguments: Mapping[str, Any],
            client: ClientCapabilities | None = None,
            *,
            on_cut: Callable[[str], None] | None = None,
        ) -> Any:
            del tool, client, on_cut
            raise RuntimeError(arguments["task"])

    async with Crashing(settings) as engine:
        await build(engine=engine).call_tool("recall_lessons", {"task": EVERY})
    bank_path.parent.mkdir()
    (bank_path.parent / "log.txt").write_text(capfd.readouterr().err)
    assert "RuntimeError" in (bank_path.parent / "log.txt").read_text()
    assert found_in(bank_path.parent) == {}


def test_each_field_with_words_is_judged_or_redacted() -> None:
    """A field that is added to lessons has to be put into one of the lists of `screening`, or named here."""
    plain_values = {
        "kind",
        "state",
        "trust",
        "source",
        "guard_mode",
        "importance",
        "confidence",
        "told",
    }
    with_words = {field.name for field in fields(LessonDraft)} - plain_values
    assert with_words == {*screening.JUDGED_FIELDS, *screening.REDACTED_FIELDS}
