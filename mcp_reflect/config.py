"""Settings and limits, read once from `MCP_REFLECT_*`: each with its type, default and meaning."""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args, get_origin

from mcp_reflect.errors import InputError, did_you_mean
from mcp_reflect.places import BANK, PROJECT, data_folder, filled_in, filled_in_name

PREFIX: Final = "MCP_REFLECT_"


def setting(
    default: Any,
    meaning: str,
    *,
    least: float = 0,
    most: float | None = None,
    fades: bool = False,
) -> Any:
    """Return a field of the settings with its meaning, and the smallest and largest number that it takes.

    One that `fades` is a constant for all who do not set it: its variable works for this version, is in no list, and
    says that it goes. Callers in Python keep the field.
    """
    metadata = {"meaning": meaning, "least": least, "most": most, "fades": fades}
    return field(default=default, metadata=metadata)


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
    max_events: int = 2_000  # A longer trace loses events from its middle, and the result says so
    max_event_chars: int = (
        20_000  # A longer text in an event is cut from its middle, and the result says so
    )
    max_trace_chars: int = (
        1_000_000  # A trace with more text loses events from its middle, and the result says so
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
    max_query_chars: int = 4_000  # Characters of one text in a query, a plan or a catalog
    max_filter_chars: int = 10_000  # Characters of a query's filters, as JSON
    max_tables: int = 200  # Entries of a catalog
    max_catalog_words: int = 60_000  # Words of all vocabularies of a catalog
    max_catalog_chars: int = 1_000_000  # Characters of those words
    max_recalled: int = 50  # Lessons that a recall may ask for
    max_recalled_chars: int = 100_000  # Characters of lesson text that a recall may ask for
    max_prompt_chars: int = 100_000  # Characters of an argument of a prompt (slash command)
    max_listed: int = 200  # Records that a resource which lists them shows
    max_file_bytes: int = (
        268_435_456  # The largest file that `import` and `reflect FILE` read, in bytes
    )
    max_hook_bytes: int = 10_000_000  # The most that `hook` reads of a host, in bytes

    def refuse_more(self, name: str, place: str, count: int, what: str = "characters") -> None:
        """InputError for more than the limit `name` allows; `place` is the argument that has `count` of `what`."""
        most = getattr(self, name)
        if count > most:
            raise InputError(place, f"it has {count} {what}", f"Send at most {most}.")

    def refuse_long_texts(self, name: str, place: str, value: object) -> None:
        """InputError if a text in `value` has more characters than the limit `name` allows; names its place."""
        if isinstance(value, str):
            self.refuse_more(name, place, len(value))
        elif isinstance(value, dict):
            for key, part in cast("dict[str, object]", value).items():
                self.refuse_long_texts(name, f"{place}.{key}"[:120], part)
        elif isinstance(value, list | tuple):
            for number, part in enumerate(cast("list[object]", value)):
                self.refuse_long_texts(name, f"{place}[{number}]", part)


DEFAULT: Final = Limits()


def characters(value: Any) -> int:
    """Return the number of characters of all texts in a JSON value, its keys included."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(
            characters(part) for item in cast("dict[str, Any]", value).items() for part in item
        )
    return sum(map(characters, cast("list[Any]", value))) if isinstance(value, list | tuple) else 0


_FOR_PROVIDERS: Final = (f"{PREFIX}LLM", f"{PREFIX}EMBEDDINGS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Limits):
    """The decisions of the person who runs the server."""

    bank: "Path | ServerUrl | None" = setting(
        None,
        "The bank: a file, or `postgresql://USER:PASSWORD@HOST/DATABASE` (see [operations](operations.md)). Default: "
        "`bank.db` in the platform's data directory.",
    )
    project: str | None = setting(
        None,
        "The project of the lessons. Default: the git repository of the working directory, or that directory.",
    )
    subprojects: tuple[str, ...] = setting(
        (),
        "Folders of a repository that are projects of their own, separated by commas: `services/*,web`.",
    )
    projects: tuple[str, ...] = setting(
        (), "Other projects that a tool argument may name, separated by commas; `*`: any."
    )
    trusted_lessons: tuple[str, ...] = setting(
        (),
        "Files that repositories share, whose lessons do not wait for you, separated by commas: "
        "`/home/ada/shop/.mcp-reflect/lessons.jsonl`.",
    )
    llm: str = setting(
        "off",
        "The language model: `anthropic:MODEL`, `openai:MODEL@URL`, `claude-code`, `codex`, `gemini` or `off`.",
    )
    llm_reflector: str = setting("", "Another model for this role, or `off`.")
    llm_critic: str = setting("", "Another model for this role, or `off`.")
    llm_corrector: str = setting("", "Another model for this role, or `off`.")
    llm_planner: str = setting("", "Another model for this role, or `off`.")
    llm_evaluator: str = setting("", "Another model for this role, or `off`.")
    llm_dreamer: str = setting("", "Another model for this role, or `off`.")
    llm_key_file: str = setting(
        "", "A file of mode 0600 with `ANTHROPIC_API_KEY=…` lines, instead of the environment."
    )
    llm_tokens_per_call: str = setting("", "The most tokens that one call of a tool may use.")
    llm_tokens_per_day: str = setting(
        "", "The most tokens in a day (UTC), over all servers of a bank."
    )
    enabled: bool = setting(default=True, meaning="False: should_reflect always says no.")
    mode: Literal["lite", "full"] = setting(
        "full", "`lite` works when it is called; `full` also dreams once a day."
    )
    quality_threshold: float = setting(
        0.5,
        "The least score (0 to 1) that passes critique's gate; should_reflect says yes to a confidence below it.",
        most=1,
    )
    risk_threshold: float = setting(
        0.7, "should_reflect says yes to a risk (0 to 1) above it.", most=1, fades=True
    )
    drift_threshold: float = setting(
        0.4, "should_reflect says yes to a goal drift (0 to 1) above it.", most=1, fades=True
    )
    periodic_interval: int = setting(
        5, "should_reflect says yes at each multiple of this step number; 0: never.", fades=True
    )
    max_reflections_per_step: int = setting(
        2, "The most times that should_reflect says yes for one step of a run.", fades=True
    )
    embeddings: str = setting(
        "words",
        "How recall compares meanings: `words`, `local`, `openai:MODEL@BASE_URL` or `off`; see "
        "[embeddings](embeddings.md).",
    )
    critique: Literal["auto", "always", "off"] = setting(
        "auto",
        "Whether critique asks a model: `always`, `off`, or `auto` (unless rules are certain that something is wrong).",
    )
    max_iterations: int = setting(
        2, "The most corrections that critique tries, unless the call sets a number.", fades=True
    )
    max_retries: int = setting(
        2, "The number of plans for one search after which replan_search gives up.", fades=True
    )
    bank_size: int | None = setting(
        None,
        "The most active lessons, strategies and reflections (each) of a project; others are archived. Default: any.",
    )
    always_load: bool = setting(
        default=True,
        meaning="False: Claude Code shows its model no tool until it searches for one; True: five tools.",
    )
    warn_certainty: float = setting(
        0.6,
        "The least certainty (0 to 1) of a failure that hooks warn of; above 1: never.",
        fades=True,
    )
    last_word: Literal["auto", "hold", "tell", "off"] = setting(
        "auto",
        "For a last message that claims what its session does not show: `hold` it once, `tell` it at the next prompt, "
        "`off`, or `auto`: hold where a person watches, else tell.",
    )
    proofs: tuple[str, ...] = setting(
        (),
        "Programs that prove a claim of the last message: `tests: bin/verify, deployment: make ship`. The kinds are "
        "tests, build, types, lint, format, commit, push, migration, deployment, health and image.",
    )
    hold: bool = setting(
        default=False,
        meaning="True: a hook refuses a call that is sure to fail, once in a session.",
    )
    guards: Literal["hold", "tell", "off"] = setting(
        "hold",
        "At a call against a lesson: `hold` (a person's guard refuses it once), `tell` or `off`.",
    )
    ask: Literal["call", "stop", "off"] = setting(
        "call",
        "When hooks ask the agent for a lesson: at the `call` that worked after a failure, at its `stop`, or `off`.",
    )
    review: Literal["trust", "ask"] = setting(
        "trust",
        "`ask`: what agents store also waits in `lessons review`, and is recalled meanwhile. Or `trust`.",
    )
    holdout: float = setting(
        0.0,
        "The share (0 to 1) of tasks without lessons and of sessions without warnings, so that `stats` can compare.",
        most=1,
    )
    keep_days: float = setting(
        180.0,
        "Days after which unused searches, critiques, sessions and recalls without an outcome are dropped. 0: never.",
    )
    prompts_dir: Path | None = setting(
        None, "A folder of prompt templates that override the shipped ones by name."
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "warning", "The least level of log events on stderr: `debug`, `info`, `warning` or `error`."
    )
    log_format: Literal["json", "text"] = setting(
        "json", "The format of log events: `json` or `text`."
    )
    max_calls_per_minute: int = setting(
        6_000,
        "The most requests in a minute that a replica of a team's service takes of a tenant; 0: any number.",
    )
    # Python callers can set the rest; the environment cannot.
    llm_seconds: float = (
        45.0  # for a question to a language model and its repair; hosts give up on a call at 60
    )
    embeddings_seconds: float = 1.0  # that a recall waits for an embedder; then it uses words alone
    bank_busy_seconds: float = 30.0  # that a write waits for another process
    folder: Path | None = None  # whose repository is the project; default: the working directory
    stores_names: bool = (
        True  # False: a process that must be quick; it reads the names of projects and stores none
    )
    sets_aside: bool = True  # False: a process that must not move a damaged bank
    durable: bool = True  # False: a power cut may lose what was written last
    unknown: tuple[
        str, ...
    ] = ()  # variables that look like settings and are not; doctor and the log report them
    # The providers' keys and addresses: never shown, never stored.
    provider_env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> "Settings":
        """Read `MCP_REFLECT_*`; raise `InputError` that names the variable where a value cannot be read."""
        env = os.environ if env is None else env
        given: dict[str, Any] = {}
        for item in readable():
            name = PREFIX + item.name.upper()
            text = env.get(name, "").strip()
            if text:
                given[item.name] = _read(name, _filled_in(name, text), item)
        prefixes = _provider_prefixes(env)
        provider_env = {name: text for name, text in env.items() if name.startswith(prefixes)}
        names = {PREFIX + item.name.upper() for item in readable()}
        unknown = tuple(
            sorted(name for name in env if name.upper().startswith(PREFIX) and name not in names)
        )
        return cls(**given, unknown=unknown, provider_env=provider_env)

    def misspelled(self) -> list[str]:
        """Return a sentence for each variable that looks like a setting and is not, with the nearest setting."""
        names = [item.name.upper() for item in documented()]
        told: list[str] = []
        for name in self.unknown:
            # Without the prefix: it would make any two names alike.
            hint = did_you_mean(name[len(PREFIX) :].upper(), names, "docs/settings.md lists them.")
            told.append(
                f"{_quoted(name)} is not a setting. " + hint.replace("mean '", f"mean '{PREFIX}")
            )
        return told

    def fading(self) -> list[str]:
        """Return a sentence for each setting in force that goes with the next version."""
        return [
            f"{PREFIX}{item.name.upper()} works in this version for the last time; the next one uses {item.default}."
            for item in readable()
            if item.metadata["fades"] and getattr(self, item.name) != item.default
        ]

    @property
    def llm_settings(self) -> dict[str, str]:
        """The settings of the providers and their limits, by the names of the environment."""
        own = {PREFIX + item.name.upper(): str(getattr(self, item.name)) for item in readable()}
        return {
            **self.provider_env,
            **{name: text for name, text in own.items() if name.startswith(_FOR_PROVIDERS)},
        }

    @property
    def has_embeddings(self) -> bool:
        """True if an embedding model is named."""
        return self.embeddings.strip().casefold() not in ("", "off", "words")

    @property
    def bank_path(self) -> Path:
        """The bank's file, absolute; a link under this name is refused when it is opened.

        For a bank on a server, a name for the files that this machine keeps about it; no such file is made.
        """
        bank = self.bank or Path(data_folder()) / "bank.db"
        if isinstance(bank, ServerUrl):
            return Path(data_folder()) / f"postgresql-{sha256(str(bank).encode()).hexdigest()[:12]}"
        return bank.expanduser().absolute()


@dataclass(frozen=True, slots=True, repr=False)
class ServerUrl:
    """The address of a bank on a PostgreSQL server. As text it has neither the password nor parameters."""

    whole: str

    def __str__(self) -> str:
        from urllib.parse import urlsplit  # noqa: PLC0415 - most banks are files

        parts = urlsplit(self.whole)
        if (
            "@" in parts.path + parts.query + parts.fragment
        ):  # a sign in the password that should be escaped
            return f"{parts.scheme}://..."
        user, at, host = parts.netloc.rpartition("@")
        return f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"

    __repr__ = __str__


def bank_place(text: str) -> Path | ServerUrl:
    """Return the file or server that a setting names; InputError for another kind of address."""
    if text.startswith(("postgresql://", "postgres://")):
        return ServerUrl(text)
    if "://" in text:
        fix = "Set a file, or postgresql://USER:PASSWORD@HOST/DATABASE."
        raise InputError(
            f"{PREFIX}BANK", "it is neither a file nor the address of a PostgreSQL server", fix
        )
    if _OF_WINDOWS.match(text) and os.name != "nt":
        raise InputError(
            BANK, "it is a path of Windows, and this is another system", "Set its path here."
        )
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise InputError(
            BANK,
            f"there is no home of '{_quoted(text.partition('/')[0])}'",
            "Write the whole path.",
        ) from None


_OF_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")


def _provider_prefixes(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the prefixes of the variables that belong to providers: `ACME_` for the setting `acme:model`."""
    named = (
        text.strip().partition(":")[0]
        for name, text in env.items()
        if name.startswith(_FOR_PROVIDERS)
    )
    own = {
        f"{re.sub('[^A-Z0-9]', '_', name.upper())}_"
        for name in named
        if re.fullmatch(r"[A-Za-z][\w.-]+", name)
    }
    return ("ANTHROPIC_", "OPENAI_", *sorted(own - {"OFF_", "LOCAL_"}))


def readable() -> tuple[Field[Any], ...]:
    """Return the fields that the environment can set, those that fade included."""
    return tuple(item for item in fields(Settings) if "meaning" in item.metadata)


def documented() -> tuple[Field[Any], ...]:
    """Return the fields that a person can set, in the order of the documentation."""
    return tuple(item for item in readable() if not item.metadata["fades"])


def _filled_in(name: str, text: str) -> str:
    """Return a setting with the variables in it filled in; InputError if one is not set.

    An address may have a password with such signs, which stays as it is.
    """
    if "://" in text:
        return text
    fill = filled_in_name if name in (BANK, PROJECT) else filled_in
    filled = fill(text)
    if filled is None:
        fault = f"'{_quoted(text)}' has a variable that is not set here, or that the host does not fill in"
        raise InputError(name, fault, "Write the name or the whole path itself.")
    return filled


_TRUTH: Final = {
    word: word in ("true", "1", "yes", "on") for word in "true false 1 0 yes no on off".split()
}


def _read(name: str, text: str, item: Field[Any]) -> Any:
    """Return `text` as a value of the field's type; InputError names the variable `name`."""
    options = get_args(item.type)
    if get_origin(item.type) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if item.type is bool or get_origin(item.type) is Literal:
        values = _TRUTH if item.type is bool else {option: option for option in options}
        if "off" in options:  # a setting that could once only be switched off
            values |= {word: options[0] if on else "off" for word, on in _TRUTH.items()}
        if text.lower() not in values:
            raise InputError(
                name,
                f"'{_quoted(text)}' is not one of its values",
                f"Set one of {', '.join(map(str, values))}.",
            )
        return values[text.lower()]
    if item.name == "bank":
        return bank_place(text)
    convert: Any = options[0] if options else item.type
    if convert not in (int, float):
        return Path(text).expanduser() if convert is Path else text
    least, most = item.metadata["least"], item.metadata["most"]
    try:
        number = convert(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and least <= number <= (math.inf if most is None else most)):
        digits = "digits" if convert is int else "a number"
        span = f"from {least:g} up" if most is None else f"from {least:g} to {most:g}"
        raise InputError(
            name, f"'{_quoted(text)}' is not a number {span}", f"Set {digits} in this range."
        )
    return number


def _quoted(text: str) -> str:
    """Return what an error may repeat of a value: a key may have been put into the wrong variable."""
    from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - only an error needs it

    return quoted(text)
