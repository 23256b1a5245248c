"""The systems of the five documents, one file each: thin adapters over the services (docs/systems.md)."""
