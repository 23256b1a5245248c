"""Plain functions over graph state, for LangGraph and its like: each returns the keys that change."""

from mcp_reflect.systems.decision_node import reflect_node, reflection_node
from mcp_reflect.systems.search_node import reflect_and_replan, relax_and_retry

__all__ = ["reflect_and_replan", "reflect_node", "reflection_node", "relax_and_retry"]
