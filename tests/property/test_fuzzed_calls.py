# SPDX-License-Identifier: Apache-2.0
"""Any call of any service is answered, or refused with a typed error that changes nothing and is a short line."""

import json
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import oslo_messaging as messaging
import pytest

from rpcapi.access.callers import CALLERS
from rpcapi.messaging.dispatch import StrictDispatcher
from rpcapi.serializer import GanttSerializer
from tests.property.fuzz import Fuzz
from tests.property.fuzzed_services import FuzzedService, all_services

SERVICES = ("scheduler", "conductor", "compute")
SHORT, LONG = 8, 350  # examples for each method


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, FuzzedService]]:
    with all_services(tmp_path_factory.mktemp("agent")) as created:
        yield created


@pytest.fixture(params=SERVICES)
def fuzz(request: pytest.FixtureRequest, services: Mapping[str, FuzzedService]) -> Fuzz:
    """Calls of one service's dispatchers, without a bus."""
    service = services[request.param]
    dispatchers = {
        topic: StrictDispatcher(list(endpoints), GanttSerializer()) for topic, endpoints in service.endpoints.items()
    }

    def dispatch(topic: str, message: dict[str, Any], ctxt: dict[str, Any]) -> Exception | None:
        received = json.loads(json.dumps([message, ctxt]))
        incoming = SimpleNamespace(message=received[0], ctxt=received[1], client_timeout=None)
        try:
            dispatchers[topic].dispatch(incoming)
        except messaging.ExpectedException as expected:
            return expected.exc_info[1]
        return None

    return Fuzz(service, dispatch)


def test_every_exposed_method_is_fuzzed(services: Mapping[str, FuzzedService]) -> None:
    exposed: dict[str, set[str]] = {}
    for service in services.values():
        for topic, method in service.methods():
            exposed.setdefault(topic.partition(".")[0], set()).add(method.__name__)
    assert exposed == {service: set(methods) for service, methods in CALLERS.items()}


def test_fuzzed_calls_short(fuzz: Fuzz) -> None:
    fuzz.run(SHORT)


# More than 50,000 calls of all services.
@pytest.mark.long
@pytest.mark.timeout(3600)
def test_fuzzed_calls_long(fuzz: Fuzz) -> None:
    fuzz.run(LONG)
    print(fuzz.outcomes.total(), "calls:", dict(fuzz.outcomes.most_common()))
