"""What to tell an agent whose host has no hooks, for AGENTS.md, CLAUDE.md, GEMINI.md or .cursorrules."""

from typing import Final

RULES: Final = """\
Before a task: call recall_lessons with what you are about to do.
After a run that failed or took detours: call reflect, and record_outcome for the lessons you used.
"""
