"""What a service receives: settings, bank, clock, log, language models."""

from typing import Protocol

from mcp_reflect.analysis.reflector import Scorer
from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.llm.runner import ModelRunner
from mcp_reflect.log import Log
from mcp_reflect.services.scopes import Scopes
from mcp_reflect.storage.bank import Bank


class Context(Protocol):
    """What reflecting needs of the context."""

    @property
    def settings(self) -> Settings: ...
    @property
    def scopes(self) -> Scopes: ...
    @property
    def bank(self) -> Bank: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def log(self) -> Log: ...
    @property
    def thinking(self) -> ModelRunner: ...
    @property
    def scorer(self) -> Scorer | None: ...
