"""The real Droid, without an account: `python -m tools.hosts.droid DIR`.

DIR is where `npm install --prefix DIR droid` put it. It connects to the server that `mcp-reflect install droid` wrote;
its sessions need an account, so that its hooks are not tried.
"""

import sys

from tools.hosts.trying import binary, clean_home, held, step


def main() -> int:
    """Try it; see the module."""
    program = binary(".bin/droid")
    with clean_home("droid") as home:
        home.reflect("install", "droid", "--hooks", "--yes")
        with step("the server is listed as connected"):
            said = home.run(program, "mcp", "list", seconds=100, errors=True)
        held("mcp-reflect" in said and "connected" in said, f"it is connected:\n{said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
