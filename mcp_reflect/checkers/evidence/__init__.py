"""Claims in an answer against the tools' output."""
