# SPDX-License-Identifier: Apache-2.0
"""Every backend has every verb; the tests beside this file compare what they do."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from scheduler_svc.store.interface import Store
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.verbs import SCRIPTED
from scheduler_svc.store.sql import SqlStore

VERBS = sorted(Store.__abstractmethods__)


@pytest.mark.parametrize("backend", [MemoryStore, RedisStore, SqlStore])
def test_backend_implements_every_verb(backend: type) -> None:
    assert not getattr(backend, "__abstractmethods__", frozenset())
    assert [verb for verb in VERBS if not callable(getattr(backend, verb, None))] == []


@pytest.mark.parametrize("backend", [MemoryStore, RedisStore, SqlStore])
@pytest.mark.parametrize("verb", VERBS)
def test_verb_has_the_parameters_of_the_interface(backend: type, verb: str) -> None:
    def parameters(owner: type) -> list[tuple[str, object, object]]:
        signature = inspect.signature(getattr(owner, verb))
        return [(item.name, item.kind, item.default) for item in signature.parameters.values()]

    assert parameters(backend) == parameters(Store)


@pytest.mark.parametrize("verb", SCRIPTED, ids=lambda verb: f"{verb.__module__}.{verb.__name__}")
def test_script_has_the_arguments_of_the_verb_in_python(verb: Callable[..., Any]) -> None:
    def parameters(function: Callable[..., Any]) -> list[tuple[str, object, object]]:
        return [(item.name, item.kind, item.annotation) for item in inspect.signature(function).parameters.values()]

    own = [row for row in parameters(verb) if row[0] not in {"partition", "now", "_now"}]
    assert parameters(SCRIPTED[verb])[1:] == own


@pytest.mark.parametrize("backend", [MemoryStore, RedisStore, SqlStore])
def test_verb_that_validates_is_declared_once(backend: type) -> None:
    verbs = [name for name, _ in inspect.getmembers(Store, inspect.isfunction) if not name.startswith("_")]
    again = [verb for verb in verbs if verb not in VERBS and getattr(backend, verb) is not getattr(Store, verb)]
    assert set(again) <= {"close"}, "each backend has connections of its own"


@pytest.mark.parametrize("backend", [MemoryStore, RedisStore, SqlStore])
def test_unknown_option_is_refused(backend: Any) -> None:
    with pytest.raises(TypeError, match="no options log_lenght"):
        backend("p", log_lenght=5) if backend is MemoryStore else backend("redis://nowhere", "p", log_lenght=5)
