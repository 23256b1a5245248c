"""Claims in the answer against what the tools printed."""

from mcp_reflect.critique.checks.evidence.agreement import agrees
from mcp_reflect.critique.checks.evidence.checker import EvidenceChecker

__all__ = ["EvidenceChecker", "agrees"]
