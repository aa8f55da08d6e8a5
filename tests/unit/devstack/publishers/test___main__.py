# SPDX-License-Identifier: Apache-2.0
"""The loop of the publishers."""

import signal
import sys
from types import SimpleNamespace

import pytest

from devstack.publishers import __main__ as program
from rpcapi import errors


@pytest.fixture
def rounds(monkeypatch, conf):
    """Return a function that runs the program with the results of its rounds, and returns the pauses."""

    def run(*results):
        rest, pauses, handlers, closed = list(results), [], {}, []

        class Publisher:
            is_settled = False

            def __init__(self, session, racks, physnets):
                pass

            def publish(self):
                result = rest.pop(0)
                self.is_settled = result == 0
                if isinstance(result, Exception):
                    raise result
                return result

        class Event:
            stopped = False

            def set(self):
                self.stopped = True

            def is_set(self):
                return self.stopped

            def wait(self, seconds):
                pauses.append(seconds)
                if not rest:
                    handlers[signal.SIGTERM]()

        monkeypatch.setattr(sys, "argv", ["publishers", "--config-file", "x.conf"])
        monkeypatch.setattr(program, "StatePublisher", Publisher)
        monkeypatch.setattr(program, "threading", SimpleNamespace(Event=Event))
        monkeypatch.setattr(program.signal, "signal", handlers.__setitem__)
        session = SimpleNamespace(conf=conf, close=lambda: closed.append(True))
        monkeypatch.setattr(program, "Session", lambda files, project: session)
        assert program.main() == 0
        assert closed == [True]
        return pauses

    return run


def test_rounds_are_short_until_the_cluster_has_settled(rounds):
    assert rounds(5, 2, 0, 0) == [program.STARTING, program.STARTING, 10.0, 10.0]


def test_failed_round_is_repeated(rounds, caplog):
    assert rounds(errors.StoreUnavailable(why="it is away"), 0) == [program.STARTING, 10.0]
    assert "to be retried in the next round" in caplog.text
