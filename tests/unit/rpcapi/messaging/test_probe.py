# SPDX-License-Identifier: Apache-2.0
"""The probe of the bus before servers start."""

from types import SimpleNamespace
from typing import Any

import oslo_messaging as messaging
import pytest
from kombu import exceptions as kombu_exceptions

from rpcapi import errors
from rpcapi.messaging import bus, probe


class Client:
    """Records the casts, or raises ``error``."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.casts: list[Any] = []

    def prepare(self, retry: int) -> Any:
        def cast(ctxt: Any, method: str) -> None:
            self.casts.append((retry, method, ctxt.deadline is not None))
            if self.error is not None:
                raise self.error

        return SimpleNamespace(cast=cast)


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets the client, and the list of its targets."""
    seen_targets: list[messaging.Target] = []

    def use(client: Client) -> list[messaging.Target]:
        def get_client(transport: Any, target: messaging.Target, serializer: Any) -> Client:
            seen_targets.append(target)
            return client

        monkeypatch.setattr(bus, "get_client", get_client)
        return seen_targets

    return use


def test_probe_sends_one_message_that_no_server_gets(targets: Any) -> None:
    client = Client()
    seen_targets = targets(client)
    probe.probe_bus(None, "conductor")
    assert client.casts == [(0, "probe", True)]
    assert [(target.topic, target.server) for target in seen_targets] == [("conductor", probe.ABSENT_SERVER)]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (messaging.MessageDeliveryFailure("refused"), "refused"),
        (kombu_exceptions.OperationalError("closed"), "closed"),
        (ConnectionRefusedError(), "ConnectionRefusedError"),
    ],
)
def test_bus_that_cannot_be_reached_is_unavailable(targets: Any, error: Exception, why: str) -> None:
    targets(Client(error))
    with pytest.raises(errors.Unavailable, match=f"The message bus.*{why}"):
        probe.probe_bus(None, "conductor")


def test_other_errors_are_raised(targets: Any) -> None:
    targets(Client(KeyError("x")))
    with pytest.raises(KeyError):
        probe.probe_bus(None, "conductor")
