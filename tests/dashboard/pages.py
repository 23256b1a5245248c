"""What tests of the board share: a page taken apart again."""

import json
import re
from html.parser import HTMLParser
from typing import Any

from mcp_reflect.services.engine import Engine


class Context(HTMLParser):
    """The elements of a page with their attributes, and the text of its scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self._inside: str | None = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag if tag in self.texts else None
        if self._inside:
            self.texts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[self._inside][-1] += data

    @property
    def policy(self) -> dict[str, list[str]]:
        """The directives of the page's content security policy."""
        (meta,) = [given for tag, given in self.elements if tag == "meta" and "http-equiv" in given]
        directives = re.split(r";\s*", meta["content"] or "")
        return {name: values for name, *values in (each.split() for each in directives if each)}

    @property
    def data(self) -> Any:
        """What the page was given to show."""
        return json.loads(self.texts["script"][0])


def records(table: dict[str, Any]) -> list[dict[str, Any]]:
    """A table in columns as one object a row."""
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


async def imported(engine: Engine, **line: Any) -> str:
    """The id of a lesson that came from a file of others: its words are judged, an agent's own are not."""
    async for batch in engine.import_lessons([(1, line)]):
        return batch[0].lesson_id
    raise AssertionError("nothing was stored")
