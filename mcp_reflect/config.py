"""Settings and limits, read once from `MCP_REFLECT_*`: each with its type, default and meaning."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from mcp_reflect.errors import InputError

PREFIX: Final = "MCP_REFLECT_"


def setting(default: Any, meaning: str, *, least: float = 0, most: float | None = None) -> Any:
    """Return a field of the settings with its meaning, and the smallest and largest number that it takes."""
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that a call may send or ask for, in characters of Unicode, bytes or counts.

    The checks run before any work is done, and an error names the argument. `Settings` has these fields too, so that
    Python callers can set them; the environment cannot.
    """

    max_message_bytes: int = 33_554_432
    """The longest line on stdin, in bytes; a longer one is read past and refused."""
    max_depth: int = 64
    """Levels of lists and objects in an argument."""
    max_values: int = 2_000_000
    """Values (texts, numbers, lists, objects) in the arguments of a call."""
    max_calls_at_once: int = 64
    """Calls that a server works on at the same time; 0: any number."""
    max_http_requests: int = 512
    """Requests that `serve --http` works on at once, streams too."""
    max_body_seconds: int = 30
    """Seconds that the body of a request over HTTP may take to come."""
    max_task_chars: int = 20_000
    """Characters of a task, goal, context or user_message."""
    max_lesson_chars: int = 5_000
    """Characters of a mistake, correction, why or strategy."""
    max_phrase_chars: int = 2_000
    """Characters of a symptom, reason, note or suggestion."""
    max_label_chars: int = 200
    """Characters of an id, a name, a tag or a keyword."""
    max_list_items: int = 20
    """Tags, keywords, symptoms, ids, criteria or suggestions in one list."""
    max_sent_events: int = 100_000
    """Events of a run that are taken; more is refused."""
    max_events: int = 2_000
    """A longer trace loses events from its middle, and the result says so."""
    max_event_chars: int = 20_000
    """A longer text in an event is cut from its middle, and the result says so."""
    max_trace_chars: int = 1_000_000
    """A trace with more text than this loses events from its middle, and the result says so."""
    max_work_chars: int = 200_000
    """Characters of the work that critique checks, over all its steps."""
    max_steps: int = 200
    """Steps of that work, and of a corrected one."""
    max_results: int = 50
    """Tool results that come as evidence."""
    max_result_chars: int = 1_000_000
    """Characters of one of them."""
    max_analysis_chars: int = 200_000
    """Characters of an analysis, over all its texts."""
    max_judgement_chars: int = 20_000
    """Characters of a reflection, an issue or a corrected step in an analysis."""
    max_judgement_items: int = 50
    """Symptoms, keywords, cited events or criteria in an analysis."""
    max_item_chars: int = 300
    """Characters of one of them, or of a tag."""
    max_queries: int = 50
    """Queries of a search, sent or proposed."""
    max_query_chars: int = 4_000
    """Characters of one text in a query, a plan or a catalogue."""
    max_filter_chars: int = 10_000
    """Characters of a query's filters, as JSON."""
    max_tables: int = 200
    """Entries of a catalogue."""
    max_catalog_words: int = 60_000
    """Words of all vocabularies of a catalogue; the rest is left out, and the result says so."""
    max_catalog_chars: int = 1_000_000
    """Characters of those words."""
    max_recalled: int = 50
    """Lessons that a recall may ask for."""
    max_recalled_chars: int = 100_000
    """Characters of lesson text that a recall may ask for."""
    max_prompt_chars: int = 100_000
    """Characters of an argument of a prompt (slash command)."""
    max_listed: int = 200
    """Records that a resource which lists them shows."""
    max_file_bytes: int = 268_435_456
    """The largest file that `import` and `reflect FILE` read, in bytes."""
    max_hook_bytes: int = 20_000_000
    """The most that `hook` reads of a host, in bytes."""

    def refuse_more(self, name: str, place: str, count: int, what: str = "characters") -> None:
        """InputError for more than the limit `name` allows; `place` is the argument that has `count` of `what`."""
        most = getattr(self, name)
        if count > most:
            raise InputError(place, f"it has {count} {what}", f"Send at most {most}.")

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


_FOR_PROVIDERS: Final = (f"{PREFIX}LLM", f"{PREFIX}EMBEDDINGS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Limits):
    """What the person who runs the server has decided."""

    bank: Path | None = setting(None, "The bank's file. Default: `bank.db` in the platform's data directory.")
    project: str | None = setting(
        None,
        "The project whose lessons are read and written. Default: the repository the server runs in, "
        "else its working directory; `/`, home and temp mean global.",
    )
    projects: tuple[str, ...] = setting((), "Other projects that a tool argument may name, separated by commas.")
    llm: str = setting(
        "off",
        "Who thinks on the server: `anthropic:MODEL`, `openai:MODEL@BASE_URL` (any OpenAI-compatible endpoint), "
        "or `off`: then the host's agent does, and rules.",
    )
    llm_reflector: str = setting("", "Another one to reflect.")
    llm_critic: str = setting("", "Another one to critique.")
    llm_corrector: str = setting("", "Another one to correct.")
    llm_planner: str = setting("", "Another one to replan a search.")
    llm_evaluator: str = setting("", "Another one to evaluate.")
    llm_dreamer: str = setting("", "Another one to dream.")
    llm_key_file: str = setting(
        "", "A file of mode 0600 with the keys (`ANTHROPIC_API_KEY=…` lines), where they are not in the environment."
    )
    llm_tokens_per_call: str = setting("", "The most tokens that one call of a tool may spend.")
    llm_tokens_per_day: str = setting("", "The most tokens that a day (UTC) may spend, over all servers of a bank.")
    llm_cost_per_call: str = setting("", "The most US dollars that one call of a tool may spend; needs prices.")
    llm_cost_per_day: str = setting("", "The most US dollars that a day (UTC) may spend; needs prices.")
    llm_prices: str = setting(
        "", "US dollars for a million tokens, input/output: `anthropic:claude-sonnet-5-5=3/15, openai:qwen3=0/0`."
    )
    enabled: bool = setting(
        default=True,
        meaning="False: should_reflect always says no, and says why. A call of reflect is still answered.",
    )
    mode: Literal["lite", "full"] = setting(
        "full", "lite reflects when it is called; full looks over the bank at idle too, and tidies it up."
    )
    quality_threshold: float = setting(
        0.5,
        "The least score (0 to 1) that passes critique's gate; should_reflect says yes to a confidence below it, and "
        "reflect measures a decision's accuracy by it.",
        most=1,
    )
    risk_threshold: float = setting(0.7, "should_reflect says yes to a risk (0 to 1) above it.", most=1)
    drift_threshold: float = setting(0.4, "should_reflect says yes to a goal drift (0 to 1) above it.", most=1)
    latency_threshold: float | None = setting(
        None, "From where on reflect calls a latency worse, in the unit that callers use. Default: none."
    )
    periodic_interval: int = setting(5, "should_reflect says yes after every so many steps; 0: never.")
    max_reflections_per_step: int = setting(
        2, "How often should_reflect says yes for one step of a run (with `run_id`); all processes of a run share it."
    )
    embeddings: str = setting(
        "words",
        "How recall compares meanings: `words` (the table of word vectors that comes with the package), `local` "
        "(all-MiniLM-L6-v2, where its package is installed), `local:FOLDER`, `openai:MODEL@BASE_URL` (any "
        "OpenAI-compatible endpoint), or `off`: see [embeddings](embeddings.md).",
    )
    critique: Literal["auto", "always", "off"] = setting(
        "auto", "When critique asks a language model: where checks leave something open, always, or never."
    )
    replan_llm: bool = setting(
        default=True, meaning="Whether a language model may plan a search; false keeps to the plan by rules."
    )
    max_retries: int = setting(2, "After so many plans for one search replan_search gives up, and says what to say.")
    bank_size: int | None = setting(
        None,
        "How many lessons, strategies and reflections each a project keeps active; more are archived, the least "
        "important first and never deleted. Default: unlimited.",
    )
    warn_certainty: float = setting(
        0.6, "How certain (0 to 1) it must be that a call fails before a word is said of it; above 1 none is."
    )
    ask: bool = setting(
        default=True,
        meaning="False: no hook asks the agent for a lesson when it stops. Otherwise it is asked once a session, where "
        "something was hard-won or stayed unsolved and it told no lesson of it.",
    )
    dream_idle_minutes: float = setting(
        5.0, "In `full`, how many minutes after the last call a server begins to dream; 0: never by itself."
    )
    dream_tokens_per_day: int = setting(
        50_000, "How many tokens a project's dreams may take a day (UTC); above it, rules dream alone."
    )
    holdout: float = setting(
        0.0,
        "The share (0 to 1) of tasks whose recalled lessons are not shown, and of sessions that are watched and not "
        "warned, so that the statistics and `proof` can compare; by the task's words and the session's id, so always "
        "the same ones.",
        most=1,
    )
    keep_days: float = setting(
        180.0,
        "How many days after its last use the bank drops what only helps to go on: ledgers of searches and critiques, "
        "sessions with their warnings, counts of steps, recalls that nobody told the outcome of. What was learned, "
        "reflections and outcomes are never dropped. 0: nothing is.",
    )
    prompts_dir: Path | None = setting(None, "A folder of prompt templates that override the shipped ones by name.")
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "warning", "The least severe log event that is written to stderr."
    )
    log_format: Literal["json", "text"] = setting("json", "How a log event is written.")
    max_calls_per_minute: int = setting(
        6_000, "Calls of tools, resources and prompts that a server answers in a minute; 0: any number."
    )
    # What nobody needs to set. Python callers and tests can.
    llm_seconds: float = 45.0
    """Seconds for a question to a language model, its repair included; hosts give up on a call at 60."""
    embeddings_seconds: float = 1.0
    """Seconds that a recall waits for an embedder; then it goes by words alone."""
    max_iterations: int = 2
    """Corrections that critique tries where the call does not say."""
    dreams_per_day: int = 4
    """Consolidations at idle that a project has in a day (UTC), over all its servers."""
    bank_busy_seconds: float = 30.0
    """Seconds that a write waits for another process."""
    # Names of the environment that look like settings and are none: doctor and the log say them.
    unknown: tuple[str, ...] = ()
    # A damaged bank is moved out of the way, but never by who may not say so.
    sets_aside: bool = True
    # Keys and addresses that the providers themselves name: never shown, never stored.
    provider_env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> "Settings":
        """Read `MCP_REFLECT_*`; raise `InputError` that names the variable where a value cannot be read."""
        env = os.environ if env is None else env
        given: dict[str, Any] = {}
        for item in documented():
            name = PREFIX + item.name.upper()
            text = env.get(name, "").strip()
            if text:
                given[item.name] = _read(name, text, item)
        prefixes = _provider_prefixes(env)
        provider_env = {name: text for name, text in env.items() if name.startswith(prefixes)}
        names = {PREFIX + item.name.upper() for item in documented()}
        unknown = tuple(sorted(name for name in env if name.upper().startswith(PREFIX) and name not in names))
        return cls(**given, unknown=unknown, provider_env=provider_env)

    def misspelt(self) -> list[str]:
        """A sentence for each name that looks like a setting and is none, with the nearest that is one."""
        from difflib import get_close_matches  # noqa: PLC0415 - only where one is misspelt

        # Without the prefix: it would make any two names alike.
        names = [item.name.upper() for item in documented()]
        near = {name: get_close_matches(name[len(PREFIX) :].upper(), names, n=1) for name in self.unknown}
        return [
            f"{_quoted(name)} is no setting. "
            + (f"Did you mean {PREFIX}{found[0]}?" if found else "docs/settings.md lists them.")
            for name, found in near.items()
        ]

    @property
    def llm_settings(self) -> dict[str, str]:
        """What the providers and their limits read, by the names of the environment."""
        own = {PREFIX + item.name.upper(): str(getattr(self, item.name)) for item in documented()}
        return {**self.provider_env, **{name: text for name, text in own.items() if name.startswith(_FOR_PROVIDERS)}}

    @property
    def has_embeddings(self) -> bool:
        """Whether an embedder is named: if not, nothing of it is imported."""
        return self.embeddings.strip().casefold() not in ("", "off", "words")

    @property
    def prompts_folder(self) -> Path | None:
        """The folder of prompt overrides, absolute, null where none is set."""
        return self.prompts_dir and self.prompts_dir.expanduser().absolute()

    @property
    def bank_path(self) -> Path:
        """The bank's file, absolute; where a link leads to it, the file itself, for SQLite keeps its log there."""
        path = (self.bank or data_directory() / "bank.db").expanduser().absolute()
        return Path(os.path.realpath(path)) if path.is_symlink() else path


def _provider_prefixes(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the prefixes of the environment's names that belong to providers: `ACME_` for the setting `acme:model`."""
    named = (text.strip().partition(":")[0] for name, text in env.items() if name.startswith(_FOR_PROVIDERS))
    own = {f"{re.sub('[^A-Z0-9]', '_', name.upper())}_" for name in named if re.fullmatch(r"[A-Za-z][\w.-]+", name)}
    return ("ANTHROPIC_", "OPENAI_", *sorted(own - {"OFF_", "LOCAL_"}))


def documented() -> tuple[Field[Any], ...]:
    """Return the fields that a person sets, in the order of the documentation."""
    return tuple(item for item in fields(Settings) if "meaning" in item.metadata)


def data_directory() -> Path:
    """Where this platform keeps a person's application data.

    `platformdirs` says the same and costs 40 ms at every start of the command line.
    """
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "mcp-reflect"


def _read(name: str, text: str, item: Field[Any]) -> Any:
    """`text` as the type of its field, in its range."""
    kind = item.type
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        if text.lower() not in choices:
            raise InputError(name, f"'{_quoted(text)}' is not one of its values", f"Set one of {', '.join(choices)}.")
        return text.lower()
    if get_origin(kind) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if kind is bool:
        return _truth(name, text)
    if kind in (int, float, int | None, float | None):
        return _number(name, text, int if kind in (int, int | None) else float, item)
    return Path(text) if kind == Path | None else text


def _quoted(text: str) -> str:
    """What an error may repeat of a value: a key may have been put into the wrong variable."""
    from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - only an error needs it

    return quoted(text)


def _truth(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0", "yes", "no", "on", "off"):
        raise InputError(name, f"'{_quoted(text)}' is neither true nor false", "Set true or false.")
    return text.lower() in ("true", "1", "yes", "on")


def _number(name: str, text: str, kind: type[int] | type[float], item: Field[Any]) -> float:
    least, most = item.metadata["least"], item.metadata["most"]
    try:
        number = kind(text)
    except ValueError:
        number = -1
    if not 0 <= number < float("inf"):
        raise InputError(name, f"'{_quoted(text)}' is not a number from 0 up", f"Set {kind.__name__} digits, like 30.")
    if most is not None and number > most:
        raise InputError(name, f"{_quoted(text)} is too large", f"Set a number from {least:g} to {most:.12g}.")
    if number < least:
        raise InputError(name, f"{_quoted(text)} is too small", f"Set a number from {least:g} up.")
    return number
