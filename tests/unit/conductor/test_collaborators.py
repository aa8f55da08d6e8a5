# SPDX-License-Identifier: Apache-2.0
"""Clients of the services that the conductor calls."""

import functools

import oslo_messaging as messaging
import pytest

from conductor.collaborators import ServiceClients, summarize_error
from rpcapi import errors


def test_claims_client_is_made_once_for_each_partition() -> None:
    partitions: list[str] = []

    def make(partition: str) -> str:
        partitions.append(partition)
        return f"claims of {partition}"

    clients = ServiceClients(scheduler=None, compute=None, claims=functools.cache(make), partition="default")
    answers = [clients.claims_of(partition) for partition in (None, "west", "west", "default")]
    assert answers == ["claims of default", "claims of west", "claims of west", "claims of default"]
    assert partitions == ["default", "west"]


@pytest.mark.parametrize(
    ("error", "summary"),
    [
        (messaging.RemoteError("KeyError", "x", ["Traceback"]), "Remote error: KeyError x"),
        (OSError("first line\nsecond line"), "first line"),
        (TimeoutError(), "TimeoutError"),
        (errors.StoreUnavailable(why="it is away"), errors.StoreUnavailable(why="it is away").args[0]),
    ],
)
def test_error_is_summarized_in_its_first_line(error: Exception, summary: str) -> None:
    assert summarize_error(error) == summary
