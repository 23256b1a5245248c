"""How the board goes with many lessons, in a real Chromium: python -m benchmarks.board --lessons 10000.

A made-up bank is filled, its board written and opened; then the list is scrolled as a wheel does and in jumps, and
filtered letter by letter. A line of JSON: what the data and the page take to make (processor time, s) and their size
(kB); until the first row stands (ms); the frames while scrolling, and how many tasks held the page longer than 50 ms;
how long a letter in the search takes until the rows stand (ms: middle, longest).

`--screenshots DIR` writes the pictures of docs/board.md. Needs Playwright and a Chromium (see .ci/board).
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp_reflect.config import Settings
from mcp_reflect.dashboard.contents import collect
from mcp_reflect.dashboard.page import render_page
from mcp_reflect.services.engine import Engine
from tests.dashboard.made_bank import make

_SCROLL = """async (step) => {
  const list = document.getElementById('list');
  const frames = [];
  let last = performance.now();
  list.scrollTop = 0;
  for (let number = 0; number < 200; number += 1) {
    list.scrollTop += step;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - last);
    last = now;
  }
  return frames;
}"""
_WHEEL = 240  # pixels a frame, a quick turn of the wheel; a jump is ten times as far, so that every row is another
_SEARCH = """async (letters) => {
  const search = document.getElementById('search');
  const times = [];
  for (const letter of letters) {
    const begin = performance.now();
    search.value += letter;
    search.dispatchEvent(new Event('input'));
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - begin);
  }
  return times;
}"""
_WATCH = """window.long = [];
new PerformanceObserver((all) => window.long.push(...all.getEntries().map((one) => one.duration)))
  .observe({ entryTypes: ['longtask'] });"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lessons", type=int, default=10_000)
    parser.add_argument("--screenshots", type=Path)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        if given.screenshots:
            pictures(Path(folder), given.screenshots)
        else:
            print(json.dumps(measured(Path(folder), given.lessons)), flush=True)
    return 0


async def built(bank: Path) -> dict[str, Any]:
    """The page of a bank, and what making it took."""
    async with Engine(Settings(bank=bank, project="shop")) as engine:
        await engine.bank.open()
        begun = time.process_time()
        data = await collect(engine)
        gathering = time.process_time() - begun
        html = render_page("written", data).html
        paging = time.process_time() - begun - gathering
    return {"html": html, "gathered_cpu_s": round(gathering, 2), "page_cpu_s": round(paging, 2)}


def opened(playwright: Any) -> Any:
    chromium = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    flags = (
        "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    )
    flags += " --disable-component-update --disable-sync"
    return playwright.chromium.launch(executable_path=chromium, headless=True, args=flags.split())


def processor(session: Any) -> float:
    """The processor time that the page's main thread has taken, in seconds."""
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return found["TaskDuration"]


def moved(tab: Any, session: Any, step: int) -> dict[str, float]:
    """Scroll the list by so many pixels a frame: a frame's processor time, and how long frames took, in ms."""
    before = processor(session)
    frames = sorted(tab.evaluate(_SCROLL, step))
    return {
        "cpu": round((processor(session) - before) / len(frames) * 1000, 1),
        "middle": round(statistics.median(frames), 1),
        "p95": round(frames[int(len(frames) * 0.95)], 1),
        "longest": round(frames[-1], 1),
    }


def measured(folder: Path, lessons: int) -> dict[str, Any]:
    """Fill a bank with so many lessons, write its board, open it and use it."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - brought by .ci/board

    asyncio.run(make(folder / "bank.db", more=lessons))
    made = asyncio.run(built(folder / "bank.db"))
    file = folder / "board.html"
    file.write_text(made.pop("html"), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = opened(playwright)
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        tab.add_init_script(_WATCH)
        tab.goto(file.as_uri())
        tab.locator(".row").first.wait_for()
        first = tab.evaluate("performance.now()")
        loading = len(tab.evaluate("window.long"))
        tab.evaluate("window.long = []")
        session = tab.context.new_cdp_session(tab)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        tab.evaluate("window.long = []")
        scrolled = {
            f"{name}_ms": moved(tab, session, step)
            for name, step in (("wheel", _WHEEL), ("jump", 10 * _WHEEL))
        }
        scrolling = tab.evaluate("window.long")
        tab.evaluate("window.long = []")
        letters = tab.evaluate(_SEARCH, list("voucher time zone checkout"))
        searching = tab.evaluate("window.long")
        rows = tab.locator(".row").count()
        browser.close()
    return {
        "lessons": lessons,
        **made,
        "page_kb": file.stat().st_size // 1000,
        "first_row_ms": round(first),
        "long_tasks_loading": loading,
        **scrolled,
        "long_tasks_scrolling": len(scrolling),
        "letter_ms": [round(statistics.median(letters), 1), round(max(letters), 1)],
        "long_tasks_searching": len(searching),
        "rows_in_document": rows,
    }


SHOTS = (
    ("board-lessons", "light", 1200, 720, "document.querySelectorAll('.row')[1].click()"),
    ("board-over-time", "dark", 1280, 820, "document.getElementById('tab-time').click()"),
    ("board-clusters", "light", 1280, 620, "document.getElementById('tab-clusters').click()"),
)


def pictures(folder: Path, target: Path) -> None:
    """The pictures of the docs, of the made-up bank."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - brought by .ci/board

    asyncio.run(make(folder / "bank.db"))
    file = folder / "board.html"
    file.write_text(asyncio.run(built(folder / "bank.db"))["html"], encoding="utf-8")
    with sync_playwright() as playwright:
        browser = opened(playwright)
        for name, theme, width, height, work in SHOTS:
            tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            tab.goto(file.as_uri())
            tab.evaluate(work)
            tab.wait_for_timeout(300)
            tab.screenshot(path=target / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    raise SystemExit(main())
