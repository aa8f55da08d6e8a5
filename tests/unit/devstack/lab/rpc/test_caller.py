# SPDX-License-Identifier: Apache-2.0
"""One client of a measurement, with scripted services."""

from types import SimpleNamespace

import oslo_messaging as messaging
import pytest

from devstack.lab import requests
from devstack.lab.rpc import caller
from devstack.lab.rpc.caller import Caller
from devstack.lab.rpc.client_calls import ECHO
from rpcapi import errors
from rpcapi.cli.error_messages import CommandFailed


@pytest.fixture
def make(monkeypatch):
    """Return a function that makes a caller; each call takes a second, and answers or raises the next result."""

    def create(*results):
        clock, rest, calls = SimpleNamespace(now=100.0), list(results), []

        def answer(*args):
            calls.append(args)
            clock.now += 1
            result = rest.pop(0) if rest else SimpleNamespace(chosen=args[-1])
            if isinstance(result, Exception):
                raise result
            return result

        monkeypatch.setattr(caller, "time", SimpleNamespace(monotonic=lambda: clock.now))
        created = object.__new__(Caller)
        created._echo = SimpleNamespace(call=answer)
        created._scheduler = SimpleNamespace(select_destinations=answer)
        created._servers = requests.stream(1)
        return created, calls

    return create


def test_calls_are_repeated_until_the_time_has_passed(make):
    created, calls = make()
    measured = created.call_for(ECHO, 2.5)
    assert (measured.began, list(measured.ends), list(measured.seconds)) == (100.0, [101, 102, 103], [1, 1, 1])
    assert len(calls) == 3 and measured.refusals == 0


def test_selection_is_for_different_instances_and_refusals_are_counted(make):
    created, calls = make(errors.NoValidHost(reason="full"))
    measured = created.call_for(3, 1.5)
    assert (len(measured.ends), measured.refusals) == (2, 1)
    for _ctxt, _spec, uuids in calls:
        assert len(set(uuids)) == 3


@pytest.mark.parametrize("result", [messaging.MessagingTimeout("late"), errors.StoreUnavailable(why="away")])
def test_failed_call_ends_the_measurement(make, result):
    created, _ = make(result)
    with pytest.raises(CommandFailed, match="A measured call failed"):
        created.call_for(ECHO, 5)


def test_incomplete_answer_ends_the_measurement(make):
    created, _ = make(SimpleNamespace(chosen=["h"]))
    with pytest.raises(CommandFailed, match="1 of 2 instances"):
        created.call_for(2, 5)
