# SPDX-License-Identifier: Apache-2.0
"""Worker processes of a measurement: messages in both directions, and no worker outlives it."""

import multiprocessing
import signal

import pytest

from devstack.lab.worker_processes import WorkerProcesses
from rpcapi import errors
from rpcapi.cli.command import CommandFailed


def double(pipe, index):
    """Answer each number with its double and the worker's index."""
    while True:
        pipe.send((2 * pipe.recv(), index))


def follow_command(pipe, index):
    """Execute the command in the message."""
    match pipe.recv():
        case "raise":
            raise errors.StoreUnavailable(why="nobody there")
        case "die":
            signal.raise_signal(signal.SIGKILL)
        case "hang":
            pipe.recv()
        case _:
            pipe.send("done")


def test_each_worker_gets_its_message_and_answers_in_order():
    with WorkerProcesses(3, double) as workers:
        workers.send([1, 2, 3])
        assert workers.receive(60) == [(2, 0), (4, 1), (6, 2)]
        workers.send([10, 20, 30])
        assert workers.receive(60) == [(20, 0), (40, 1), (60, 2)]
        assert len(multiprocessing.active_children()) == 3
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("message", "error_type", "text"),
    [("raise", errors.StoreUnavailable, "nobody there"), ("die", CommandFailed, "Worker 2 of 2 died")],
)
def test_failing_worker_is_reported_and_the_others_end(message, error_type, text):
    with pytest.raises(error_type, match=text), WorkerProcesses(2, follow_command) as workers:
        workers.send(["well", message])
        workers.receive(60)
    assert multiprocessing.active_children() == []


def test_silent_workers_time_out():
    with (
        pytest.raises(CommandFailed, match="2 of 2 workers sent nothing"),
        WorkerProcesses(2, follow_command) as workers,
    ):
        workers.send(["hang", "hang"])
        workers.receive(0.1)
    assert multiprocessing.active_children() == []


def test_interrupt_of_this_process_ends_the_workers():
    with pytest.raises(KeyboardInterrupt), WorkerProcesses(1, double) as workers:
        workers.send([1])
        workers.receive(60)
        signal.raise_signal(signal.SIGINT)
    assert multiprocessing.active_children() == []
