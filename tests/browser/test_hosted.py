"""The board inside a host's conversation: a frame of another origin, and JSON-RPC with the window around it.

`python -m tools.hosts.mcp_app` shows it in the official host.
"""

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client import advertise
from playwright.sync_api import expect

from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import State
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.browser.conftest import PROJECT, ran

APPS, PAGE = "io.modelcontextprotocol/ui", "text/html;profile=mcp-app"
INPUT, RESULT = "ui/notifications/tool-input", "ui/notifications/tool-result"

pytestmark = pytest.mark.browser

# A host as small as it may be: it frames the page and passes on what the page asks for.
HOST = """async ([html, capabilities, given]) => {
  window.heard = [];
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.width = 1000;
  frame.height = 800;
  addEventListener('message', async ({ data, source }) => {
    if (source !== frame.contentWindow) return;
    window.heard.push(data.method);
    if (data.method === 'ui/notifications/initialized') for (const message of given) window.tell(message);
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
            Client(
                build(engine=engine), extensions=[advertise(APPS, {"mimeTypes": [PAGE]})]
            ) as client,
        ):
            if method == "resources/read":
                found: Any = await client.read_resource(params["uri"])
            else:
                found = await client.call_tool(params["name"], params["arguments"])
            return found.model_dump(mode="json", by_alias=True, exclude_none=True)

    return ran(work)


def opening(bank: Path, **arguments: Any) -> list[dict[str, Any]]:
    """What a host tells the page of the call that it was opened for."""
    result = called(bank, "tools/call", {"name": "show_board", "arguments": arguments})
    return [
        {"method": INPUT, "params": {"arguments": arguments}},
        {"method": RESULT, "params": result},
    ]


@pytest.fixture
def hosted(browser: Any, bank: Path) -> Generator[Callable[..., Any]]:
    """Opens the board in a host with these capabilities, which tells it these messages; gives the host's page."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    faults: list[str] = []

    def opened(capabilities: dict[str, Any], told: list[dict[str, Any]] | None = None) -> Any:
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
        told = opening(bank) if told is None else told
        page.evaluate(HOST, [content["text"], capabilities, told])
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


def test_the_words_that_a_person_asked_for_are_searched(
    hosted: Callable[..., Any], bank: Path
) -> None:
    board = hosted({}, opening(bank, search="Friday")).frame_locator("iframe")
    expect(board.locator("#search")).to_have_value("Friday")
    expect(board.locator(".row")).to_have_count(1)


@pytest.mark.parametrize("can", ["serverTools", "serverResources"])
def test_a_host_that_hands_on_no_meta_is_asked(
    hosted: Callable[..., Any], bank: Path, can: str
) -> None:
    sent, result = opening(bank)
    del result["params"]["_meta"]
    board = hosted({can: {}}, [sent, result]).frame_locator("iframe")
    expect(board.locator(".row").first).to_be_visible()


def test_without_lessons_the_page_says_where_they_are(hosted: Callable[..., Any]) -> None:
    board = hosted({}, [{"method": RESULT, "params": {"content": []}}]).frame_locator("iframe")
    expect(board.locator("#main")).to_contain_text("mcp-reflect board")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"method": "ui/notifications/tool-cancelled", "params": {}}, "cancelled"),
        (
            {
                "method": RESULT,
                "params": {"isError": True, "content": [{"type": "text", "text": "The bank <b>"}]},
            },
            "The bank <b>",
        ),
    ],
)
def test_a_call_that_failed_is_told_on_the_page(
    hosted: Callable[..., Any], message: dict[str, Any], said: str
) -> None:
    board = hosted({}, [message]).frame_locator("iframe")
    expect(board.locator("#main")).to_contain_text(said)


def test_a_message_of_another_window_is_no_result(hosted: Callable[..., Any], bank: Path) -> None:
    page = hosted({}, [])
    board = page.frame_locator("iframe")
    expect(board.locator("h1")).to_be_visible()
    page.evaluate(
        """async (result) => {
          const other = document.createElement('iframe');
          document.body.append(other);
          const target = document.querySelector('iframe').contentWindow;
          const script = other.contentDocument.createElement('script');
          other.contentWindow.target = target;
          other.contentWindow.result = result;
          script.textContent = "target.postMessage({jsonrpc: '2.0', ...result}, '*')";
          other.contentDocument.body.append(script);
        }""",
        opening(bank)[1],
    )
    page.wait_for_timeout(300)
    expect(board.locator(".row")).to_have_count(0)
