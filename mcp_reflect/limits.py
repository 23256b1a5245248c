"""The most that a call may send or ask for."""

from dataclasses import dataclass
from typing import Any, Final, cast

from mcp_reflect.errors import InputError

_MOST_PATH: Final = (
    120  # characters of an argument's path in an error: keys are the caller's and may be long
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that a call may send or ask for, in characters of Unicode, bytes or counts.

    The checks run before any work is done, and an error names the argument. `Settings` has these fields too, so that
    Python callers can set them; the environment cannot.
    """

    max_message_bytes: int = (
        4_194_304  # The longest line on stdin, in bytes; a longer one is read past and refused
    )
    max_depth: int = 64  # Levels of lists and objects in an argument
    max_values: int = 150_000  # Values (texts, numbers, lists, objects) in the arguments of a call
    max_http_requests: int = 512  # Requests that `serve --http` works on at once
    max_body_seconds: int = 30  # Seconds that the body of a request over HTTP may take to come
    max_task_chars: int = 20_000  # Characters of a task, goal, context or user_message
    max_lesson_chars: int = 5_000  # Characters of a mistake, correction, why or strategy
    max_phrase_chars: int = 2_000  # Characters of a symptom, reason, note or suggestion
    max_label_chars: int = 200  # Characters of an id, a name, a tag or a keyword
    max_list_items: int = 20  # Tags, keywords, symptoms, ids, criteria or suggestions in one list
    max_sent_events: int = 100_000  # Events of a run that are taken; more is refused
    max_events: int = 1_000  # A longer trace loses events from its middle, and the result says so
    max_event_chars: int = (
        20_000  # A longer text in an event is cut from its middle, and the result says so
    )
    max_trace_chars: int = (
        250_000  # A trace with more text loses events from its middle, and the result says so
    )
    max_work_chars: int = 200_000  # Characters of the work that critique checks, over all its steps
    max_steps: int = 200  # Steps of that work, and of a corrected one
    max_results: int = 10_000  # Tool results that come as evidence; the latest 400 are read
    max_result_chars: int = 1_000_000  # Characters of one of them
    max_analysis_chars: int = 200_000  # Characters of an analysis, over all its texts
    max_judgment_chars: int = (
        20_000  # Characters of a reflection, an issue or a corrected step in an analysis
    )
    max_queries: int = 50  # Queries of a search, sent or proposed
    max_queries_chars: int = 100_000  # Characters of all queries that are sent
    max_query_chars: int = 4_000  # Characters of one text in a query, a plan or a catalog
    max_filter_chars: int = 10_000  # Characters of a query's filters, as JSON
    max_tables: int = 200  # Entries of a catalog
    max_catalog_words: int = 60_000  # Words of all vocabularies of a catalog
    max_catalog_chars: int = 400_000  # Characters of all texts of a catalog
    max_recalled: int = 50  # Lessons that a recall may ask for
    max_recalled_chars: int = 100_000  # Characters of lesson text that a recall may ask for
    max_prompt_chars: int = 100_000  # Characters of an argument of a prompt (slash command)
    max_listed: int = 200  # Records that a resource which lists them shows
    max_file_bytes: int = (
        268_435_456  # The largest file that `import` and `reflect FILE` read, in bytes
    )
    max_hook_bytes: int = 10_000_000  # The most that `hook` reads of a host, in bytes

    def refuse_more(self, name: str, path: str, count: int, what: str = "characters") -> None:
        """Raise InputError if `count` is more than the limit of the field `name`.

        `path` is that of the argument, such as `events[2].content`: "events[2].content: it has 30000 characters. …".
        """
        most = getattr(self, name)
        if count > most:
            raise InputError(path, f"it has {count} {what}", f"Send at most {most}.")

    def refuse_long_texts(self, name: str, path: str, value: object) -> None:
        """Raise InputError if any text in a JSON value is longer than the limit of the field `name`.

        `path` is that of `value` in the arguments, such as `events[2]`; the error names the path of the long text.
        """
        if isinstance(value, str):
            self.refuse_more(name, path, len(value))
        elif isinstance(value, dict):
            for key, part in cast("dict[str, object]", value).items():
                self.refuse_long_texts(name, f"{path}.{key}"[:_MOST_PATH], part)
        elif isinstance(value, list | tuple):
            for index, part in enumerate(cast("list[object]", value)):
                self.refuse_long_texts(name, f"{path}[{index}]", part)


DEFAULT: Final = Limits()


def characters(value: Any) -> int:
    """Return the number of characters of all texts in a JSON value, its keys included."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return sum(characters(key) + characters(part) for key, part in pairs)
    if isinstance(value, list | tuple):
        return sum(map(characters, cast("list[Any]", value)))
    return 0
