"""The former names of what `mcp_reflect.shell` reads, for callers that have not moved there yet."""

from mcp_reflect.shell import VALUED, Command, read_script, unwrapped, written_files

__all__ = ["VALUED", "Command", "read_commands", "unwrapped", "written_files"]


def read_commands(text: str, *, powershell: bool = False) -> tuple[Command, ...]:
    """Return the commands of a line or script; none of one that could not be read."""
    return read_script(text, is_powershell=powershell).commands
