# SPDX-License-Identifier: Apache-2.0
"""Workers of a measurement: what they are told and heard of, and that none outlives it."""

import multiprocessing
import signal

import pytest

from devstack.lab.crew import WorkerProcesses
from rpcapi import errors
from rpcapi.shell.faults import CommandFailed


def double(line, index):
    """Answer each number with its double and the worker's index."""
    while True:
        line.send((2 * line.recv(), index))


def follow_command(line, index):
    """Do what the message says."""
    match line.recv():
        case "raise":
            raise errors.StoreUnavailable(why="nobody there")
        case "die":
            signal.raise_signal(signal.SIGKILL)
        case "hang":
            line.recv()
        case _:
            line.send("done")


def test_each_worker_gets_its_message_and_is_heard_in_order():
    looks = []
    with WorkerProcesses(3, double) as crew:
        crew.send([1, 2, 3])
        assert crew.receive(60, lambda: looks.append(1)) == [(2, 0), (4, 1), (6, 2)]
        crew.send([10, 20, 30])
        assert crew.receive(60) == [(20, 0), (40, 1), (60, 2)]
        assert len(multiprocessing.active_children()) == 3
    assert looks
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("message", "raised", "said"),
    [("raise", errors.StoreUnavailable, "nobody there"), ("die", CommandFailed, "Worker 2 of 2 died")],
)
def test_a_worker_that_fails_is_told_of_and_the_others_end(message, raised, said):
    with pytest.raises(raised, match=said), WorkerProcesses(2, follow_command) as crew:
        crew.send(["well", message])
        crew.receive(60)
    assert multiprocessing.active_children() == []


def test_workers_that_say_nothing_are_given_up():
    with pytest.raises(CommandFailed, match="2 of 2 workers did not start"), WorkerProcesses(2, follow_command) as crew:
        crew.send(["hang", "hang"])
        crew.receive(0.1)
    assert multiprocessing.active_children() == []


def test_what_ends_this_process_ends_the_workers():
    with pytest.raises(KeyboardInterrupt), WorkerProcesses(1, double) as crew:
        crew.send([1])
        crew.receive(60)
        signal.raise_signal(signal.SIGINT)
    assert multiprocessing.active_children() == []
