"""Replies as language models write them, each with the value that a careful person would read in it."""

from typing import NamedTuple

from mcp_reflect.models.common import Json


class Case(NamedTuple):
    """A reply, and the value in it."""

    name: str
    text: str
    value: Json
