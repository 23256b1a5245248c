"""The board in the official host of MCP Apps, in Chromium: `python -m tools.hosts.mcp_app DIR`.

DIR is where npm put @modelcontextprotocol/ext-apps and esbuild. A client that declares the extension opens our server
over stdio and calls its tool; the AppBridge of the package shows the page under the policy that the extension asks of
hosts, hands it the result, and passes its calls on. No model takes part.
"""

import asyncio
import json
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client import advertise

from tools.hosts.trying import Home, binary, clean_home, held, step

_playwright: Any = import_module("playwright.async_api")  # where types are checked, it is not there
APPS, PAGE = "io.modelcontextprotocol/ui", "text/html;profile=mcp-app"
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
"""What a host has to enforce where a page names no addresses."""
HOSTILE = "</script><img src=x onerror=\"parent.heard.push('broke out')\">Deploy on a Tuesday"
LESSONS = (
    {"mistake": "Deployed on a Friday", "correction": HOSTILE},
    {"mistake": "Ran pytest alone", "correction": "Run pytest by uv"},
)


def bundled() -> str:
    """The host's script with the packages that it imports."""
    esbuild = binary(".bin/esbuild")
    source = Path(__file__).with_name("mcp_app_host.js").read_text("utf-8")
    words = (esbuild, "--bundle", "--format=iife", "--loader=js", "--log-level=error")
    folder = Path(esbuild).parent.parent.parent
    return subprocess.run(
        words, input=source, cwd=folder, capture_output=True, text=True, check=True, timeout=60
    ).stdout


async def try_board(client: Client, page: Any, script: str) -> None:
    """Open the board as a host does at a call of its tool; search it, and forget a lesson."""
    for lesson in LESSONS:
        await client.call_tool("store_lesson", dict(lesson))
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    held(len(tools) == 9, f"the board is offered besides: {sorted(tools)}")
    uri = (tools["show_board"].meta or {})["ui"]["resourceUri"]
    (content,) = (await client.read_resource(uri)).contents
    held(content.mime_type == PAGE, f"{content.mime_type} is shown")
    words = {"search": "tuesday"}
    result = await client.call_tool("show_board", words)

    async def ask(method: str, params: str) -> str:
        sent = json.loads(params)
        if method == "resources/read":
            answer: Any = await client.read_resource(sent["uri"])
        else:
            answer = await client.call_tool(sent["name"], sent["arguments"])
        return answer.model_dump_json(by_alias=True, exclude_none=True)

    faults: list[str] = []

    def note_request(request: Any) -> None:
        faults.append(request.url)

    def note_error(error: Any) -> None:
        faults.append(str(error))

    page.on("pageerror", note_error)
    page.on("request", note_request)
    await page.expose_function("ask", ask)
    await page.evaluate(script)
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    html = getattr(content, "text", "").replace("<head>", f"<head>{policy}", 1)
    value = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    await page.evaluate("given => open_app(...given)", [html, words, value])
    expect = _playwright.expect
    board = page.frame_locator("iframe")
    await expect(board.locator(".row")).to_have_count(1, timeout=20_000)
    await expect(board.locator("#search")).to_have_value("tuesday")
    await expect(board.locator("#theme")).to_have_text("Theme: dark")
    await board.locator(".row").click()
    await expect(board.locator(".detail")).to_contain_text(HOSTILE)
    await board.locator("[data-action=forget]").click()
    await expect(board.locator("#said")).to_contain_text("Forgotten")
    await expect(board.locator(".row")).to_have_count(0)
    heard = await page.evaluate("heard")
    held(heard == ["initialized"], f"no text became a script: {heard}")
    network = [fault for fault in faults if not fault.startswith("about:")]
    held(not network, f"no fault and no request: {network}")


async def play(home: Home, script: str) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "mcp_reflect"], env=home.env, cwd=home.project
    )
    extensions = [advertise(APPS, {"mimeTypes": [PAGE]})]
    async with (
        _playwright.async_playwright() as playwright,
        Client(server, extensions=extensions) as client,
    ):
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        await try_board(client, await browser.new_page(), script)
        await browser.close()


def main() -> int:
    """Try it; see the module."""
    script = bundled()
    with clean_home("mcp_app") as home, step("the board in the official host of MCP Apps"):
        asyncio.run(play(home, script))
    return 0


if __name__ == "__main__":
    sys.exit(main())
