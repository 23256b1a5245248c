"""axe finds nothing: every view, in both themes, wide and narrow, shown and acting."""

import os
from pathlib import Path

import pytest

from tests.browser.conftest import Open, Opened
from tests.dashboard.served import Served

pytestmark = pytest.mark.browser
VIEWS = ("lessons", "time", "recalled", "repeats", "clusters", "deciding")


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
