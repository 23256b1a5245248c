"""The board inside a host's conversation: a frame of another origin, and JSON-RPC with the window around it."""

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from playwright.sync_api import expect

from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import State
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.browser.conftest import PROJECT, ran

pytestmark = pytest.mark.browser

# A host as small as it may be: it frames the page and passes on what the page asks for.
HOST = """async ([html, capabilities]) => {
  window.heard = [];
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.width = 1000;
  frame.height = 800;
  addEventListener('message', async ({ data, source }) => {
    if (source !== frame.contentWindow) return;
    window.heard.push(data.method);
    if (data.id === undefined || data.method === undefined) return; // what it answers to a ping is no request
    const reply = (more) => source.postMessage({ jsonrpc: '2.0', id: data.id, ...more }, '*');
    if (data.method === 'ui/initialize') {
      return reply({ result: { protocolVersion: data.params.protocolVersion, hostInfo: { name: 'host', version: '1' },
        hostCapabilities: capabilities, hostContext: { theme: 'dark' } } });
    }
    const answer = JSON.parse(await window.ask(data.method, JSON.stringify(data.params)));
    reply(answer.error ? { error: { code: -32000, message: answer.error } } : { result: answer });
  });
  window.tell = (message) => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*');
  frame.srcdoc = html;
  document.body.append(frame);
}"""


def called(bank: Path, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What the server answers to a call that the page has the host make."""

    async def work() -> dict[str, Any]:
        async with (
            Engine(Settings(bank=bank, project=PROJECT)) as engine,
            Client(build(engine=engine)) as client,
        ):
            if method == "resources/read":
                found: Any = await client.read_resource(params["uri"])
            else:
                found = await client.call_tool(params["name"], params["arguments"])
            return found.model_dump(mode="json", by_alias=True, exclude_none=True)

    return ran(work)


@pytest.fixture
def hosted(browser: Any, bank: Path) -> Generator[Callable[[dict[str, Any]], Any]]:
    """Opens the board in a host with these capabilities; gives the host's page."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    faults: list[str] = []

    def opened(capabilities: dict[str, Any]) -> Any:
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "request",
            lambda request: faults.append(request.url) if request.url.startswith("http") else None,
        )
        page.expose_function(
            "ask", lambda method, params: json.dumps(called(bank, method, json.loads(params)))
        )
        (content,) = called(bank, "resources/read", {"uri": "ui://mcp-reflect/board"})["contents"]
        page.evaluate(HOST, [content["text"], capabilities])
        return page

    yield opened
    context.close()
    assert faults == []


def test_a_host_shows_the_board_in_its_own_theme_and_learns_its_size(
    hosted: Callable[..., Any],
) -> None:
    page = hosted({})
    board = page.frame_locator("iframe")
    expect(board.locator(".row").first).to_be_visible()
    expect(board.locator("#theme")).to_have_text("Theme: dark")
    assert page.evaluate("heard")[0] == "ui/initialize"
    page.wait_for_timeout(100)
    assert {"ui/notifications/initialized", "ui/notifications/size-changed"} <= set(
        page.evaluate("heard")
    )
    board.locator(".row").first.click()
    expect(board.locator("[data-action]")).to_have_count(0)
    page.evaluate(
        "tell({method: 'ui/notifications/host-context-changed', params: {theme: 'light'}})"
    )
    expect(board.locator("#theme")).to_have_text("Theme: light")
    page.evaluate("tell({id: 9, method: 'ping'})")


def test_words_in_quarantine_do_not_reach_a_host(hosted: Callable[..., Any]) -> None:
    board = hosted({"serverResources": {}}).frame_locator("iframe")
    board.locator("#tab-deciding").click()
    expect(board.locator("#view-deciding")).to_contain_text("In quarantine (2)")
    expect(board.locator("#view-deciding")).not_to_contain_text("Ignore all previous")


def test_where_the_host_passes_calls_on_a_lesson_is_forgotten_and_its_history_read(
    hosted: Callable[..., Any], bank: Path
) -> None:
    page = hosted({"serverTools": {}, "serverResources": {}})
    board = page.frame_locator("iframe")
    board.locator("#search").fill("Friday")
    expect(board.locator(".row")).to_have_count(1)
    board.locator(".row").click()
    name = board.locator(".detail dd code").first.inner_text()
    board.locator("[data-action=history]").click()
    expect(board.locator(".detail")).to_contain_text("It is as it was stored.")
    board.locator("[data-action=forget]").click()
    expect(board.locator("#said")).to_contain_text("Forgotten")
    expect(board.locator(".row")).to_have_count(0)

    async def state() -> State:
        async with Engine(Settings(bank=bank, project=PROJECT)) as engine:
            return (await engine.bank.lessons.get(engine.scopes.own, name)).state

    assert ran(state) is State.RETIRED


def test_what_the_agent_recalled_is_shown_alone_until_all_is_asked_for(
    hosted: Callable[..., Any],
) -> None:
    page = hosted({})
    board = page.frame_locator("iframe")
    ids = board.locator(".row").evaluate_all("all => all.length")
    assert ids > 2
    board.locator(".row").first.click()
    name = board.locator(".detail dd code").first.inner_text()
    page.evaluate(
        "name => tell({method: 'ui/notifications/tool-result', params: {structuredContent: {lessons: [{id: name}]}}})",
        name,
    )
    expect(board.locator(".row")).to_have_count(1)
    board.locator("#all").click()
    assert board.locator(".row").count() > 2
