"""Settings and limits, read once from `MCP_REFLECT_*`: each with its type, default and meaning; and the project."""

import math
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args, get_origin

from mcp_reflect.errors import InputError
from mcp_reflect.models.access import ANY_PROJECT
from mcp_reflect.models.common import GLOBAL, Scope

PREFIX: Final = "MCP_REFLECT_"

NESTED: Final = "MCP_REFLECTING"
"""Set in the environment of an agent program that answers us: our hooks and server are silent in it."""


def setting(default: Any, meaning: str, *, least: float = 0, most: float | None = None) -> Any:
    """Return a field of the settings with its meaning, and the smallest and largest number that it takes."""
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that a call may send or ask for, in characters of Unicode, bytes or counts.

    The checks run before any work is done, and an error names the argument. `Settings` has these fields too, so that
    Python callers can set them; the environment cannot.
    """

    max_message_bytes: int = 33_554_432  # The longest line on stdin, in bytes; a longer one is read past and refused
    max_depth: int = 64  # Levels of lists and objects in an argument
    max_values: int = 2_000_000  # Values (texts, numbers, lists, objects) in the arguments of a call
    max_calls_at_once: int = 64  # Calls that a server works on at the same time; 0: any number
    max_http_requests: int = 512  # Requests that `serve --http` works on at once, streams too
    max_body_seconds: int = 30  # Seconds that the body of a request over HTTP may take to come
    max_task_chars: int = 20_000  # Characters of a task, goal, context or user_message
    max_lesson_chars: int = 5_000  # Characters of a mistake, correction, why or strategy
    max_phrase_chars: int = 2_000  # Characters of a symptom, reason, note or suggestion
    max_label_chars: int = 200  # Characters of an id, a name, a tag or a keyword
    max_list_items: int = 20  # Tags, keywords, symptoms, ids, criteria or suggestions in one list
    max_sent_events: int = 100_000  # Events of a run that are taken; more is refused
    max_events: int = 2_000  # A longer trace loses events from its middle, and the result says so
    max_event_chars: int = 20_000  # A longer text in an event is cut from its middle, and the result says so
    max_trace_chars: int = 1_000_000  # A trace with more text loses events from its middle, and the result says so
    max_work_chars: int = 200_000  # Characters of the work that critique checks, over all its steps
    max_steps: int = 200  # Steps of that work, and of a corrected one
    max_results: int = 50  # Tool results that come as evidence
    max_result_chars: int = 1_000_000  # Characters of one of them
    max_analysis_chars: int = 200_000  # Characters of an analysis, over all its texts
    max_judgement_chars: int = 20_000  # Characters of a reflection, an issue or a corrected step in an analysis
    max_judgement_items: int = 50  # Symptoms, keywords, cited events or criteria in an analysis
    max_item_chars: int = 300  # Characters of one of them, or of a tag
    max_queries: int = 50  # Queries of a search, sent or proposed
    max_query_chars: int = 4_000  # Characters of one text in a query, a plan or a catalog
    max_filter_chars: int = 10_000  # Characters of a query's filters, as JSON
    max_tables: int = 200  # Entries of a catalog
    max_catalog_words: int = 60_000  # Words of all vocabularies of a catalog; the result says what is left out
    max_catalog_chars: int = 1_000_000  # Characters of those words
    max_recalled: int = 50  # Lessons that a recall may ask for
    max_recalled_chars: int = 100_000  # Characters of lesson text that a recall may ask for
    max_prompt_chars: int = 100_000  # Characters of an argument of a prompt (slash command)
    max_listed: int = 200  # Records that a resource which lists them shows
    max_file_bytes: int = 268_435_456  # The largest file that `import` and `reflect FILE` read, in bytes
    max_hook_bytes: int = 20_000_000  # The most that `hook` reads of a host, in bytes

    def refuse_more(self, name: str, place: str, count: int, what: str = "characters") -> None:
        """InputError for more than the limit `name` allows; `place` is the argument that has `count` of `what`."""
        most = getattr(self, name)
        if count > most:
            raise InputError(place, f"it has {count} {what}", f"Send at most {most}.")

    def refuse_long_texts(self, name: str, place: str, value: object) -> None:
        """InputError where a text in `value` has more characters than the limit `name` allows; names its place."""
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
        return sum(characters(part) for item in cast("dict[str, Any]", value).items() for part in item)
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
    project: str | None = setting(None, "The project of the lessons. Default: the git repository or working directory.")
    projects: tuple[str, ...] = setting(
        (), "Other projects that a tool argument may name, separated by commas; `*`: any."
    )
    llm: str = setting(
        "off", "The language model: `anthropic:MODEL`, `openai:MODEL@URL`, `claude-code`, `codex`, `gemini` or `off`."
    )
    llm_reflector: str = setting("", "Another model for reflecting.")
    llm_critic: str = setting("", "Another model for critiques.")
    llm_corrector: str = setting("", "Another model for corrections.")
    llm_planner: str = setting("", "Another model for planning searches.")
    llm_evaluator: str = setting("", "Another model for evaluations.")
    llm_dreamer: str = setting("", "Another model for dreaming.")
    llm_key_file: str = setting("", "A file of mode 0600 with `ANTHROPIC_API_KEY=…` lines, instead of the environment.")
    llm_tokens_per_call: str = setting("", "The most tokens that one call of a tool may use.")
    llm_tokens_per_day: str = setting("", "The most tokens in a day (UTC), over all servers of a bank.")
    llm_cost_per_call: str = setting("", "The most US dollars that one call of a tool may cost; needs prices.")
    llm_cost_per_day: str = setting("", "The most US dollars in a day (UTC), over all servers of a bank; needs prices.")
    llm_prices: str = setting(
        "", "US dollars per million tokens, input/output: `anthropic:MODEL=3/15, openai:qwen3=0/0`."
    )
    enabled: bool = setting(default=True, meaning="False: should_reflect always says no. reflect is still answered.")
    mode: Literal["lite", "full"] = setting("full", "lite works when it is called; full also dreams when it is idle.")
    quality_threshold: float = setting(
        0.5,
        "The least score (0 to 1) that passes critique's gate; also the least confidence for which should_reflect says "
        "no, and the least accuracy of a decision.",
        most=1,
    )
    risk_threshold: float = setting(0.7, "should_reflect says yes to a risk (0 to 1) above it.", most=1)
    drift_threshold: float = setting(0.4, "should_reflect says yes to a goal drift (0 to 1) above it.", most=1)
    latency_threshold: float | None = setting(
        None, "reflect calls a latency above it worse, in the unit of the caller."
    )
    periodic_interval: int = setting(5, "should_reflect says yes after every so many steps; 0: never.")
    max_reflections_per_step: int = setting(2, "The most times that should_reflect says yes for one step of a run.")
    embeddings: str = setting(
        "words",
        "How recall compares meanings: `words` (a table of word vectors in the package), `local`, `local:FOLDER`, "
        "`openai:MODEL@BASE_URL` or `off`; see [embeddings](embeddings.md).",
    )
    critique: Literal["auto", "always", "off"] = setting(
        "auto", "Whether critique asks a model; auto: about open claims."
    )
    replan_llm: bool = setting(default=True, meaning="False: rules alone plan searches.")
    max_retries: int = setting(2, "The number of plans for one search after which replan_search gives up.")
    bank_size: int | None = setting(
        None,
        "The most active lessons, strategies and reflections each of a project; the least important others are "
        "archived. Default: unlimited.",
    )
    warn_certainty: float = setting(
        0.6, "The least certainty (0 to 1) of a failure that hooks warn of; above 1: never."
    )
    hold: bool = setting(default=False, meaning="True: a hook refuses a call that is sure to fail, once in a session.")
    ask: bool = setting(default=True, meaning="False: no hook asks the agent for a lesson when it stops.")
    dream_idle_minutes: float = setting(
        5.0, "In `full`, minutes after the last call until a dream; 0: no dream at idle."
    )
    dream_tokens_per_day: int = setting(
        50_000, "The most tokens for a project's dreams in a day (UTC); then rules dream."
    )
    holdout: float = setting(
        0.0,
        "The share (0 to 1) of tasks without recalled lessons and of sessions without warnings, so that statistics and "
        "`proof` can compare. Chosen by the task's words and the session's id.",
        most=1,
    )
    keep_days: float = setting(
        180.0,
        "Days after their last use until states of searches and critiques, sessions, warnings, counts and recalls "
        "without an outcome are dropped; lessons, reflections and outcomes never are. 0: never.",
    )
    prompts_dir: Path | None = setting(None, "A folder of prompt templates that override the shipped ones by name.")
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "warning", "The least level of log events on stderr."
    )
    log_format: Literal["json", "text"] = setting("json", "The format of log events.")
    max_calls_per_minute: int = setting(6_000, "The most calls in a minute that a server answers; 0: any number.")
    # Python callers can set the rest; the environment cannot.
    llm_seconds: float = 45.0  # for a question to a language model and its repair; hosts give up on a call at 60
    embeddings_seconds: float = 1.0  # that a recall waits for an embedder; then it uses words alone
    max_iterations: int = 2  # corrections that critique tries where the call does not say
    dreams_per_day: int = 4  # consolidations at idle of a project in a day (UTC), over all its servers
    bank_busy_seconds: float = 30.0  # that a write waits for another process
    sets_aside: bool = True  # False: a process that must not move a damaged bank
    unknown: tuple[str, ...] = ()  # variables that look like settings and are not; doctor and the log report them
    # The providers' keys and addresses: never shown, never stored.
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
        """Return a sentence for each variable that looks like a setting and is not, with the nearest setting."""
        from difflib import get_close_matches  # noqa: PLC0415 - only where one is misspelt

        # Without the prefix: it would make any two names alike.
        names = [item.name.upper() for item in documented()]
        near = {name: get_close_matches(name[len(PREFIX) :].upper(), names, n=1) for name in self.unknown}
        return [
            f"{_quoted(name)} is no setting. "
            + (f"Did you mean {PREFIX}{match[0]}?" if match else "docs/settings.md lists them.")
            for name, match in near.items()
        ]

    @property
    def llm_settings(self) -> dict[str, str]:
        """The settings of the providers and their limits, by the names of the environment."""
        own = {PREFIX + item.name.upper(): str(getattr(self, item.name)) for item in documented()}
        return {**self.provider_env, **{name: text for name, text in own.items() if name.startswith(_FOR_PROVIDERS)}}

    @property
    def has_embeddings(self) -> bool:
        """True if an embedding model is named."""
        return self.embeddings.strip().casefold() not in ("", "off", "words")

    @property
    def prompts_folder(self) -> Path | None:
        """The folder of prompt overrides, absolute, or None."""
        return self.prompts_dir and self.prompts_dir.expanduser().absolute()

    @property
    def bank_path(self) -> Path:
        """The bank's file, absolute and without links: SQLite keeps its log beside the file.

        For a bank on a server, a name for the files that this machine keeps about it; no such file is made.
        """
        bank = self.bank or data_directory() / "bank.db"
        if isinstance(bank, ServerUrl):
            return data_directory() / f"postgresql-{sha256(str(bank).encode()).hexdigest()[:12]}"
        path = bank.expanduser().absolute()
        return Path(os.path.realpath(path)) if path.is_symlink() else path


@dataclass(frozen=True, slots=True, repr=False)
class ServerUrl:
    """The address of a bank on a PostgreSQL server. As text it has neither the password nor parameters."""

    whole: str

    def __str__(self) -> str:
        from urllib.parse import urlsplit  # noqa: PLC0415 - most banks are files

        parts = urlsplit(self.whole)
        if "@" in parts.path + parts.query + parts.fragment:  # a sign in the password that should be escaped
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
        raise InputError(f"{PREFIX}BANK", "it is neither a file nor the address of a PostgreSQL server", fix)
    return Path(text)


def _provider_prefixes(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the prefixes of the variables that belong to providers: `ACME_` for the setting `acme:model`."""
    named = (text.strip().partition(":")[0] for name, text in env.items() if name.startswith(_FOR_PROVIDERS))
    own = {f"{re.sub('[^A-Z0-9]', '_', name.upper())}_" for name in named if re.fullmatch(r"[A-Za-z][\w.-]+", name)}
    return ("ANTHROPIC_", "OPENAI_", *sorted(own - {"OFF_", "LOCAL_"}))


def documented() -> tuple[Field[Any], ...]:
    """Return the fields that a person sets, in the order of the documentation."""
    return tuple(item for item in fields(Settings) if "meaning" in item.metadata)


def data_directory() -> Path:
    """Return the directory of a person's application data on this platform, as `platformdirs` does in 40 ms more."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "mcp-reflect"


_TRUTH: Final = {word: word in ("true", "1", "yes", "on") for word in "true false 1 0 yes no on off".split()}


def _read(name: str, text: str, item: Field[Any]) -> Any:
    """Return `text` as a value of the field's type; InputError names the variable `name`."""
    options = get_args(item.type)
    if get_origin(item.type) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if item.type is bool or get_origin(item.type) is Literal:
        values = _TRUTH if item.type is bool else {option: option for option in options}
        if text.lower() not in values:
            raise InputError(
                name, f"'{_quoted(text)}' is not one of its values", f"Set one of {', '.join(map(str, values))}."
            )
        return values[text.lower()]
    if item.name == "bank":
        return bank_place(text)
    convert: Any = options[0] if options else item.type
    if convert not in (int, float):
        return convert(text)
    least, most = item.metadata["least"], item.metadata["most"]
    try:
        number = convert(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and least <= number <= (math.inf if most is None else most)):
        digits = "digits" if convert is int else "a number"
        span = f"from {least:g} up" if most is None else f"from {least:g} to {most:g}"
        raise InputError(name, f"'{_quoted(text)}' is not a number {span}", f"Set {digits} in this range.")
    return number


def _quoted(text: str) -> str:
    """Return what an error may repeat of a value: a key may have been put into the wrong variable."""
    from mcp_reflect.security.redact import quoted  # noqa: PLC0415 - only an error needs it

    return quoted(text)


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scope of calls that name no project, and the other projects that an argument may name (ANY_PROJECT: any).

    Only where `shares` is true may a call change what is for all projects.
    """

    own: Scope
    others: tuple[str, ...] = ()
    shares: bool = True

    @classmethod
    def of(cls, settings: Settings, tenant_id: str = "local") -> "Scopes":
        """Return the scope of the settings, else of the repository or directory that this process works in."""
        project = settings.project if settings.project is not None else project_of(Path.cwd())
        return cls(Scope(stored_name(tenant_id), stored_name(project)), tuple(map(stored_name, settings.projects)))

    def named(self, project: str | None) -> Scope:
        """Return the scope of an argument; InputError where the settings do not allow it."""
        if project is None:
            return self.own
        name = stored_name(project)
        if name not in (self.own.project, *self.others) and ANY_PROJECT not in self.others:
            allowed = ", ".join(dict.fromkeys(name or "(global)" for name in (self.own.project, *self.others)))
            raise InputError(
                "project",
                f"'{_quoted(project)}' is not one that this server may use",
                f"Leave it out, or send one of: {allowed}. A person can allow more, in MCP_REFLECT_PROJECTS or by "
                "another token.",
            )
        return Scope(self.own.tenant, name)

    def refuse_shared(self, field: str) -> None:
        """InputError, which names `field`, where a call may not change what is for all projects."""
        if not self.shares:
            fix = "Ask somebody whose token is for all projects (*)."
            raise InputError(field, "it is for all projects, and your token is for some", fix)


def stored_name(project: str) -> str:
    """Return a project's name as the bank stores it: without secrets and invisible characters."""
    from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - few processes that read settings need it

    return clean_text(project)


def project_of(directory: Path) -> str:
    """Return the git repository that holds `directory` (worktrees of one share it), else `directory` itself.

    The root, the home and the temp directory belong to no project: they are global.
    """
    here = directory.resolve()
    repositories = (_repository(folder) for folder in (here, *here.parents))
    project = next((repository for repository in repositories if repository is not None), here)
    nobodys = (Path(project.anchor), Path.home().resolve(), Path(tempfile.gettempdir()).resolve())
    return GLOBAL if project in nobodys else str(project)


def _repository(folder: Path) -> Path | None:
    """Return the main working tree of the repository whose `.git` is in `folder`; None where there is none."""
    git = folder / ".git"
    if git.is_file():  # a worktree or a submodule
        pointer = git.read_text(encoding="utf-8", errors="replace").strip()
        if not pointer.startswith("gitdir:"):
            return None
        git = (folder / pointer.removeprefix("gitdir:").strip()).resolve()
        if (common := git / "commondir").is_file():
            git = (git / common.read_text(encoding="utf-8").strip()).resolve()
    elif not (git / "HEAD").exists():
        return None
    return git.parent if git.name == ".git" else git
