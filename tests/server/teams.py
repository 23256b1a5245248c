"""Replicas of a team's service in this process, spoken to as over HTTP."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.log import Log
from mcp_reflect.models.access import AccessRole
from mcp_reflect.projects import Scopes
from mcp_reflect.server.http import RequestLimits
from mcp_reflect.server.team import Replica, TeamOptions
from mcp_reflect.services.context import open_bank
from mcp_reflect.storage.bank import Bank
from tests.conftest import Era

PLACE = "http://127.0.0.1:8000"


class Team:
    """One replica over a bank of its own connections."""

    def __init__(self, replica: Replica, bank: Bank, settings: Settings) -> None:
        self.replica = replica
        self.settings = settings
        self.bank = bank

    async def token(
        self,
        name: str,
        *projects: str,
        tenant: str = "acme",
        role: AccessRole = AccessRole.WRITER,
        **more: Any,
    ) -> str:
        """The text of a new token."""
        return await self.bank.tokens.add(
            name, tenant=tenant, projects=projects or ["shop"], role=role, **more
        )

    def http(self, token: str = "", project: str = "") -> httpx2.AsyncClient:
        """A client of HTTP that sends the token."""
        sent = {"Authorization": token and f"Bearer {token}", "Mcp-Reflect-Project": project}
        sent = {name: value for name, value in sent.items() if value}
        transport = httpx2.ASGITransport(app=RequestLimits(self.replica.app, self.settings))
        return httpx2.AsyncClient(transport=transport, base_url=PLACE, headers=sent, timeout=30)

    @asynccontextmanager
    async def client(
        self, token: str = "", era: Era = "2026-07-28", project: str = ""
    ) -> AsyncGenerator[Client]:
        """A client of MCP that sends the token."""
        http = self.http(token, project)
        async with (
            http,
            Client(streamable_http_client(f"{PLACE}/mcp", http_client=http), mode=era) as client,
        ):
            yield client


@asynccontextmanager
async def replica(
    settings: Settings, *, clock: Clock | None = None, **options: Any
) -> AsyncGenerator[Team]:
    """A replica that has started."""
    log = Log.of(settings)
    bank = open_bank(settings, Scopes.of(settings), clock=clock or Clock(), log=log)
    try:
        made = Replica(
            settings, TeamOptions(host="127.0.0.1", port=8000, **options), bank, log, 8000
        )
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(made.app.router.lifespan_context(made.app))
            yield Team(made, bank, settings)
    finally:
        await bank.close()
