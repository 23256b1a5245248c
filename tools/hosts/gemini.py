"""The real Gemini CLI, without an account: `python -m tools.hosts.gemini DIR`.

DIR is where `npm install --prefix DIR @google/gemini-cli` put it. `mcp-reflect install gemini --hooks` registers the
server in a clean home; Gemini CLI then starts it and lists it as connected. It does so in folders alone that the
person trusts, so this home says that its project is one.
"""

import json
import sys

from tools.hosts.trying import binary, clean_home, held, step


def main() -> int:
    """Try it; see the module."""
    program = binary(".bin/gemini")
    with clean_home("gemini") as home:
        home.reflect("install", "gemini", "--hooks", "--yes")
        trusted = home.folder / ".gemini" / "trustedFolders.json"
        trusted.write_text(json.dumps({str(home.project): "TRUST_FOLDER"}), "utf-8")
        print(f"Gemini CLI {home.run(program, '--version').strip()}")
        with step("the server is listed as connected"):
            said = ""
            for _ in range(
                3
            ):  # it waits for a short, fixed time, which a busy machine may not meet
                said = home.run(program, "mcp", "list", errors=True)
                if "Connected" in said:
                    break
            held("mcp-reflect" in said and "Connected" in said, f"it is connected:\n{said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
