"""The door: what every text passes before it is written. Secrets and invisible characters stay outside.

The database runs it over every value that it is given to write, so nothing goes round it; the engine
runs it over a trace before anything reads it, so what an agent sees is what was kept; errors that repeat
what was sent pass it too. Running it twice changes nothing.
"""

from mcp_reflect.redaction.door import clean, clean_text, context_hash, quoted
from mcp_reflect.redaction.marks import compiled

__all__ = ["clean", "clean_text", "compiled", "context_hash", "quoted"]
