"""replan_search: think again when a search comes back empty."""
