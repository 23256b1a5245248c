"""The figures of a service for Prometheus: its calls, its requests, its records in quarantine, its connections."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from mcp.types import CallToolResult

from mcp_reflect.errors import InputError
from mcp_reflect.server.service import tools
from mcp_reflect.storage.bank import Bank


class Metrics:
    """Counts calls and requests, and answers Prometheus at an address of its own."""

    def __init__(self, bank: Bank, *, names_tenants: bool = False) -> None:
        try:  # an extra of the package, for those who ask for figures
            prometheus: Any = import_module("prometheus_client")
        except ImportError:
            fix = "Run pip install prometheus-client 'PyJWT[crypto]'."
            raise InputError(
                "--metrics", "it needs prometheus-client, which is not installed", fix
            ) from None
        self._prometheus = prometheus
        self.registry = prometheus.CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        labels = ["tool", "outcome"]
        if names_tenants:
            labels.append("tenant")
        self._calls = prometheus.Counter("mcp_reflect_calls", "Calls of tools", labels, **own)
        self._seconds = prometheus.Histogram(
            "mcp_reflect_call_seconds", "Seconds of a call", ("tool",), **own
        )
        self._quarantined = prometheus.Counter(
            "mcp_reflect_quarantined", "Records put into quarantine", **own
        )
        self._requests = prometheus.Counter(
            "mcp_reflect_requests", "Requests over HTTP", ("status",), **own
        )
        self._bank = bank
        self._names_tenants = names_tenants
        self._tools = {tool["name"] for tool in tools()}
        self.registry.register(self)
        prometheus.ProcessCollector(registry=self.registry)

    def serve(self, host: str, port: int) -> int:
        """Answer Prometheus in a thread; return the port. InputError if the address cannot be used."""
        try:
            server, _ = self._prometheus.start_http_server(port, host, self.registry)
        except OSError as error:
            raise InputError(
                "--metrics",
                f"the address cannot be used: {error.strerror}",
                "Give another address.",
            ) from None
        return server.server_port

    def collect(self) -> Iterator[Any]:
        """Yield the figures of the pool of connections, where the bank has one."""
        state: dict[str, float] = getattr(self._bank.db, "pool_state", {})
        for name, value in state.items():
            about = f"{name} of the pool of connections"
            yield self._prometheus.metrics_core.GaugeMetricFamily(
                f"mcp_reflect_{name}", about, value
            )

    def note_call(self, tenant: str, tool: str, result: object, seconds: float) -> None:
        """Count a call of a tool with its result."""
        label = "unknown"
        if tool in self._tools:
            label = tool
        labels = {"tool": label, "outcome": _outcome(result)}
        if self._names_tenants:
            labels["tenant"] = tenant
        self._calls.labels(**labels).inc()
        self._seconds.labels(tool=label).observe(seconds)
        self._quarantined.inc(_quarantined_in(result))

    def note_request(self, status: int) -> None:
        """Count a request with the status of its answer."""
        self._requests.labels(status=str(status)).inc()


def _outcome(result: object) -> str:
    """Return how a call ended: "ok", "error", or "asked" for one that asks its client and has no result yet."""
    if not isinstance(result, CallToolResult):
        return "asked"
    if result.is_error:
        return "error"
    return "ok"


def _quarantined_in(result: object) -> int:
    """Return how many records a call put into quarantine: its own, as of store_lesson, or those of its lessons.

    The lessons of a recall have no status, so that they count for none.
    """
    if not isinstance(result, CallToolResult) or not result.structured_content:
        return 0
    content: dict[str, Any] = result.structured_content
    stored: list[dict[str, Any]] = [content, *content.get("lessons", ())]
    return sum(record.get("status") == "quarantined" for record in stored)
