"""Figures of a replica for Prometheus: calls by tool, requests, quarantine, the pool of connections."""

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mcp.types import CallToolResult

from mcp_reflect.errors import InputError
from mcp_reflect.server.listing import tools

if TYPE_CHECKING:
    from mcp_reflect.storage.bank import Bank


class Metrics:
    """Counts calls and requests, and answers Prometheus at an address of its own. `tenants`: also by tenant."""

    def __init__(self, bank: "Bank", *, tenants: bool = False) -> None:
        try:
            prometheus: Any = import_module("prometheus_client")  # an extra, for those who ask for figures
        except ImportError:
            fix = "Run pip install 'mcp-reflect-server[team]'."
            raise InputError("--metrics", "it needs prometheus-client, which is not installed", fix) from None
        self._prometheus = prometheus
        self.registry = prometheus.CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        names = ("tool", "tenant") if tenants else ("tool",)
        self._tenants = tenants
        self._calls = prometheus.Counter("mcp_reflect_calls", "Calls of tools", (*names, "outcome"), **own)
        self._seconds = prometheus.Histogram("mcp_reflect_call_seconds", "Seconds of a call", names, **own)
        self._quarantined = prometheus.Counter("mcp_reflect_quarantined", "Records put into quarantine", **own)
        self._requests = prometheus.Counter("mcp_reflect_requests", "Requests over HTTP", ("status",), **own)
        self._bank = bank
        self._tools = {tool["name"] for tool in tools()}
        self.registry.register(self)
        prometheus.ProcessCollector(registry=self.registry)

    def serve(self, host: str, port: int) -> int:
        """Answer Prometheus in a thread; return the port. InputError if the address cannot be used."""
        try:
            server, _ = self._prometheus.start_http_server(port, host, self.registry)
        except OSError as error:
            raise InputError(
                "--metrics", f"the address cannot be used: {error.strerror}", "Give another address."
            ) from None
        return server.server_port

    def collect(self) -> Iterator[Any]:
        """Yield the figures of the pool of connections, where the bank has one."""
        state: dict[str, float] = getattr(self._bank.db, "pool_state", {})
        for name, value in state.items():
            about = f"{name} of the pool of connections"
            yield self._prometheus.metrics_core.GaugeMetricFamily(f"mcp_reflect_{name}", about, value)

    def note_call(self, tool: str, tenant: str, result: object, seconds: float) -> None:
        """Count a call of a tool with its result."""
        labels = {"tool": tool if tool in self._tools else "unknown"} | ({"tenant": tenant} if self._tenants else {})
        answered = isinstance(result, CallToolResult)
        outcome = "asked" if not answered else "error" if result.is_error else "ok"
        self._calls.labels(**labels, outcome=outcome).inc()
        self._seconds.labels(**labels).observe(seconds)
        content: dict[str, Any] = (answered and result.structured_content) or {}
        stored: list[dict[str, Any]] = [content, *content.get("lessons", ())]  # what a recall shows has no status
        self._quarantined.inc(sum(record.get("status") == "quarantined" for record in stored))

    def note_request(self, status: int) -> None:
        """Count a request with the status of its answer."""
        self._requests.labels(status=str(status)).inc()
