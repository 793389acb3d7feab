"""The real systems for tests: one stack a session on free ports, and a cluster of three when a test asks for it."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest

from penstock.config import Settings, load_settings
from penstock.local.ports import free_port_settings
from penstock.local.secure.users import settings_file
from penstock.local.stack import Stack, StackOptions
from tests.cdc_fixtures import capturing, make_database  # noqa: F401 - found here by pytest
from tests.s3_fixtures import object_store, s3_buckets, s3_data, s3_lake  # noqa: F401 - found here by pytest
from tests.spark_fixtures import spark  # noqa: F401 - found here by pytest

TURNS = ("faults", "fuzz", "integration", "docs", "unit")
GIVEN_BOOTSTRAP = os.environ.pop("PENSTOCK_TEST_BOOTSTRAP", "")
GIVEN_REGISTRY = os.environ.pop("PENSTOCK_TEST_REGISTRY", "")

# The same examples each time, so that a failure tells of a change; Hypothesis' own profile `default` looks for others.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, so that no process ends up with them alone; and forgive PySpark its sockets."""
    items.sort(key=_turn)
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


def _turn(item: pytest.Item) -> int:
    return TURNS.index(item.path.relative_to(Path(__file__).parent).parts[0])


@dataclass(frozen=True)
class Running:
    """A running stack: the settings of its clients, and the stack itself unless it was given from outside."""

    settings: Settings
    stack: Stack | None = None

    def kill(self, part: str) -> None:
        """Kill one part with SIGKILL."""
        assert self.stack, "a stack given from outside cannot be killed"
        self.stack.kill(part)

    def restart(self, part: str) -> None:
        """Start a killed part again and wait until it is ready."""
        assert self.stack, "a stack given from outside cannot be restarted"
        self.stack.restart(part)


def local_settings(data: Path) -> Settings:
    """Settings for a stack of its own: free ports, data in this directory, the user's cache of jars."""
    chosen = load_settings(env={}, options={"data": str(data)}).settings
    return chosen.model_copy(update={"ports": free_port_settings()})


@pytest.fixture
def stack_settings(tmp_path: Path) -> Settings:
    """Settings for a stack that a test starts for itself."""
    return local_settings(tmp_path)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Kafka with one broker, the registry and PostgreSQL, for the whole session."""
    if GIVEN_BOOTSTRAP and GIVEN_REGISTRY:
        options = {"bootstrap": GIVEN_BOOTSTRAP, "registry": GIVEN_REGISTRY}
        yield Running(load_settings(env={}, options=options).settings)
        return
    with Stack(settings=local_settings(tmp_path_factory.mktemp("stack"))) as running:
        yield Running(running.settings(), running)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Three brokers `kafka-1` to `kafka-3`, replication 3 and two in-sync replicas by default; tests may kill them."""
    with Stack(StackOptions(brokers=3), local_settings(tmp_path_factory.mktemp("cluster"))) as running:
        yield Running(running.settings(), running)


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Settings]]:
    """A broker with TLS, users and rights; called with a user's name (admin, app, reader), that user's settings."""
    data = tmp_path_factory.mktemp("secured")
    with Stack(StackOptions(secure=True), local_settings(data)):
        yield lambda user: load_settings(settings_file(data, user), env={}).settings


@pytest.fixture
def settings(stack: Running) -> Settings:
    """The settings of a client of the session's stack."""
    return stack.settings


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses."""
    return f"{request.node.originalname or 'topic'}-{uuid.uuid4().hex[:8]}"[-200:]


@dataclass(frozen=True)
class Ran:
    """What a command did: its exit code, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What was printed, without blank lines and the padding of tables."""
        return [" ".join(line.split()) for line in self.out.splitlines() if line.strip()]


RunCommand = Callable[..., Ran]


@pytest.fixture
def run_command(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> RunCommand:
    """Run `penstock` with these words in this process, from an empty directory, against the session's stack."""
    from penstock.cli.main import main  # noqa: PLC0415 - tests of the library need no commands

    monkeypatch.chdir(tmp_path)

    def run(*words: object, bootstrap: str = settings.bootstrap) -> Ran:
        given = ["penstock", "--bootstrap", bootstrap, "--registry", settings.registry, *map(str, words)]
        monkeypatch.setattr(sys, "argv", given)
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Ran(int(ended.value.code or 0), printed.out, printed.err)

    return run
