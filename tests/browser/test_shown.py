"""The board in Chromium: every control of what only shows; and axe finds nothing in any view and theme."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from mcp_reflect.dashboard.page import ASSETS
from mcp_reflect.models.lesson import Lesson
from tests.browser.conftest import Open, Opened
from tests.dashboard.served import Served

pytestmark = pytest.mark.browser
VIEWS = ("lessons", "time", "recalled", "repeats", "clusters", "deciding")


def count(opened: Opened) -> int:
    """How many lessons the filters leave."""
    return int(
        opened.page.locator("#view-lessons .found").inner_text().split(" of ")[0].replace(",", "")
    )


def chosen(opened: Opened) -> str:
    """The first words of the chosen row."""
    return opened.page.locator(".row[aria-selected=true] .first").inner_text()


def test_search_and_filters_narrow_the_list_and_escape_clears_it(shown: Opened) -> None:
    every = count(shown)
    shown.page.keyboard.press("/")
    assert shown.page.evaluate("document.activeElement.id") == "search"
    shown.page.keyboard.type("migration deploy")
    expect(shown.page.locator("#view-lessons .found")).not_to_contain_text(f"{every} of")
    assert 0 < count(shown) < every
    assert "migration" in shown.page.locator(".row .first").first.inner_text().lower()
    shown.page.keyboard.press("Escape")
    assert count(shown) == every
    for name in ("kind", "trust", "type", "source"):
        select = shown.page.locator(f"#by-{name}")
        for value in [
            option
            for option in select.locator("option").evaluate_all("all => all.map(one => one.value)")
            if option
        ]:
            select.select_option(value)
            assert count(shown) > 0
            shown.page.wait_for_timeout(20)
        select.select_option("")
    shown.page.locator("#by-state").select_option("")
    assert count(shown) >= every


def test_nothing_found_leaves_no_row_and_no_lesson_chosen(shown: Opened) -> None:
    shown.page.locator(".row").first.click()
    shown.page.locator("#search").fill("no such word at all")
    expect(shown.page.locator(".row")).to_have_count(0)
    assert count(shown) == 0
    assert "Choose a lesson" in shown.page.locator(".detail").inner_text()


def fact(opened: Opened, name: str) -> str:
    """A fact of the chosen lesson."""
    return opened.page.locator(f".detail dt:text-is('{name}') + dd").inner_text()


def share(opened: Opened) -> float:
    """How often the chosen lesson works, in percent; the even chance of one that nobody tried."""
    shown = opened.page.locator(".row[aria-selected=true] .share").inner_text()
    return 50.0 if shown == "untried" else float(shown.split()[0])


ORDERS: dict[str, Callable[[Opened], float]] = {
    "worth": share,
    "doubt": lambda opened: -share(opened),
    "uses": lambda opened: float(fact(opened, "Used").split()[0]),
    "importance": lambda opened: float(fact(opened, "Importance")),
    "evidence": lambda opened: float(fact(opened, "Outcomes").replace("none", "0 of 0").split()[2]),
    "new": lambda opened: float(re.sub(r"\D", "", fact(opened, "Stored"))),
}


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_puts_the_most_first_and_the_least_last(shown: Opened, order: str) -> None:
    shown.page.locator("#by-type").select_option("api")
    if order != "new":
        shown.page.locator("#by-trust").select_option("observed")
    shown.page.locator("#by-order").select_option(order)
    shown.page.locator("#list").focus()
    found = []
    for key in ("Home", *["ArrowDown"] * (count(shown) - 1)):
        shown.page.keyboard.press(key)
        found.append(ORDERS[order](shown))
    assert len(found) > 2
    assert found == sorted(found, reverse=True) if order != "evidence" else found[0] >= found[-1]
    assert found[0] > found[-1]


def test_the_arrows_move_through_the_list_and_the_reader_is_told_the_row(shown: Opened) -> None:
    keys = shown.page.keyboard
    shown.page.locator("#list").focus()
    seen = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "PageDown", "End", "PageUp", "Home"):
        keys.press(key)
        seen.append(chosen(shown))
        row = shown.page.locator("#list").get_attribute("aria-activedescendant")
        assert shown.page.locator(f"#{row}").get_attribute("aria-selected") == "true"
        box, frame = (
            shown.page.locator(f"#{row}").bounding_box(),
            shown.page.locator("#list").bounding_box(),
        )
        assert frame["y"] - 1 <= box["y"] <= frame["y"] + frame["height"]
    assert seen[0] == seen[2] == seen[6]
    assert len(set(seen)) >= 4


def test_tabs_move_by_arrows_and_only_the_chosen_one_is_in_the_order_of_tab(shown: Opened) -> None:
    shown.page.locator("#tab-lessons").focus()
    for name in (*VIEWS[1:], VIEWS[0]):
        shown.page.keyboard.press("ArrowRight")
        assert shown.page.evaluate("document.activeElement.id") == f"tab-{name}"
        assert shown.page.locator(f"#view-{name}").is_visible()
    shown.page.keyboard.press("End")
    assert shown.page.locator("[role=tab][tabindex='0']").evaluate_all(
        "all => all.map(one => one.id)"
    ) == ["tab-deciding"]
    shown.page.keyboard.press("ArrowRight")
    assert shown.page.evaluate("document.activeElement.id") == "tab-lessons"


def test_the_theme_is_the_machines_until_the_button_says_another(shown: Opened) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = shown.page.evaluate(ground)
    button = shown.page.locator("#theme")
    button.click()
    assert (button.inner_text(), shown.page.evaluate(ground)) == ("Theme: light", light)
    button.click()
    assert button.inner_text() == "Theme: dark"
    dark = shown.page.evaluate(ground)
    assert dark != light
    shown.page.reload()
    assert shown.page.evaluate(ground) == dark
    button.click()
    shown.page.emulate_media(color_scheme="dark")
    assert (button.inner_text(), shown.page.evaluate(ground)) == ("Theme: auto", dark)


def drawn(figure: Any) -> int:
    """How many colours a chart's canvas has."""
    return figure.locator("canvas").evaluate(
        """canvas => new Set(new Uint32Array(canvas.getContext('2d')
             .getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"""
    )


def test_effectiveness_is_drawn_for_all_and_for_a_type_and_told_as_a_table(shown: Opened) -> None:
    view = shown.view("time")
    assert drawn(view) > 10
    view.locator("summary").click()
    whole = view.locator("details table tbody tr").count()
    assert whole > 20
    assert "interval" in view.inner_text()
    reading = view.locator(".reading").inner_text()
    view.locator(".stage").hover(position={"x": 200, "y": 80})
    assert view.locator(".reading").inner_text() != reading
    shown.page.locator("#time-type").select_option("deploy")
    assert view.locator(".reading").inner_text() != reading
    assert shown.page.evaluate("document.activeElement.id") == "time-type"
    before = view.locator(".reading").inner_text()
    shown.page.locator("#time-span").select_option(str(30 * 86400))
    assert view.locator(".reading").inner_text() != before
    assert drawn(view) > 10


@pytest.mark.parametrize(("name", "events"), [("recalled", "recalls"), ("repeats", "warnings")])
def test_events_are_drawn_filtered_and_told_one_by_one(
    shown: Opened, name: str, events: str
) -> None:
    view = shown.view(name)
    assert drawn(view) > 10
    rows = view.locator("section table tbody tr")
    every = int(view.locator(".found").inner_text().split(" of ")[1])
    shown.page.locator(f"#became-{events}").focus()
    shown.page.locator(f"#became-{events}").select_option("failed")
    failed = int(view.locator(".found").inner_text().split(" of ")[1])
    assert 0 < failed < every
    assert shown.page.evaluate("document.activeElement.id") == f"became-{events}"
    shown.page.locator(f"#became-{events}").select_option("")
    if events == "recalls":
        assert rows.count() == 50
        view.get_by_role("button", name="Show 50 more").click()
        assert rows.count() == 100
        words = rows.first.locator("button.link").first.inner_text()
        rows.first.locator("button.link").first.click()
        assert shown.page.locator("#view-lessons").is_visible()
        assert chosen(shown) == words
    view.locator("details summary").evaluate("summary => summary.click()")
    assert view.locator("details table tbody tr").count() > 5


def test_clusters_are_moved_through_opened_and_told_as_a_list(shown: Opened) -> None:
    view = shown.view("clusters")
    nodes = view.locator("svg [role=button]")
    assert nodes.count() >= 10
    assert view.locator("svg [tabindex='0']").count() == 1
    view.locator("svg [tabindex='0']").focus()
    shown.page.keyboard.press("ArrowRight")
    assert nodes.nth(1).get_attribute("tabindex") == "0"
    words = nodes.nth(1).get_attribute("aria-label")
    shown.page.keyboard.press("Enter")
    assert words.startswith(chosen(shown))
    view = shown.view("clusters")
    assert view.locator(".groups button").count() == nodes.count()
    assert view.locator(".groups button").first.is_visible()


def test_the_time_axis_ends_today_and_one_figure_says_how_often_lessons_work(shown: Opened) -> None:
    today = shown.page.locator("#scope").inner_text().split("as of ")[1][:10]
    view = shown.view("time")
    assert view.locator(".uplot").first.get_attribute("data-until") == today
    (tile,) = [
        text
        for text in shown.page.locator("#tiles > div").all_inner_texts()
        if "Lessons work" in text
    ]
    assert tile.splitlines()[1] in view.locator(".reading").inner_text()


def test_a_group_is_named_by_plain_words(shown: Opened) -> None:
    names = shown.view("clusters").locator(".groups strong").all_inner_texts()
    assert names
    assert [
        name for name in names if not re.fullmatch(r"[^\W\d_]+(?:[,:]? [^\W\d_]+)*", name)
    ] == []


def test_a_written_board_shows_what_waits_and_does_nothing(shown: Opened) -> None:
    view = shown.view("deciding")
    assert "This page only shows" in view.inner_text()
    assert shown.page.locator("[data-action]").count() == 0
    view.get_by_role("button", name="Look at it closely").first.click()
    assert "Why it waits" in shown.page.locator(".detail").inner_text()
    assert shown.page.locator("[data-action]").count() == 0


def test_on_a_phone_a_lesson_opens_over_the_list_and_nothing_is_cut_off(
    open_page: Open, file: Path
) -> None:
    opened = open_page(file.as_uri(), width=360, height=740, has_touch=True)
    for name in VIEWS:
        opened.view(name)
        assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    opened.view("lessons")
    assert opened.page.locator("#by-kind").is_hidden()
    opened.page.get_by_text("Filter and order").click()
    assert opened.page.locator("#by-kind").is_visible()
    opened.page.locator(".row").first.tap()
    back = opened.page.get_by_role("button", name="Back to the list")
    assert back.evaluate("back => back === document.activeElement")
    back.click()
    assert opened.page.evaluate("document.activeElement.id") == "list"
    opened.page.keyboard.press("ArrowDown")
    assert back.is_hidden()
    opened.page.keyboard.press("Enter")
    assert back.is_visible()
    opened.page.keyboard.press("Escape")
    assert back.is_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720), (768, 1024), (400, 800)])
def test_lessons_are_in_the_first_screen_at_any_size(
    open_page: Open, file: Path, tmp_path: Path, theme: str, width: int, height: int
) -> None:
    opened = open_page(file.as_uri(), theme=theme, width=width, height=height)
    first = opened.page.locator(".row").first.bounding_box()
    assert first
    assert first["y"] + first["height"] < height
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    folder = Path(os.environ.get("SCREENSHOTS", tmp_path))
    picture = opened.page.screenshot(path=folder / f"board-{width}x{height}-{theme}.png")
    assert len(picture) > 10_000  # an empty page is smaller


def test_who_wants_no_motion_gets_none(open_page: Open, file: Path) -> None:
    opened = open_page(file.as_uri(), reduced_motion="reduce")
    still = "one => getComputedStyle(one).transitionDuration === '0s' && getComputedStyle(one).animationName === 'none'"
    assert opened.page.locator("*").evaluate_all(f"all => all.every({still})")


def test_the_rate_of_the_page_is_the_banks(shown: Opened) -> None:
    cases = [(2.0, 2.0), (0.3, 3.7), (9.5, 1.25), (250.0, 40.0), (1200.0, 3.0), (1.0, 1.0)]
    script = (ASSETS / "rate.js").read_text(encoding="utf-8")
    told = shown.page.evaluate(
        f"cases => {{ {script}; return cases.map(([a, b]) => posterior(a, b).mean) }}",
        [list(case) for case in cases],
    )
    for (wins, losses), found in zip(cases, told, strict=True):
        lesson = Lesson(
            id="les_1", project="", text="x", mistake="x", correction="y", wins=wins, losses=losses,
            created_at=0, updated_at=0,
        )  # fmt: skip
        assert found == pytest.approx(lesson.rate)


def violations(opened: Opened) -> list[str]:
    """What axe has against the page as it stands, every rule that it has but the experimental ones."""
    script = Path(os.environ["AXE"]).read_text(encoding="utf-8")
    opened.page.evaluate(script)
    found = opened.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:160]} {node['failureSummary']}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_in_any_view(open_page: Open, file: Path, theme: str, width: int) -> None:
    opened = open_page(file.as_uri(), theme=theme, width=width)
    for name in VIEWS:
        view = opened.view(name)
        for summary in view.locator("summary:visible").all():
            summary.click()
        assert violations(opened) == [], name
    opened.view("lessons")
    opened.page.locator(".row").first.click()
    assert violations(opened) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_where_a_person_acts(open_page: Open, served: Served, theme: str) -> None:
    opened = open_page(f"http://{served.place}/#{served.board.token}", theme=theme)
    opened.page.locator(".row").nth(2).click()
    opened.page.locator("[data-action=edit]").click()
    assert violations(opened) == []
    opened.page.locator("[data-action=history]").click()
    opened.view("deciding")
    opened.page.locator("[data-action=approve]").first.click()
    opened.said()
    assert violations(opened) == []
