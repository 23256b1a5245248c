"""The two dialogues, and calls that the tests of replan_search share."""

import json
from typing import Any

CATALOG: list[dict[str, Any]] = [
    {
        "table": "sessions",
        "description": "talks and workshops",
        "search_modes": ["faceted", "master"],
    },
    {
        "table": "exhibitors",
        "description": "companies that offer services, consulting and products",
        "search_modes": ["faceted", "master"],
    },
]
QUANTUM: dict[str, Any] = {
    "user_message": "Find sessions about quantum computing",
    "queries": [
        {
            "table": "sessions",
            "search_mode": "faceted",
            "query_text": "quantum computing",
            "limit": 5,
        }
    ],
    "catalog": CATALOG,
}
HELP: dict[str, Any] = {
    "user_message": "Who can help me with my ML deployment problems?",
    "queries": [
        {"table": "sessions", "search_mode": "faceted", "query_text": "ML deployment", "limit": 5}
    ],
    "catalog": CATALOG,
}
WIDER: dict[str, Any] = {
    "reasoning": "the term is narrow",
    "strategy": "rewrite",
    "user_message": "Let me look for related topics.",
    "new_queries": [
        {"table": "sessions", "search_mode": "faceted", "query_text": "physics emerging technology"}
    ],
}
ELSEWHERE: dict[str, Any] = {
    "reasoning": "the person wants a provider",
    "strategy": "pivot",
    "user_message": "Let me look for companies that can help you.",
    "new_queries": [
        {
            "table": "exhibitors",
            "search_mode": "faceted",
            "query_text": "machine learning deployment",
        }
    ],
}


def plan(*queries: dict[str, Any]) -> dict[str, Any]:
    return {**WIDER, "new_queries": list(queries)}


def said(value: Any) -> str:
    return json.dumps(value)
