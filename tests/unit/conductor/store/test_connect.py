# SPDX-License-Identifier: Apache-2.0
"""The connection to Redis: retries and translated errors, without a server."""

from collections.abc import Callable, Iterator
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

import pytest
import redis
import tenacity

from conductor.store import connect
from conductor.store.connect import UNACKNOWLEDGED, ConductorConnection
from conductor.store.scripts import load, make_identity
from rpcapi import errors
from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.redis_failover.evaluate import TooFewReplicas

URL = "redis://127.0.0.1:1/0"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenacity.nap, "time", SimpleNamespace(sleep=lambda seconds: None))


@pytest.fixture
def connection() -> Iterator[ConductorConnection]:
    created = ConductorConnection(URL, make_identity(is_durable=False))
    yield created
    created.close()


def answers(*results: Any) -> Callable[[redis.Redis], Any]:
    """Return a command that raises or returns one of ``results`` after the other."""
    rest = iter(results)

    def command(client: redis.Redis) -> Any:
        result = next(rest)
        if isinstance(result, Exception):
            raise result
        return result

    return command


def test_command_without_answer_is_repeated(connection: ConductorConnection) -> None:
    assert (
        connection.execute(answers(redis.ConnectionError("closed"), redis.TimeoutError("late"), "stored")) == "stored"
    )


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (redis.ConnectionError("refused"), "refused"),
        (redis.TimeoutError(), "TimeoutError"),
        (redis.ReadOnlyError("it is a replica"), "it is a replica"),
        (redis.exceptions.NoPermissionError("no right to EVAL"), "its user lacks a permission: no right to EVAL"),
        (redis.exceptions.OutOfMemoryError("maxmemory"), "it is out of memory: maxmemory"),
        (redis.ResponseError("MISCONF Redis is configured to save RDB snapshots, but cannot"), "MISCONF"),
        (redis.ResponseError("Error running script (call to f_1): @user_script:1: -MISCONF Redis is"), "MISCONF"),
        (redis.ResponseError("Error running script: @user_script: 1: -OOM command not allowed"), "OOM"),
        (TooFewReplicas(0, ReplicaAcknowledgement(1, 50)), "0 of 1 replicas"),
    ],
)
def test_persistent_error_means_that_the_store_is_unavailable(
    connection: ConductorConnection, error: Exception, why: str
) -> None:
    with pytest.raises(errors.StoreUnavailable, match=why):
        connection.execute(answers(*[error] * 10))


def test_missing_replicas_are_reported_with_the_figures(connection: ConductorConnection) -> None:
    with pytest.raises(errors.NotReplicated) as caught:
        connection.execute(answers(TooFewReplicas(1, ReplicaAcknowledgement(2, 50))))
    figures = {"store": "The conductors' store", "acknowledged": 1, "needed": 2, "wait_ms": 50}
    assert caught.value.kwargs == figures


def test_error_of_a_script_is_not_hidden_as_an_outage(connection: ConductorConnection) -> None:
    with pytest.raises(redis.ResponseError, match="wrong type"):
        connection.execute(answers(redis.ResponseError("wrong type"), "never"))


@pytest.mark.parametrize("url", ["redis://127.0.0.1:port/0", "redis://h:1/0?no_such_option=1"])
def test_unusable_url_is_a_bad_configuration(url: str) -> None:
    with pytest.raises(errors.BadConfiguration, match=r"\[conductor_store\] url cannot be used"):
        ConductorConnection(url, make_identity(is_durable=False))


@pytest.mark.parametrize("name", ["record", "write", *sorted(UNACKNOWLEDGED)])
def test_only_writes_of_records_wait_for_replicas(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    required = ReplicaAcknowledgement(1, 50)
    calls: list[tuple[list[str], ReplicaAcknowledgement]] = []

    def evaluate(client: Any, script: Any, keys: Any, arguments: Any, *, replicas: Any, marker: str) -> list[Any]:
        calls.append(([*keys, marker], replicas))
        return [None]

    monkeypatch.setattr(connect, "evaluate", evaluate)
    connection = ConductorConnection(URL, make_identity(is_durable=False), required)
    script = load(name)
    connection.run(script, [])
    ((keys, replicas),) = calls
    assert keys == [f"gantt:{{conductor}}:{word}" for word in (*script.words, "acknowledged")]
    assert replicas == (ReplicaAcknowledgement() if name in UNACKNOWLEDGED else required)
    connection.close()


def test_every_script_is_decided_upon() -> None:
    """A read that waits for replicas would fail without them, a write that does not could be lost."""
    names = {path.name.removesuffix(".lua") for path in files("conductor.store").joinpath("lua").iterdir()}
    assert {name for name in names if not name.startswith("_")} == {"identity", "record", "write"} | UNACKNOWLEDGED
