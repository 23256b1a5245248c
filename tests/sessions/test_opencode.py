"""Sessions of opencode, in its database: parts as the real program wrote them, with a model on loopback."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_reflect.sessions import session_database
from mcp_reflect.sessions.records import PromptAuthor
from mcp_reflect.sessions.session_database import DATABASE
from mcp_reflect.sessions.session_lines import open_session, read_file
from mcp_reflect.sessions.session_sources import SessionSource, sessions_of
from mcp_reflect.sessions.session_times import last_worked
from tests.sessions.opencode_database import BEGAN, failed, keep, ran, said
from tests.sessions.test_hosts import Heard

ASKED = ("user", [said("Deploy the shop.")])
ERROR = "error: --confirm is missing\n"
COMMANDS = ("./deploy.sh", "./deploy.sh --confirm")
DEPLOYED = [
    ASKED,
    ("assistant", [{"type": "step-start"}, ran("c1", COMMANDS[0], ERROR, 2)]),
    ("assistant", [ran("c2", COMMANDS[1], "deployed\n", 0)]),
    ("assistant", [said("It is deployed."), {"type": "step-finish", "reason": "stop"}]),
]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    return tmp_path / "share" / "opencode" / DATABASE


def places() -> list[SessionSource]:
    faults: list[tuple[str, str]] = []
    found = list(sessions_of("opencode", faults))
    assert faults == []
    return found


def heard(place: SessionSource) -> Heard:
    reader = Heard()
    with open_session(place.path) as file:
        assert read_file(file, reader, is_value=False) == []
    return reader


def test_a_session_tells_its_calls_with_their_exit_codes(database: Path) -> None:
    keep(database, "/shop", DEPLOYED)
    (place,) = places()
    assert (place.folder, place.changed) == ("/shop", (BEGAN + 4) / 1000)
    found = heard(place)
    assert found.session == "ses_1"
    assert found.of_person == ["Deploy the shop."]
    asked = [{"command": command, "description": "Look"} for command in COMMANDS]
    assert found.calls == [
        ("bash", asked[0], ERROR, False, 2),
        ("bash", asked[1], "deployed\n", False, 0),
    ]
    assert last_worked(place) == pytest.approx((BEGAN + 3) / 1000)


def test_a_call_that_failed_has_its_error(database: Path) -> None:
    error = "File not found: /shop/missing.txt"
    keep(database, "/shop", [("assistant", [failed("c", "read", {"filePath": "/m"}, error)])])
    (call,) = heard(places()[0]).calls
    assert (call[0], *call[2:4]) == ("read", error, True)


def test_a_call_that_never_ran_was_none(database: Path) -> None:
    rejected = "The user rejected permission to use this specific tool call."
    stopped = "Tool execution aborted"
    parts = [failed("c1", "bash", {}, rejected), failed("c2", "bash", {}, stopped)]
    keep(database, "/shop", [ASKED, ("assistant", parts)])
    found = heard(places()[0])
    assert found.calls == []
    assert found.missing == 1, "a call that was stopped may have done something"


def test_what_hooks_put_behind_an_output_is_not_read(database: Path) -> None:
    part = ran("c", "./deploy.sh", ERROR, 2)
    part["state"]["output"] = f"{ERROR}\n\nmcp-reflect: keep what it should know"
    keep(database, "/shop", [("assistant", [part])])
    assert heard(places()[0]).calls[0][2] == ERROR


def test_only_a_person_s_words_are_a_person_s(database: Path) -> None:
    keep(database, "/shop", [("user", [said("Go on."), said("A lesson", synthetic=True)])])
    keep(database, "/shop", [ASKED], name="ses_2", parent="ses_1")
    speakers = {text: who for place in places() for text, who in heard(place).asks}
    assert speakers == {
        "Go on.": PromptAuthor.PERSON,
        "A lesson": PromptAuthor.HOST,
        "Deploy the shop.": PromptAuthor.PROGRAM,
    }


def test_a_part_that_is_no_json_is_a_fault_of_its_line(database: Path) -> None:
    keep(database, "/shop", DEPLOYED)
    with closing(sqlite3.connect(database)) as bank, bank:
        bank.execute("UPDATE part SET data = '{\"type\": \"tool\nx' WHERE id LIKE '%_001_001'")
    assert len(heard(places()[0]).calls) == 1


@pytest.mark.parametrize("name", ["../../etc", "a/b", "", "x\ny"])
def test_the_name_of_a_session_leads_nowhere(database: Path, name: str) -> None:
    keep(database, "/shop", DEPLOYED, name=name)
    assert places() == []


def test_a_database_that_cannot_be_read_is_named(database: Path) -> None:
    database.parent.mkdir(parents=True)
    database.write_bytes(b"no database" * 100)
    faults: list[tuple[str, str]] = []
    assert list(sessions_of("opencode", faults)) == []
    ((where, why),) = faults
    assert where == str(database)
    assert "cannot be read" in why


def test_a_link_in_the_place_of_a_database_is_not_followed(database: Path, tmp_path: Path) -> None:
    keep(tmp_path / "other" / DATABASE, "/shop", DEPLOYED)
    database.parent.mkdir(parents=True)
    database.symlink_to(tmp_path / "other" / DATABASE)
    faults: list[tuple[str, str]] = []
    assert list(sessions_of("opencode", faults)) == []
    assert len(faults) == 1


def test_a_database_of_a_version_with_other_tables_is_named(database: Path) -> None:
    database.parent.mkdir(parents=True)
    with closing(sqlite3.connect(database)) as bank, bank:
        bank.execute("CREATE TABLE session (id text)")
    faults: list[tuple[str, str]] = []
    assert list(sessions_of("opencode", faults)) == []
    assert "no such" in faults[0][1]


def test_reading_changes_nothing_while_the_host_writes(database: Path) -> None:
    keep(database, "/shop", DEPLOYED)
    with closing(sqlite3.connect(database)) as host:
        host.execute("BEGIN IMMEDIATE")
        host.execute("UPDATE session SET directory = '/other'")
        before = database.read_bytes()
        assert [len(heard(place).calls) for place in places()] == [2]
        assert database.read_bytes() == before
        host.rollback()


def test_a_database_that_never_answers_is_given_up(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_database, "_MOST_SECONDS", 0.1)
    keep(database, "/home/ada/shop", DEPLOYED)
    endless = """
    ALTER TABLE part RENAME TO old_part;
    CREATE VIEW part AS WITH RECURSIVE counted(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM counted)
      SELECT number AS id, 'ses_1' AS session_id, 'x' AS data FROM counted;
    """
    with closing(sqlite3.connect(database)) as bank:
        bank.executescript(endless)
    faults: list[tuple[str, str]] = []
    assert list(sessions_of("opencode", faults)) == []
    [(path, fault)] = faults
    assert path == str(database)
    assert "interrupted" in fault
