"""A lesson that is stored in a repository says later what changed there, and waits where its ground is gone."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect import services
from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.services.curation import USES
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.reviews import Waiting
from mcp_reflect.speaker import Speaker
from tests.held_clock import HeldClock
from tests.roots.trees import tree_with, write
from tests.shown import seen

TSCONFIG = """{
  "compilerOptions": {
    "target": "es2022",
    "outDir": "dist",
    "strict": true
  }
}
"""
LESSON = {
    "mistake": "`tsc -p .` writes JavaScript beside the sources: tsconfig.json sets outDir to dist",
    "correction": "Always run `npx tsc --noEmit` to check the types",
}
PROMPT = "Check the types with tsc before the release"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {
        "tsconfig.json": TSCONFIG,
        "src/app.ts": "export const app = 1;\n",
        "package.json": '{"name": "shop", "devDependencies": {"typescript": "^5.4.0"}}',
        "package-lock.json": (
            '{"lockfileVersion": 3, "packages": {"": {"name": "shop"},\n'
            ' "node_modules/typescript": {\n "version": "5.4.2",\n "resolved": "x"}}}'
        ),
    }
    return tree_with(tmp_path / "repository", files)


@pytest.fixture
async def shop(bank: Path | ServerUrl, repository: Path, clock: HeldClock) -> AsyncIterator[Engine]:
    async with Engine(Settings(bank=bank, folder=repository), clock=clock) as made:
        yield made


async def at_prompt(engine: Engine, text: str = PROMPT, session: str = "s") -> str:
    return await services.reminders.at_prompt(engine.context, session, text) or ""


async def review(engine: Engine) -> Waiting:
    return await USES["review"].work(engine, {}, speaker=Speaker.PERSON)


async def by_person(engine: Engine, **fields: Any) -> str:
    stored = await USES["add"].work(engine, fields, speaker=Speaker.PERSON)
    return stored.lesson_id


async def test_a_lesson_is_shown_without_a_word_while_its_file_stands(
    shop: Engine, repository: Path
) -> None:
    await shop.store_lesson(**LESSON)
    write(repository, "src/app.ts", "export const app = 2;\n")
    text = await at_prompt(shop)
    assert "npx tsc --noEmit" in text
    assert "since" not in text


async def test_a_change_of_the_line_that_a_lesson_touches_is_said_at_the_prompt(
    shop: Engine, repository: Path
) -> None:
    await shop.store_lesson(**LESSON)
    write(repository, "tsconfig.json", TSCONFIG.replace('"dist"', '"build"'))
    assert "(tsconfig.json changed since)" in await at_prompt(shop)


async def test_a_change_of_another_line_is_not(shop: Engine, repository: Path) -> None:
    await shop.store_lesson(**LESSON)
    write(repository, "tsconfig.json", TSCONFIG.replace("es2022", "es2024"))
    assert "since)" not in await at_prompt(shop)


async def test_a_setting_that_a_lesson_names_and_the_file_gets_later_is_a_change(
    shop: Engine, repository: Path
) -> None:
    await shop.store_lesson(**LESSON)
    changed = TSCONFIG.replace('"strict": true', '"strict": true,\n    "noEmit": true')
    write(repository, "tsconfig.json", changed)
    assert "(tsconfig.json changed since)" in await at_prompt(shop)


async def test_a_recall_says_it_too_and_ranks_such_a_lesson_behind_an_equal_one(
    shop: Engine, repository: Path
) -> None:
    first = await shop.store_lesson(lesson="The port of the shop stands in config/shop.toml: 8080")
    write(repository, "config/shop.toml", "port = 8080\n")
    first = await shop.store_lesson(lesson="The port of the shop stands in config/shop.toml: 8080")
    other = await shop.store_lesson(lesson="The port of the shop stands in settings: 8080 locally")
    before = await shop.recall(task="Which port does the shop use?")
    assert [hit.id for hit in before.lessons] == [first.lesson_id, other.lesson_id]
    write(repository, "config/shop.toml", "port = 9090\n")
    after = await shop.recall(task="Which port does the shop use?")
    assert [hit.id for hit in after.lessons] == [other.lesson_id, first.lesson_id]
    assert after.lessons[1].text.endswith("(shop.toml changed since)")


async def test_an_agents_lesson_whose_file_is_gone_is_not_shown_and_waits_as_still_true(
    shop: Engine, repository: Path
) -> None:
    stored = await shop.store_lesson(**LESSON)
    (repository / "tsconfig.json").unlink()
    assert await at_prompt(shop) == ""
    waiting = await review(shop)
    assert [(one.lesson.id, one.told) for one in waiting.doubted] == [
        (stored.lesson_id, "tsconfig.json is gone since")
    ]


async def test_a_yes_plants_new_roots_and_a_no_retires(shop: Engine, repository: Path) -> None:
    stored = await shop.store_lesson(**LESSON)
    (repository / "tsconfig.json").unlink()
    sent: dict[str, Any] = {
        "id": stored.lesson_id,
        "true": True,
        "seen": await seen(shop, stored.lesson_id),
    }
    await USES["still"].work(shop, sent, speaker=Speaker.PERSON)
    assert not (await review(shop)).doubted
    assert "npx tsc --noEmit" in await at_prompt(shop)
    write(repository, "package-lock.json", '{"packages": {"node_modules/tsc": {"version": "1.0"}}}')
    retired = await USES["still"].work(shop, {**sent, "true": False}, speaker=Speaker.PERSON)
    assert retired.state == "retired"


async def test_only_a_person_says_in_the_review_what_is_still_true(shop: Engine) -> None:
    stored = await shop.store_lesson(**LESSON)
    sent = {"id": stored.lesson_id, "true": True}
    with pytest.raises(InputError):
        await USES["still"].work(shop, sent, speaker=Speaker.AGENT)


async def test_an_agents_helped_is_a_yes_as_well(shop: Engine, repository: Path) -> None:
    stored = await shop.store_lesson(**LESSON)
    write(repository, "tsconfig.json", TSCONFIG.replace('"dist"', '"build"'))
    await shop.record_outcome(success="helped", lesson_ids=[stored.lesson_id])
    assert "since)" not in await at_prompt(shop)


async def test_a_persons_lesson_is_marked_and_never_hidden(shop: Engine, repository: Path) -> None:
    await by_person(shop, **LESSON)
    (repository / "tsconfig.json").unlink()
    assert "(tsconfig.json is gone since)" in await at_prompt(shop)


async def test_a_lesson_comes_back_with_its_file_as_on_another_branch(
    shop: Engine, repository: Path
) -> None:
    await shop.store_lesson(**LESSON)
    (repository / "tsconfig.json").unlink()
    assert await at_prompt(shop) == ""
    write(repository, "tsconfig.json", TSCONFIG)
    assert "since)" not in await at_prompt(shop)
    assert not (await review(shop)).doubted


async def test_a_change_alters_no_guard_and_is_said_beside_it(
    shop: Engine, repository: Path
) -> None:
    calls = {"wrong_call": "npx tsc -p .", "right_call": "npx tsc --noEmit -p ."}
    lesson_id = await by_person(shop, **LESSON, **calls)
    write(repository, "tsconfig.json", TSCONFIG.replace('"dist"', '"build"'))
    warning = await services.warnings.before_call(
        shop.context, "Bash", {"command": "npx tsc -p ."}, session="s"
    )
    assert warning is not None
    assert warning.hold
    assert warning.lesson_id == lesson_id
    assert "Since that lesson was stored: tsconfig.json changed since." in warning.text


async def test_another_major_version_of_what_it_is_about_hides_it_and_a_minor_one_marks_it(
    shop: Engine, repository: Path
) -> None:
    await shop.store_lesson(
        lesson="typescript drops the enum helpers when it compiles the release. Use const objects."
    )
    lock = (repository / "package-lock.json").read_text()
    prompt = "Compile the release with typescript, enum helpers included"
    assert "const objects" in await at_prompt(shop, prompt, "a")
    write(repository, "package-lock.json", lock.replace("5.4.2", "5.4.9"))
    assert "now)" not in await at_prompt(shop, prompt, "b")
    write(repository, "package-lock.json", lock.replace("5.4.2", "5.6.0"))
    assert "(typescript is 5.6.0 now)" in await at_prompt(shop, prompt, "c")
    write(repository, "package-lock.json", lock.replace("5.4.2", "6.0.1"))
    assert await at_prompt(shop, prompt, "d") == ""
    assert [one.told for one in (await review(shop)).doubted] == ["typescript is 6.0.1 now"]


async def test_a_lock_file_that_does_not_parse_marks_nothing(
    shop: Engine, repository: Path
) -> None:
    await shop.store_lesson(lesson="typescript drops the enum helpers. Use const objects.")
    for broken in ("", "{", "<<<<<<< HEAD\n{}\n=======\n", "\x00\xff", '{"packages": ['):
        write(repository, "package-lock.json", broken)
        assert "const objects" in await at_prompt(shop, "typescript enum helpers", repr(broken))


async def test_what_a_lesson_is_said_to_be_true_of_is_looked_at_and_until_when(
    shop: Engine, clock: HeldClock
) -> None:
    stored = await shop.store_lesson(
        lesson="Releases are frozen: push nothing to the release branch",
        files=["src/app.ts"],
        valid_until="2099-01-31",
    )
    planted = await shop.bank.roots.of(shop.scopes.own, [stored.lesson_id])
    assert [one.path for one in planted[stored.lesson_id].roots.files] == ["src/app.ts"]
    prompt = "May I push to the release branch?"
    assert "frozen" in await at_prompt(shop, prompt, "a")
    clock.time = 4_102_444_800.0  # 2100-01-01
    assert await at_prompt(shop, prompt, "b") == ""
    assert [one.told for one in (await review(shop)).doubted] == ["valid until 2099-01-31"]
    recall = await shop.recall(task=prompt)
    assert recall.lessons[0].text.endswith("(valid until 2099-01-31: still true?)")


async def test_a_date_that_is_none_is_refused_with_the_way_to_write_it(shop: Engine) -> None:
    with pytest.raises(InputError, match="like 2027-01-31"):
        await shop.store_lesson(lesson="Push nothing to main", valid_until="soon")


async def test_lessons_of_another_project_and_for_all_projects_have_no_roots_here(
    shop: Engine,
) -> None:
    stored = await shop.store_lesson(**LESSON, visibility="global")
    assert not await shop.bank.roots.of(shop.scopes.own, [stored.lesson_id])


async def test_without_a_folder_nothing_is_measured(engine: Engine) -> None:
    stored = await engine.store_lesson(**LESSON)
    assert not await engine.bank.roots.of(engine.scopes.own, [stored.lesson_id])
    assert short_id(stored.lesson_id) in await at_prompt(engine)
