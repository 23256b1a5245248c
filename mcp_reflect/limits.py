"""How much a caller may send or ask for: every limit is a setting, checked before work is done and named in the error.

`Settings` has these fields too, so a `Settings` is a `Limits`. Depths and sizes of what only rules look at are
theirs, for no caller is refused by them.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from mcp_reflect.errors import InputError

PREFIX: Final = "MCP_REFLECT_"


def setting(default: Any, meaning: str, *, least: float = 0, most: float | None = None) -> Any:
    """A field of the settings with its meaning, and the smallest and largest number that it takes."""
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


def _most(default: int, meaning: str, *, least: int = 1, most: int = 1_000_000_000) -> Any:
    return setting(default, meaning, least=least, most=most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a call, or a process's calls together, may take. Counts, characters (of Unicode) or bytes, as they say."""

    max_message_bytes: int = _most(
        33_554_432, "The longest line on stdin, in bytes; a longer one is read past and refused.", least=65_536
    )
    max_depth: int = _most(64, "Levels of lists and objects in an argument.", least=8, most=120)
    max_values: int = _most(2_000_000, "Values (texts, numbers, lists, objects) in the arguments of a call.", least=100)
    max_calls_per_minute: int = _most(
        6_000, "Calls of tools, resources and prompts a minute that a server answers; 0: any number.", least=0
    )
    max_calls_at_once: int = _most(64, "Calls that a server works on at the same time; 0: any number.", least=0)
    max_http_requests: int = _most(512, "Requests that `serve --http` works on at once, streams too.", most=100_000)
    max_body_seconds: int = _most(30, "Seconds that the body of a request over HTTP may take to come.", most=3_600)
    max_task_chars: int = _most(20_000, "Characters of a task, goal, context or user_message.")
    max_lesson_chars: int = _most(5_000, "Characters of a mistake, correction, why or strategy.")
    max_phrase_chars: int = _most(2_000, "Characters of a symptom, reason, note or suggestion.")
    max_label_chars: int = _most(200, "Characters of an id, a name, a tag or a keyword.", least=40)
    max_list_items: int = _most(20, "Tags, keywords, symptoms, ids, criteria or suggestions in one list.")
    max_sent_events: int = _most(100_000, "Events of a run that are taken; more is refused.")
    max_events: int = _most(2_000, "A longer trace loses events from its middle, and the result says so.", least=0)
    max_event_chars: int = _most(
        20_000, "A longer text in an event is cut from its middle, and the result says so.", least=0
    )
    max_trace_chars: int = _most(
        1_000_000, "A trace with more text than this loses events from its middle, and the result says so.", least=0
    )
    max_work_chars: int = _most(200_000, "Characters of the work that critique checks, over all its steps.")
    max_steps: int = _most(200, "Steps of that work, and of a corrected one.")
    max_results: int = _most(50, "Tool results that come as evidence.")
    max_result_chars: int = _most(1_000_000, "Characters of one of them.")
    max_analysis_chars: int = _most(200_000, "Characters of an analysis, over all its texts.")
    max_judgement_chars: int = _most(20_000, "Characters of a reflection, an issue or a corrected step in an analysis.")
    max_judgement_items: int = _most(50, "Symptoms, keywords, cited events or criteria in an analysis.")
    max_item_chars: int = _most(300, "Characters of one of them, or of a tag.")
    max_queries: int = _most(50, "Queries of a search, sent or proposed.")
    max_query_chars: int = _most(4_000, "Characters of one text in a query, a plan or a catalogue.")
    max_filter_chars: int = _most(10_000, "Characters of a query's filters, as JSON.")
    max_tables: int = _most(200, "Entries of a catalogue.")
    max_catalog_words: int = _most(
        60_000, "Words of all vocabularies of a catalogue; the rest is left out, and the result says so.", least=0
    )
    max_catalog_chars: int = _most(1_000_000, "Characters of those words.", least=0)
    max_recalled: int = _most(50, "Lessons that a recall may ask for.")
    max_recalled_chars: int = _most(100_000, "Characters of lesson text that a recall may ask for.")
    max_prompt_chars: int = _most(100_000, "Characters of an argument of a prompt (slash command).")
    max_listed: int = _most(200, "Records that a resource which lists them shows.")
    max_file_bytes: int = _most(
        268_435_456, "The largest file that `import` and `reflect FILE` read, in bytes.", least=65_536
    )
    max_hook_bytes: int = _most(20_000_000, "The most that `hook` reads of a host, in bytes.", least=65_536)

    def refuse_more(self, name: str, place: str, count: int, what: str = "characters") -> None:
        """InputError for more than the limit `name` allows; `place` is the argument that has `count` of `what`."""
        most = getattr(self, name)
        if count > most:
            raise InputError(place, f"it has {count} {what}", f"Send at most {most} ({PREFIX}{name.upper()}).")

    def refuse_long_texts(self, name: str, place: str, value: object) -> None:
        """InputError where a text in `value` has more characters than the limit `name` allows; names where it is."""
        waiting: list[tuple[str, Any]] = [(place, value)]
        for at, one in waiting:
            if isinstance(one, str):
                self.refuse_more(name, at, len(one))
            elif isinstance(one, dict):
                waiting.extend((f"{at}.{key}"[:120], item) for key, item in one.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            elif isinstance(one, list | tuple):
                waiting.extend((f"{at}[{number}]", item) for number, item in enumerate(one))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


DEFAULT: Final = Limits()


def characters(value: object) -> int:
    """Characters of all texts in a JSON value, names too."""
    count = 0
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            count += len(one)
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(one, list | tuple):
            waiting += one  # pyright: ignore[reportUnknownArgumentType]
    return count
