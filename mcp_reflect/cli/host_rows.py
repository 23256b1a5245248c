"""What a row of the table of hosts (`cli.host_table`) says of a host."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from mcp_reflect.cli.host_hooks import HookSettings
from mcp_reflect.cli.hosts import HostConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMoments:
    """What a host does at each moment, in the words of docs/hosts.md.

    `prompts` are those of the server as slash commands, and `lessons` says when they are shown before the work. `at_calls`
    says whether a call against a lesson is refused, failures are noted and lessons asked for. `last_word` is what is done
    about a last message. `tried` says with which versions, or that only the host's pages were read.
    """

    prompts: str = "no"
    lessons: str = "no"
    at_calls: str = "no"
    last_word: str = "no"
    tried: str = "files alone"


class OffSwitch(NamedTuple):
    """An entry in a host's settings, by its path of keys, that switches all hooks off where it has the value `off`."""

    keys: tuple[str, ...]
    off: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksOff:
    """What keeps the hooks of a host from running.

    Each of `switches` in any of its `files` (`./` is the project's) switches all hooks off. Where the file `instead` has
    hooks for an event, the host reads these and not ours.
    """

    files: tuple[str, ...]
    switches: tuple[OffSwitch, ...]
    instead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A row of the table: one host.

    `program` is its command in a terminal, if it has one. `hooks` is None where its hooks cannot tell its model anything,
    or where we write none. `off` is what keeps its hooks from running, `processes` matches the names of its programs, and
    `note` is told to a person who registers the server there.
    """

    config: HostConfig
    program: str | None = None
    hooks: HookSettings | None = None
    off: HooksOff | None = None
    processes: re.Pattern[str] | None = None
    moments: HostMoments = HostMoments()
    note: str = ""
