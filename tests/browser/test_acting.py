"""The served board in Chromium: each thing that a person can do there is done, and is so in the bank."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from playwright.sync_api import expect

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import GuardMode, Lesson, State, Trust
from mcp_reflect.services.engine import Engine
from tests.browser.conftest import PROJECT, Open, Opened, ran, written
from tests.dashboard.served import Served, serving

pytestmark = pytest.mark.browser
Found = TypeVar("Found")

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<!--<script>",
    "javascript:alert(3)",
    "a\u2028b",
    "عربي then <b>bold</b>",
)


def lessons(bank: Path) -> list[Lesson]:
    """All that is in the bank."""

    async def work() -> list[Lesson]:
        async with Engine(Settings(bank=bank, project=PROJECT)) as engine:
            found = await engine.bank.lessons.latest(
                engine.scopes.own, kind=None, state=None, limit=1000
            )
            return [
                *found,
                *await engine.bank.lessons.latest(
                    engine.scopes.own, kind=None, state=None, limit=1000, held=True
                ),
            ]

    return ran(work)


def one(bank: Path, name: str) -> Lesson:
    return next(lesson for lesson in lessons(bank) if lesson.id == name)


def pick(opened: Opened, words: str) -> str:
    """Choose the one lesson with these words; its id."""
    opened.page.locator("#search").fill(words)
    expect(opened.page.locator(".row")).to_have_count(1)
    opened.page.locator(".row").click()
    return opened.page.locator(".detail dd code").first.inner_text()


def press(opened: Opened, action: str) -> str:
    """Press the button of an action in the chosen lesson, and what is said then."""
    opened.page.locator(f".detail [data-action={action}]").click()
    return opened.said()


def test_what_is_held_is_approved_and_rejected(acting: Opened, bank: Path) -> None:
    view = acting.view("deciding")
    held = {lesson.id for lesson in lessons(bank) if lesson.trust is Trust.QUARANTINED}
    assert len(held) == 2
    view.locator("[data-action=approve]").first.click()
    assert acting.said().startswith("Approved")
    view.locator("[data-action=reject]").first.click()
    expect(acting.page.locator("#said")).to_contain_text("Rejected")
    assert view.locator("[data-action=approve]").count() == 0
    after = [one(bank, name) for name in held]
    assert {(lesson.trust, lesson.state) for lesson in after} == {
        (Trust.TRUSTED, State.ACTIVE),
        (Trust.QUARANTINED, State.RETIRED),
    }


def test_what_is_still_true_stays_and_what_is_not_is_retired(
    open_page: Open, served: Served, bank: Path
) -> None:
    async def store() -> None:
        async with Engine(Settings(bank=bank, project=PROJECT)) as engine:
            for words in ("Feed the emu at dawn with oats", "Oil the winch before the tide turns"):
                await engine.store_lesson(lesson=words, valid_until="2020-01-31")

    ran(store)
    acting = open_page(f"http://{served.place}/#{served.board.token}")
    view = acting.view("deciding")
    asked = view.locator("[data-doubted]")
    expect(asked).to_have_count(2)
    expect(asked.first).to_contain_text("valid until 2020-01-31: still true?")
    asked.filter(has_text="emu").locator("[data-action=still]").click()
    assert acting.said().startswith("Still true")
    expect(asked).to_have_count(1)
    asked.locator("[data-action=outdated]").click()
    expect(acting.page.locator("#said")).to_contain_text("Retired: no longer true")
    expect(asked).to_have_count(0)
    states = {lesson.text: lesson.state for lesson in lessons(bank)}
    assert states["Feed the emu at dawn with oats"] is State.ACTIVE
    assert states["Oil the winch before the tide turns"] is State.RETIRED


def of_agent(bank: Path, work: Callable[[Engine], Awaitable[Any]]) -> Any:
    """Do something in the bank while the page is open."""

    async def run() -> Any:
        async with Engine(Settings(bank=bank, project=PROJECT)) as engine:
            return await work(engine)

    return ran(run)


def test_what_changed_since_the_page_was_drawn_is_not_approved(acting: Opened, bank: Path) -> None:
    view = acting.view("deciding")
    held = {lesson.id for lesson in lessons(bank) if lesson.trust is Trust.QUARANTINED}
    for name in held:
        of_agent(bank, lambda engine, name=name: engine.edit_lesson(name, {"why": "Other words"}))
    view.locator("[data-action=approve]").first.click()
    assert "changed since it was shown" in acting.said()
    acting.faults.clear()  # the browser notes the refusal in its console
    assert all(one(bank, name).trust is Trust.QUARANTINED for name in held)


def test_a_proposal_shows_the_guard_before_and_after(acting: Opened, bank: Path) -> None:
    async def propose(engine: Engine) -> None:
        calls = {"wrong_call": "tsc -b", "right_call": "tsc -b --noEmit"}
        kept = await services.lessons.add(
            engine.context, {"lesson": "Check the types alone, and emit nothing", **calls}
        )
        await services.guards.set_mode(engine.context, kept.lesson_id, GuardMode.ENFORCE)
        await engine.forget_lesson(lesson_id=kept.lesson_id, reason="no use")

    of_agent(bank, propose)
    acting.page.locator("#reload").click()
    card = acting.view("deciding").locator("[data-proposal]")
    expect(card).to_contain_text("each call against it is refused")
    expect(card.locator("table")).to_contain_text("off: the lesson is retired")
    card.locator("[data-action=accept]").click()
    assert acting.said().startswith("Done")


def test_what_is_alike_is_merged_and_the_merge_undone(acting: Opened, bank: Path) -> None:
    view = acting.view("deciding")
    before = view.locator("[data-action=merge]").count()
    assert before == 2
    badge = acting.page.locator("#tab-deciding .count")
    assert badge.inner_text() == "4"
    view.locator("[data-action=merge]").first.click()
    assert acting.said().startswith("Merged")
    expect(acting.page.locator("[data-action=merge]")).to_have_count(1)
    assert badge.inner_text() == "3"
    assert len([lesson for lesson in lessons(bank) if lesson.state is State.ARCHIVED]) == 1
    view.locator("[data-action=undo]").first.click()
    expect(acting.page.locator("[data-action=merge]")).to_have_count(2)
    assert [lesson for lesson in lessons(bank) if lesson.state is State.ARCHIVED] == []


def test_a_lesson_is_edited_and_its_history_shown(acting: Opened, bank: Path) -> None:
    name = pick(acting, "Friday")
    acting.page.locator("[data-action=edit]").click()
    assert acting.page.evaluate("document.activeElement.id") == "edit-mistake"
    acting.page.get_by_role("button", name="Cancel").click()
    assert acting.page.locator("form").count() == 0
    acting.page.locator("[data-action=edit]").click()
    assert press(acting, "save") == "Nothing was changed."
    acting.page.locator("#edit-correction").fill("Deploy on a Monday, when people are there")
    acting.page.locator("#edit-why").fill("Nobody mends it on a Saturday")
    acting.page.locator("#edit-tags").fill("deploy, weekday")
    acting.page.locator("#edit-importance").fill("0.77")
    acting.page.locator("[data-action=save]").click()
    expect(acting.page.locator("#said")).to_contain_text("Changed")
    lesson = one(bank, name)
    assert (lesson.correction, lesson.importance) == (
        "Deploy on a Monday, when people are there",
        0.77,
    )
    assert (lesson.why, lesson.tags) == ("Nobody mends it on a Saturday", ("deploy", "weekday"))
    assert "Deploy on a Monday" in acting.page.locator(".detail").inner_text()
    acting.page.locator("[data-action=history]").click()
    acting.page.locator(".history li").first.wait_for()
    assert "weekday morning" in acting.page.locator(".history").inner_text()


def test_a_bad_edit_is_told_in_words_and_changes_nothing(acting: Opened, bank: Path) -> None:
    name = pick(acting, "Friday")
    before = one(bank, name)
    acting.page.locator("[data-action=edit]").click()
    acting.page.locator("#edit-mistake").fill("x")
    acting.page.locator("#edit-correction").fill("")
    acting.faults.clear()
    assert "mistake" in press(acting, "save")
    assert acting.page.locator("[data-action=save]").is_enabled()
    assert one(bank, name) == before
    acting.faults.clear()  # the browser notes the refusal in its console


def test_a_lesson_is_forgotten_and_restored(acting: Opened, bank: Path) -> None:
    name = pick(acting, "Friday")
    acting.page.locator("#by-state").select_option("")
    assert press(acting, "forget").startswith("Forgotten")
    assert one(bank, name).state is State.RETIRED
    acting.page.locator(".detail [data-action=restore]").click()
    expect(acting.page.locator("#said")).to_contain_text("Restored")
    assert one(bank, name).state is State.ACTIVE


def test_a_held_lesson_is_decided_about_where_it_is_looked_at(acting: Opened, bank: Path) -> None:
    name = pick(acting, "supplier's page")
    assert press(acting, "reject").startswith("Rejected")
    assert one(bank, name).state is State.RETIRED
    name = pick(acting, "wiki was out")
    assert acting.page.locator(".detail [data-action=forget]").count() == 0
    acting.page.locator(".detail [data-action=approve]").click()
    expect(acting.page.locator("#said")).to_contain_text("Approved")
    assert one(bank, name).trust is Trust.TRUSTED


def test_a_person_chooses_another_project_of_the_bank(acting: Opened, bank: Path) -> None:
    async def work() -> None:
        async with Engine(Settings(bank=bank, project="/srv/tea")) as engine:
            await engine.store_lesson(
                mistake="Boiled the green tea", correction="Pour it at 80 degrees"
            )

    ran(work)
    acting.page.locator("#reload").click()
    expect(acting.page.locator("#project option")).to_have_count(2)
    acting.page.locator("#project").select_option("/srv/tea")
    expect(acting.page.locator(".row").filter(has_text="green tea")).to_have_count(1)
    expect(acting.page.locator("#scope")).to_contain_text("/srv/tea")
    pick(acting, "green tea")
    assert press(acting, "forget").startswith("Forgotten")


def test_refresh_shows_what_was_stored_meanwhile(acting: Opened, bank: Path) -> None:
    async def store() -> None:
        async with Engine(Settings(bank=bank, project=PROJECT)) as engine:
            await engine.store_lesson(
                mistake="Shipped the quokka by sea", correction="Send it by air"
            )

    ran(store)
    acting.page.locator("#reload").click()
    acting.page.locator("#search").fill("quokka")
    acting.page.locator(".row .first", has_text="quokka").wait_for()


def test_a_refresh_does_not_take_the_search_from_a_person_who_types(acting: Opened) -> None:
    acting.page.locator("#search").focus()
    with acting.page.expect_response("**/api/**"):
        acting.page.locator("#reload").dispatch_event("click")
    expect(acting.page.locator("#reload")).to_be_enabled()
    expect(acting.page.locator("#search")).to_be_focused()
    acting.page.keyboard.type("Friday")
    expect(acting.page.locator(".row").filter(has_text="Friday").first).to_be_visible()


def test_the_address_that_the_browser_is_started_with_opens_it_once(
    open_page: Open, served: Served
) -> None:
    ticket = served.board.issue_ticket()
    opened = open_page(f"http://{served.place}/#{ticket}")
    opened.page.locator(".row").first.wait_for()
    assert opened.page.url == f"http://{served.place}/"
    opened.page.reload()
    opened.page.locator(".row").first.wait_for()
    again = open_page(f"http://{served.place}/#{ticket}")
    assert "used already" in again.page.locator("main").inner_text()
    again.faults.clear()
    stranger = open_page(f"http://{served.place}/")
    assert "missing its token" in stranger.page.locator("main").inner_text()
    stranger.faults.clear()


def test_a_server_that_is_gone_is_told_in_words(open_page: Open, bank: Path) -> None:
    with serving(Settings(bank=bank, project=PROJECT)) as served:
        opened = open_page(f"http://{served.place}/#{served.board.token}")
        opened.page.locator(".row").first.wait_for()
    opened.page.locator("#reload").click()
    opened.page.get_by_text("does not answer").first.wait_for()
    opened.faults.clear()


def with_bank(path: Path, work: Callable[[Engine], Any]) -> Any:
    async def run() -> Any:
        async with Engine(Settings(bank=path, project=PROJECT)) as engine:
            return await work(engine)

    return ran(run)


def test_hostile_words_stay_words_in_every_view(open_page: Open, tmp_path: Path) -> None:
    async def store(engine: Engine) -> None:
        for text in HOSTILE:
            stored = await engine.store_lesson(
                mistake=f"Saw {text} once",
                correction=f"Leave {text}",
                task_type=text[:40],
                tags=[text[:40]],
            )
            await engine.recall(task=f"Saw {text} once", task_type=text[:40])
            await engine.record_outcome(success=True, lesson_ids=[stored.lesson_id], note=text)
            for session in "abc":
                await engine.before_call("bash", {"command": text}, session=session)
                await engine.after_call(
                    "bash", {"command": text}, error=f"failed {text}", session=session
                )

    path = tmp_path / "bank.db"
    with_bank(path, store)
    opened = open_page(
        written(Settings(bank=path, project=PROJECT), tmp_path / "hostile.html").as_uri()
    )
    for name in ("lessons", "time", "recalled", "repeats", "clusters", "deciding"):
        opened.view(name)
        assert opened.page.locator("img, b, iframe, main script, main a").count() == 0
    opened.view("lessons")
    opened.page.locator("#by-state").select_option("")
    texts = " ".join(opened.page.locator(".row .first").all_inner_texts())
    assert "<img src=x onerror=alert(2)>" in texts
    assert "</script><script>alert(1)</script>" in texts
    for row in opened.page.locator(".row").all():
        row.click()
        assert opened.page.locator(".detail img, .detail b, .detail script").count() == 0


def test_an_empty_bank_says_what_to_do(open_page: Open, tmp_path: Path) -> None:
    opened = open_page(
        written(
            Settings(bank=tmp_path / "new.db", project=PROJECT), tmp_path / "empty.html"
        ).as_uri()
    )
    text = opened.page.locator("main").inner_text()
    assert "Nothing was learned here yet" in text
    assert "mcp-reflect install HOST" in text
    opened.page.keyboard.press("/")
    opened.page.keyboard.press("Escape")
