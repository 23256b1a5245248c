"""From settings to the model of each role, its keys, time and limits; its bugs cost a rung of the ladder, no tool."""

import asyncio
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_reflect.llm.protocol import (
    LLM,
    BudgetExceededError,
    GarbledReplyError,
    LLMSettingError,
    Reply,
    Request,
    Role,
    TimedOutError,
)
from mcp_reflect.llm.providers import Model, Registry, Spec, Unusable, is_near, parse_spec
from mcp_reflect.llm.sdk import Anthropic, OpenAIModel, open_llm
from tests.llm.dialects import ANTHROPIC
from tests.llm.loopback import Loopback
from tests.llm.reflect_calls import reflect, rows, serving
from tests.llm.requests import asking, model, registry
from tests.scripted import Scripted

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-1", "OPENAI_API_KEY": "sk-oai-2"}


class Stuck:
    """Never answers; `ended` says that it was told to stop."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.ended = False

    async def complete(self, request: Request) -> Reply:
        del request
        self.started.set()
        try:
            return await asyncio.Future()
        finally:
            self.ended = True


async def test_a_stuck_model_is_cancelled_and_the_error_names_it() -> None:
    stuck = Stuck()
    with pytest.raises(TimedOutError, match=r"x:y: no reply within 0\.01 s") as caught:
        await model(stuck).complete(asking(timeout=0.01))
    assert stuck.ended
    assert caught.value.__context__ is None
    with (
        Scripted(TimeoutError()) as llm,
        pytest.raises(GarbledReplyError, match="raised TimeoutError"),
    ):
        await model(llm).complete(asking())


async def test_a_cancelled_caller_stays_cancelled() -> None:
    stuck = Stuck()
    call = asyncio.create_task(model(stuck).complete(asking()))
    await stuck.started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert stuck.ended


LOCAL = "openai:a@http://localhost:9/v1"


async def test_roles_share_the_budget_of_the_day() -> None:
    limits = {"MCP_REFLECT_LLM_TOKENS_PER_DAY": "10"}
    settings = {
        "MCP_REFLECT_LLM": LOCAL,
        "MCP_REFLECT_LLM_CRITIC": LOCAL.replace("a@", "b@"),
        **limits,
    }
    models = registry(settings)
    for role in (Role.REFLECTOR, Role.CRITIC):
        llm = models.llm(role)
        assert llm is not None
        with pytest.raises(BudgetExceededError):
            await llm.complete(asking())


async def test_a_limit_that_is_no_number_stops_no_start_and_is_found() -> None:
    settings = {"MCP_REFLECT_LLM": LOCAL, "MCP_REFLECT_LLM_TOKENS_PER_DAY": "cheap"}
    models = registry(settings)
    assert [problem.setting for problem in models.problems()] == ["MCP_REFLECT_LLM_TOKENS_PER_DAY"]
    llm = models.llm(Role.REFLECTOR)
    assert llm is not None
    with pytest.raises(LLMSettingError, match="cheap"):
        await llm.complete(asking())


# A provider that another package brings


def install(
    folder: Path, body: str, patch: pytest.MonkeyPatch, target: str = "echo_llm:open_llm"
) -> None:
    """A package that offers the provider `echo` through an entry point, for as long as the test runs."""
    patch.setattr(sys, "path", [str(folder), *sys.path])
    patch.delitem(sys.modules, "echo_llm", raising=False)
    importlib.invalidate_caches()
    (folder / "echo_llm.py").write_text(body, "utf-8")
    info = folder / "echo_llm-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo-llm\nVersion: 1.0\n", "utf-8")
    points = f"[mcp_reflect.llm]\necho = {target}\nanthropic = {target}\n"
    (info / "entry_points.txt").write_text(points, "utf-8")


ECHO = """
from mcp_reflect.llm.protocol import LLMSettingError, RefusedError, Reply, Stop

class Echo:
    def __init__(self, spec):
        self.spec = spec

    async def complete(self, request):
        return Reply(text=request.user, stop=Stop.END, llm=self.spec.name)

def open_llm(spec, settings):
    return Echo(spec)
"""
RETURN = "return Reply(text=request.user, stop=Stop.END, llm=self.spec.name)"
RAISES = ECHO.replace(RETURN, "raise ValueError(f'key sk-secret of {request.user}')")
RETURNS = ECHO.replace(RETURN, "return 'just text'")
DECLINES = ECHO.replace(RETURN, "raise RefusedError('echo', 'busy', 'Wait')")


async def test_another_package_brings_a_provider_and_cannot_take_the_name_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, ECHO, monkeypatch)
    models = registry(
        {**KEYS, "MCP_REFLECT_LLM": "echo:loud", "MCP_REFLECT_LLM_CRITIC": "anthropic:x"}
    )
    llm = models.llm(Role.REFLECTOR)
    assert llm is not None
    reply = await llm.complete(asking("hello"))
    assert (reply.text, reply.llm) == ("hello", "echo:loud")
    critic = models.llm(Role.CRITIC)
    assert isinstance(critic, Model)
    assert isinstance(critic.llm, Anthropic)
    (problem,) = registry({"MCP_REFLECT_LLM_CRITIC": "olama:qwen3"}).problems()
    assert problem.setting == "MCP_REFLECT_LLM_CRITIC"
    assert "anthropic, claude-code, codex, echo, gemini, openai, off" in problem.fix


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("import nowhere_at_all", "echo_llm:open_llm"),
        ("", "echo_llm:nothing"),
        ("this is no Python", "echo_llm:open_llm"),
        ("open_llm = 5", "echo_llm:open_llm"),
    ],
)
def test_a_provider_that_cannot_be_loaded_is_a_setting_that_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, target: str
) -> None:
    install(tmp_path, body, monkeypatch, target)
    (problem,) = registry({"MCP_REFLECT_LLM": "echo:loud"}).problems()
    assert "cannot be loaded" in problem.fault
    assert "echo-llm" in problem.fix


def test_another_package_may_find_its_settings_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        tmp_path,
        ECHO.replace("return Echo(spec)", "raise LLMSettingError('ECHO_KEY', 'no', 'y')"),
        monkeypatch,
    )
    (problem,) = registry({"MCP_REFLECT_LLM": "echo:loud"}).problems()
    assert problem.setting == "ECHO_KEY"


@pytest.mark.parametrize(
    ("body", "did"), [(RAISES, "raised ValueError"), (RETURNS, "returned str")]
)
async def test_a_bug_of_another_package_is_an_error_that_names_it_and_leaves_it_to_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, did: str
) -> None:
    install(tmp_path, body, monkeypatch)
    llm = registry({"MCP_REFLECT_LLM": "echo:loud"}).llm(Role.REFLECTOR)
    assert llm is not None
    with pytest.raises(GarbledReplyError) as caught:
        await llm.complete(asking())
    assert caught.value.fault == f"the package echo-llm {did}"
    assert "sk-secret" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    async with serving(tmp_path, llm="echo:loud") as (client, _):
        found = await reflect(client)
    assert found["thinker"] == "rules"
    assert found["note"].startswith(f"echo:loud: the package echo-llm {did}")
    assert rows(tmp_path)["reflections"] == 1


async def test_an_error_of_the_contract_passes_as_it_is_and_a_text_is_read_like_any_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, body in (
        ("declines", DECLINES),
        ("says", ECHO.replace("text=request.user", "text='The namespace was missing.'")),
    ):
        (tmp_path / name).mkdir()
        install(tmp_path / name, body, monkeypatch)
        async with serving(tmp_path / name, llm="echo:loud") as (client, _):
            found = await reflect(client)
        assert (found["thinker"], found.get("note")) == (
            ("rules", "echo: busy. Wait")
            if name == "declines"
            else ("echo:loud", found.get("note"))
        )
    assert found["reflection"] == "The namespace was missing."


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("anthropic:claude-sonnet-5-5", Spec("anthropic", "claude-sonnet-5-5")),
        (" Anthropic: claude-opus-5-5 ", Spec("anthropic", "claude-opus-5-5")),
        (
            "openai:qwen3@http://localhost:11434/v1",
            Spec("openai", "qwen3", "http://localhost:11434/v1"),
        ),
        (
            "openai:qwen3:8b@http://[::1]:11434/v1/",
            Spec("openai", "qwen3:8b", "http://[::1]:11434/v1"),
        ),
        (
            "openai:@cf/meta/llama@https://api.example.com/v1",
            Spec("openai", "@cf/meta/llama", "https://api.example.com/v1"),
        ),
        ("anthropic:claude-opus-4@20250514", Spec("anthropic", "claude-opus-4@20250514")),
        ("openai:org/model", Spec("openai", "org/model")),
        ("off", None),
        ("OFF ", None),
        ("", None),
    ],
)
def test_a_spec_says_provider_model_and_address(text: str, spec: Spec | None) -> None:
    assert parse_spec("MCP_REFLECT_LLM", text) == spec


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("gpt-5", "names no provider"),
        (":gpt-5", "names no provider"),
        ("http://localhost:11434", "names no provider"),
        ("openai:", "names no model"),
        ("openai:@http://localhost", "names no model"),
        ("openai:two words", "names no model"),
        ("openai:x\x00y", "names no model"),
        ("openai:qwen3@localhost:11434/v1", "does not start with http"),
        ("openai:qwen3@localhost", "does not start with http"),
        ("openai:qwen3@10.0.0.1:8000", "does not start with http"),
        ("openai:qwen3@http://", "cannot be used"),
        ("openai:qwen3@http://localhost:99999", "cannot be used"),
        ("openai:qwen3@http://localhost/v1?key=1", "cannot be used"),
        ("openai:qwen3@http://localhost/v1#x", "cannot be used"),
        ("openai:qwen3@http://local host/v1", "cannot be used"),
        ("openai:qwen3@http://[::1/v1", "cannot be used"),
        ("openai:qwen3@http://münchen.example/v1", "cannot be used"),
    ],
)
def test_a_bad_spec_gets_an_error_that_names_setting_fault_and_fix(text: str, fault: str) -> None:
    with pytest.raises(LLMSettingError, match=fault) as caught:
        parse_spec("MCP_REFLECT_LLM_CRITIC", text)
    assert caught.value.setting == "MCP_REFLECT_LLM_CRITIC"
    assert str(caught.value).startswith("MCP_REFLECT_LLM_CRITIC: ")
    assert caught.value.fix


@pytest.mark.parametrize(
    "text", ["openai:x@https://me:hunter2@host/v1", "x@https://me:hunter2@host/v1"]
)
def test_a_password_in_an_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(LLMSettingError) as caught:
        parse_spec("MCP_REFLECT_LLM", text)
    assert "hunter2" not in str(caught.value)


def opened(models: Registry, role: Role) -> LLM:
    """The provider's own model of a role."""
    model = models.llm(role)
    assert isinstance(model, Model)
    return model.llm


def test_a_role_has_its_own_or_the_common_one_or_none() -> None:
    models = registry(
        {
            **KEYS,
            "MCP_REFLECT_LLM": "anthropic:claude-sonnet-5-5",
            "MCP_REFLECT_LLM_CRITIC": "openai:qwen3@http://localhost:11434/v1",
            "MCP_REFLECT_LLM_DREAMER": "off",
            "MCP_REFLECT_LLM_PLANNER": "  ",
        }
    )
    assert isinstance(opened(models, Role.CRITIC), OpenAIModel)
    assert isinstance(opened(models, Role.REFLECTOR), Anthropic)
    assert models.llm(Role.DREAMER) is None
    assert models.llm(Role.PLANNER) is models.llm(Role.REFLECTOR)
    assert models.problems() == []


async def test_a_setting_that_is_wrong_fails_the_completion_and_not_the_start() -> None:
    models = registry(
        {**KEYS, "MCP_REFLECT_LLM": "gpt-5", "MCP_REFLECT_LLM_CRITIC": "openai:gpt-5"}
    )
    llm = models.llm(Role.REFLECTOR)
    assert isinstance(llm, Unusable)
    for _ in range(2):
        with pytest.raises(LLMSettingError, match="MCP_REFLECT_LLM: "):
            await llm.complete(asking())
    assert isinstance(opened(models, Role.CRITIC), OpenAIModel)
    assert [problem.setting for problem in models.problems()] == ["MCP_REFLECT_LLM"]


@pytest.mark.parametrize(
    ("spec", "setting"),
    [
        ("anthropic:claude-sonnet-5-5", "ANTHROPIC_API_KEY"),
        ("openai:gpt-5", "OPENAI_API_KEY"),
    ],
)
def test_a_missing_key_is_named(spec: str, setting: str) -> None:
    (problem,) = registry({"MCP_REFLECT_LLM": spec}).problems()
    assert problem.setting == setting
    assert "MCP_REFLECT_LLM_KEY_FILE" in problem.fix


def test_a_local_endpoint_needs_no_key() -> None:
    assert registry({"MCP_REFLECT_LLM": "openai:qwen3@http://localhost:11434/v1"}).problems() == []
    assert (
        registry(
            {"MCP_REFLECT_LLM": "openai:qwen3", "OPENAI_BASE_URL": "http://localhost:1/v1"}
        ).problems()
        == []
    )


@pytest.mark.parametrize(
    ("provider", "name"), [("anthropic", "ANTHROPIC_BASE_URL"), ("openai", "OPENAI_BASE_URL")]
)
def test_a_bad_base_url_names_its_variable(provider: str, name: str) -> None:
    (problem,) = registry(
        {**KEYS, "MCP_REFLECT_LLM": f"{provider}:x", name: "localhost:8000"}
    ).problems()
    assert problem.setting == name


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.1:1", True),
        ("http://[::1]:1", True),
        ("http://192.168.1.7:8000/v1", True),
        ("http://gpu-box:8000/v1", True),
        ("http://host.docker.internal:1234", True),
        ("http://8.8.8.8/v1", False),
        ("http://api.example.com/v1", False),
    ],
)
def test_a_key_does_not_cross_a_public_network_in_clear_text(url: str, near: bool) -> None:
    assert is_near(url) is near
    problems = registry({**KEYS, "MCP_REFLECT_LLM": f"openai:x@{url}"}).problems()
    assert ["in clear text" in problem.fault for problem in problems] == ([] if near else [True])
    assert registry({"MCP_REFLECT_LLM": f"openai:x@{url}"}).problems() == []


def test_roles_with_the_same_model_share_it() -> None:
    models = registry({**KEYS, "MCP_REFLECT_LLM": "openai:gpt-5"})
    assert len({id(models.llm(role)) for role in Role}) == 1


def test_neither_the_start_nor_the_binding_of_roles_imports_an_sdk_or_an_http_client() -> None:
    code = f"""
from mcp_reflect.llm.protocol import Role
from mcp_reflect.llm.providers import Registry
settings = {{"MCP_REFLECT_LLM": "anthropic:x", "MCP_REFLECT_LLM_CRITIC": "openai:y", **{KEYS!r}}}
assert Registry(settings, None).problems() == []
"""
    env = {"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""}
    script = [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"]
    modules = subprocess.run(
        script, env=env, capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert "mcp_reflect.llm.sdk" in modules
    unwanted = {"anthropic", "httpx2", "httpx", "httpcore", "httpcore2", "pydantic", "mcp", "anyio"}
    assert not unwanted & {*modules}


@pytest.mark.parametrize("text", ["sk 1", "sk-ü", "sk\x07-1"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(text: str) -> None:
    (problem,) = registry({"MCP_REFLECT_LLM": "anthropic:x", "ANTHROPIC_API_KEY": text}).problems()
    assert problem.setting == "ANTHROPIC_API_KEY"
    assert text not in str(problem)


def key_file(folder: Path, content: str | bytes, mode: int = 0o600) -> dict[str, str]:
    path = folder / "key"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return {"MCP_REFLECT_LLM": "anthropic:x", "MCP_REFLECT_LLM_KEY_FILE": str(path)}


@pytest.mark.parametrize("mode", [0o600, 0o400])
@pytest.mark.parametrize(
    "content",
    [
        "export ANTHROPIC_API_KEY='sk-file'\nOPENAI_API_KEY = \"sk-other\"\n",
        "# mine\n\nANTHROPIC_API_KEY=sk-file",
    ],
)
async def test_a_key_of_the_file_comes_before_that_of_the_environment(
    tmp_path: Path, content: str, mode: int
) -> None:
    async with Loopback(ANTHROPIC.say("Yes", "end_turn")) as server:
        settings = {**KEYS, **key_file(tmp_path, content, mode)}
        await open_llm(Spec("anthropic", "x", server.url), settings).complete(asking())
    assert server.received[0].headers["authorization"] == "Bearer sk-file"


@pytest.mark.skipif(os.name != "posix", reason="mode bits are POSIX")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_key_file_that_others_can_read_is_refused_with_the_command_that_helps(
    tmp_path: Path, mode: int
) -> None:
    (problem,) = registry(key_file(tmp_path, "ANTHROPIC_API_KEY=sk-1", mode)).problems()
    assert "so others can read the key" in problem.fault
    assert f"chmod 600 {tmp_path / 'key'}" in problem.fix
    assert "sk-1" not in str(problem)


@pytest.mark.parametrize(
    "content", ["", "# nothing\n", "sk-2", b"\xff\xfe\x00", "NAME=x\nsk-2", None]
)
def test_a_file_without_keys_is_refused(tmp_path: Path, content: str | bytes | None) -> None:
    settings = key_file(tmp_path, content or "")
    if content is None:
        (tmp_path / "key").unlink()
    (problem,) = registry(settings).problems()
    assert problem.setting == "MCP_REFLECT_LLM_KEY_FILE"
    assert ("cannot be read" if content is None else "does not hold keys") in problem.fault
    assert "sk-2" not in str(problem)
