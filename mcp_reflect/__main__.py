"""`python -m mcp_reflect` is the command `mcp-reflect`."""

import sys

from mcp_reflect.cli import main

sys.exit(main())
