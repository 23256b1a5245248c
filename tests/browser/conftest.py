"""A real Chromium, and boards in it: `bash .ci/board FOLDER PYTHON` brings what these tests need and runs them.

Without Playwright they are not collected; the ordinary run leaves them out by their mark.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.dashboard.contents import collect
from mcp_reflect.dashboard.page import render_page as board_page
from mcp_reflect.services.engine import Engine
from tests.dashboard.made_bank import make
from tests.dashboard.served import Served, serving

if find_spec("playwright") is None:
    collect_ignore_glob = ["test_*.py"]

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --host-resolver-rules=MAP+*+~NOTFOUND,EXCLUDE+127.0.0.1"
)
PROJECT = "shop"


def ran(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """What `work` gives, in a thread and loop of its own: Playwright has one running here."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result()


@dataclass
class Opened:
    """A page in the browser, and what went wrong in it."""

    page: Any
    faults: list[str] = field(default_factory=list)

    def view(self, name: str) -> Any:
        """Go to a view by its tab."""
        self.page.locator(f"#tab-{name}").click()
        return self.page.locator(f"#view-{name}")

    def said(self) -> str:
        """What the page says happened."""
        said = self.page.locator("#said")
        said.wait_for()  # it is hidden while it says nothing
        return said.inner_text()


@pytest.fixture(scope="session")
def browser() -> Generator[Any]:
    from playwright.sync_api import sync_playwright

    chromium = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    with sync_playwright() as playwright:
        flags = [flag.replace("+", " ") for flag in FLAGS.split()]
        opened = playwright.chromium.launch(executable_path=chromium, headless=True, args=flags)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def made_bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "bank.db"
    ran(lambda: make(path, project=PROJECT))
    return path


@pytest.fixture
def bank(made_bank: Path, tmp_path: Path) -> Path:
    """The made-up bank, for this test to change."""
    return Path(shutil.copy(made_bank, tmp_path / "bank.db"))


def written(settings: Settings, file: Path) -> Path:
    """The board of a bank as a file."""

    async def html() -> str:
        async with Engine(settings) as engine:
            return board_page("written", await collect(engine)).html

    file.write_text(ran(html), encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def file(made_bank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(
        Settings(bank=made_bank, project=PROJECT), tmp_path_factory.mktemp("file") / "board.html"
    )


@pytest.fixture
def served(bank: Path) -> Generator[Served]:
    with serving(Settings(bank=bank, project=PROJECT)) as made:
        yield made


Open = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Any) -> Generator[Open]:
    """Opens an address; at the end of the test no page may have erred, or have asked for anything but its server."""
    contexts: list[Any] = []
    pages: list[Opened] = []

    def opened(
        address: str, *, theme: str = "light", width: int = 1280, height: int = 900, **more: Any
    ) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, **more
        )
        contexts.append(context)
        made = Opened(context.new_page())
        pages.append(made)
        own = address.split("#", maxsplit=1)[0]

        def asked(request: Any) -> None:
            if not request.url.startswith((own, "data:")):
                made.faults.append(f"asked for {request.url}")

        made.page.on("request", asked)
        made.page.on("pageerror", lambda error: made.faults.append(f"error {error}"))
        made.page.on(
            "console",
            lambda told: (
                made.faults.append(told.text) if told.type in ("error", "warning") else None
            ),
        )
        made.page.on(
            "dialog",
            lambda dialog: made.faults.append(f"dialog {dialog.message}") or dialog.dismiss(),
        )
        made.page.goto(address)
        made.page.wait_for_selector("#main > *")
        return made

    yield opened
    for context in contexts:
        context.close()
    assert [fault for made in pages for fault in made.faults] == []


@pytest.fixture
def shown(open_page: Open, file: Path) -> Opened:
    """The written board of the made-up bank."""
    return open_page(file.as_uri())


@pytest.fixture
def acting(open_page: Open, served: Served) -> Opened:
    """The served board of the made-up bank."""
    return open_page(f"http://{served.place}/#{served.board.token}")
