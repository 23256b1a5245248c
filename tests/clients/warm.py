"""What a process compiles to judge its first lesson, compiled once for all that are forked off."""

from mcp_reflect.security.gate import clean_text
from mcp_reflect.security.injection import suspicion

_LESSON = (
    "Run `make setup` before `make test`: the tests failed with exit code 2. Then it was done."
)

suspicion([clean_text(_LESSON)])
suspicion([_LESSON], own=True)
