"""What an agent's shell must leave as it is in a host's files: our server's entry and our hooks that stand there.

Without them every guard that a person enforces is silent, and so it is where they name another bank, project or service.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, cast

from mcp_reflect.cli.file_changes import FileChange
from mcp_reflect.cli.host_documents import Language, parse
from mcp_reflect.cli.host_hooks import is_our_hook, is_our_script
from mcp_reflect.cli.hosts import SERVER_NAME, HostConfig
from mcp_reflect.errors import InputError
from mcp_reflect.speaker import refuse_in_host


def refuse_agents_change(host: HostConfig, changes: Iterable[FileChange]) -> None:
    """Raise NotAllowedError if an agent's shell takes out or changes what stands in a host's files of ours.

    A first installation is let through, and so are hooks beside a server that is there already.
    """
    for change in changes:
        wanted = _entries_of_ours(host, change.after or "")
        if any(entry not in wanted for entry in _entries_of_ours(host, change.before or "")):
            refuse_in_host(
                str(change.path),
                "remove mcp-reflect from a host, or change what is registered there",
                "A person has to run this command, in a terminal of their own.",
            )


def _entries_of_ours(host: HostConfig, text: str) -> list[Any]:
    """Return what a host's file has of ours: the entry of the server, each hook with its event, or our script."""
    if is_our_script(text):
        return [text]
    entries: list[Any] = []
    server = _table_in(host.language, text, host.block).get(SERVER_NAME)
    if server is not None:
        entries.append(server)
    for event, hooks in _table_in("json", text, "hooks").items():
        if isinstance(hooks, list):
            ours = filter(is_our_hook, cast("list[Any]", hooks))
            entries.extend((event, hook) for hook in ours)
    return entries


def _table_in(language: Language, text: str, name: str) -> dict[str, Any]:
    """Return the table with this name in a document; an empty one where there is none, or no such document."""
    with suppress(InputError):
        value: Any = parse(language, text).get(name)
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
    return {}
