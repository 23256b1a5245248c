"""The wrappers in their order, around every provider that settings name."""

from collections.abc import Mapping

from mcp_reflect.clock import Clock
from mcp_reflect.llm.account import Account
from mcp_reflect.llm.budget import Budget
from mcp_reflect.llm.ledger import Ledger
from mcp_reflect.llm.limits import read_limits, read_prices
from mcp_reflect.llm.metering import Meter, Metering
from mcp_reflect.llm.protocol import LLM
from mcp_reflect.llm.retry import Retry
from mcp_reflect.llm.spec import Spec
from mcp_reflect.llm.timeout import Timeout


class Stack:
    """Puts a provider into its wrappers; a `Registry` takes it as its `dress`.

    From outside in: metering counts all that was asked, the budget refuses, the timeout holds the
    rest to the request's time, and retries share that time.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        *,
        ledger: Ledger,
        meter: Meter,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._meter = meter
        self._clock = clock
        self._account: Account | None = None

    def __call__(self, llm: LLM, spec: Spec) -> LLM:
        """The wrapped provider. Raises `LLMSettingError` where a limit or a price in the settings is none."""
        price = read_prices(self._settings).get(spec.name)
        account = self._account = self._account or Account(read_limits(self._settings), self._ledger)
        llm = Timeout(Retry(llm, clock=self._clock), spec.name)
        return Metering(Budget(llm, spec.name, account, price), spec.name, self._meter, self._clock)
