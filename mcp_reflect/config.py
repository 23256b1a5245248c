"""The settings, read once from `MCP_REFLECT_*`: each with its type, default and meaning."""

import os
import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

from mcp_reflect.bank_address import ServerUrl, quoted_value
from mcp_reflect.errors import did_you_mean
from mcp_reflect.limits import Limits
from mcp_reflect.places import data_folder
from mcp_reflect.setting_values import filled_in_setting, setting, value_of

PREFIX: Final = "MCP_REFLECT_"
_FOR_PROVIDERS: Final = (f"{PREFIX}LLM", f"{PREFIX}EMBEDDINGS")
"""Begin the settings that name a provider of language models or embeddings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Limits):
    """The decisions of the person who runs the server."""

    bank: "Path | ServerUrl | None" = setting(
        None,
        "The bank: the whole path of a file, or `postgresql://USER:PASSWORD@HOST/DATABASE` (see [operations](operations.md)). "
        "Default: `bank.db` in the platform's data directory.",
    )
    project: str | None = setting(
        None,
        "The project of the lessons. Default: the git repository of the working directory, or "
        "that directory.",
    )
    subprojects: tuple[str, ...] = setting(
        (),
        "Folders of a repository that are projects of their own, separated by commas: "
        "`services/*,web`.",
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
        "The language model: `anthropic:MODEL`, `openai:MODEL@URL`, `claude-code`, `codex`, "
        "`gemini` or `off`.",
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
        "The least score (0 to 1) that passes critique's gate; should_reflect says yes to a "
        "confidence below it.",
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
        "Whether critique asks a model: `always`, `off`, or `auto` (unless rules are certain "
        "that something is wrong).",
    )
    max_iterations: int = setting(
        2, "The most corrections that critique tries, unless the call sets a number.", fades=True
    )
    max_retries: int = setting(
        2, "The number of plans for one search after which replan_search gives up.", fades=True
    )
    bank_size: int | None = setting(
        None,
        "The most active lessons, strategies and reflections (each) of a project; others are "
        "archived. Default: any.",
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
        headings=(
            "tests",
            "build",
            "types",
            "lint",
            "format",
            "commit",
            "push",
            "migration",
            "deployment",
            "health",
            "image",
        ),
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
        "When hooks ask the agent for a lesson: at the `call` that worked after a failure, at "
        "its `stop`, or `off`.",
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
    # For a question to a language model and the repair of its reply; hosts give up on a call at 60.
    llm_seconds: float = 45.0
    embeddings_seconds: float = 1.0  # that a recall waits for an embedder; then it uses words alone
    bank_busy_seconds: float = 30.0  # that a write waits for another process
    folder: Path | None = None  # whose repository is the project; default: the working directory
    # False: a process that must be quick; it reads the names of projects and stores none.
    stores_names: bool = True
    sets_aside: bool = True  # False: a process that must not move a damaged bank
    durable: bool = True  # False: a power cut may lose what was written last
    # Variables that look like settings and are not; doctor and the log report them.
    unknown: tuple[str, ...] = ()
    # The providers' keys and addresses: never shown, never stored.
    provider_env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> "Settings":
        """Read `MCP_REFLECT_*`; raise `InputError` that names the variable where a value cannot be read."""
        if env is None:
            env = os.environ
        values: dict[str, Any] = {}
        for item in readable():
            name = PREFIX + item.name.upper()
            text = env.get(name, "").strip()
            if text:
                values[item.name] = value_of(name, filled_in_setting(name, text), item)
        prefixes = _provider_prefixes(env)
        provider_env = {name: text for name, text in env.items() if name.startswith(prefixes)}
        names = {PREFIX + item.name.upper() for item in readable()}
        unknown = tuple(
            sorted(name for name in env if name.upper().startswith(PREFIX) and name not in names)
        )
        return cls(**values, unknown=unknown, provider_env=provider_env)

    def misspelled(self) -> list[str]:
        """Return a sentence for each variable that looks like a setting and is not, with the nearest setting.

        `MCP_REFLECT_PROJEKT` -> "MCP_REFLECT_PROJEKT is not a setting. Did you mean 'MCP_REFLECT_PROJECT'?"
        """
        names = [item.name.upper() for item in documented()]
        sentences: list[str] = []
        for name in self.unknown:
            # Names are compared without the prefix, which would make any two alike; the hint gets it back.
            hint = did_you_mean(name[len(PREFIX) :].upper(), names, "docs/settings.md lists them.")
            hint = hint.replace("mean '", f"mean '{PREFIX}")
            sentences.append(f"{quoted_value(name)} is not a setting. {hint}")
        return sentences

    def fading(self) -> list[str]:
        """Return a sentence for each setting that a person changed and that the next version drops."""
        return [
            f"{PREFIX}{item.name.upper()} works in this version for the last time; the next one uses {item.default}."
            for item in readable()
            if item.metadata["fades"] and getattr(self, item.name) != item.default
        ]

    @property
    def llm_settings(self) -> dict[str, str]:
        """What providers of models read: their keys and addresses, and our settings about them, by variable.

        {"ANTHROPIC_API_KEY": "…", "MCP_REFLECT_LLM": "anthropic:MODEL", "MCP_REFLECT_EMBEDDINGS": "words", …}
        """
        variables = dict(self.provider_env)
        for item in readable():
            name = PREFIX + item.name.upper()
            if name.startswith(_FOR_PROVIDERS):
                variables[name] = str(getattr(self, item.name))
        return variables

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


def _provider_prefixes(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the prefixes of the variables that belong to providers.

    They are those of the two usual ones and of each that a setting names: {"MCP_REFLECT_LLM": "acme:model"} ->
    ("ANTHROPIC_", "OPENAI_", "ACME_").
    """
    prefixes: set[str] = set()
    for variable, text in env.items():
        if not variable.startswith(_FOR_PROVIDERS):
            continue
        provider = text.strip().partition(":")[0]
        if re.fullmatch(r"[A-Za-z][\w.-]+", provider):
            prefixes.add(f"{re.sub('[^A-Z0-9]', '_', provider.upper())}_")
    # "off" and "local" are values of these settings and name no provider.
    return ("ANTHROPIC_", "OPENAI_", *sorted(prefixes - {"OFF_", "LOCAL_"}))


def readable() -> tuple[Field[Any], ...]:
    """Return the fields that the environment can set, those that the next version drops included."""
    return tuple(item for item in fields(Settings) if "meaning" in item.metadata)


def documented() -> tuple[Field[Any], ...]:
    """Return the fields that the documentation lists, in its order: all but those that the next version drops."""
    return tuple(item for item in readable() if not item.metadata["fades"])
