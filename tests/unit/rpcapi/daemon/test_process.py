# SPDX-License-Identifier: Apache-2.0
"""Forks, signals as bytes, and a flag that exactly one of several processes acquires."""

import os
import signal

import pytest

from rpcapi.daemon import process
from rpcapi.daemon.process import ProcessOnceFlag, SignalSocket


def exit_code(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("status", [0, 5])
def test_child_exits_with_the_result(status: int) -> None:
    assert exit_code(process.fork(lambda: status)) == status


def test_child_that_raises_does_not_continue_as_a_second_parent(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise SystemExit(0)

    assert exit_code(process.fork(fail)) == process.EX_SOFTWARE
    assert "SystemExit" in capfd.readouterr().err


def test_child_starts_with_signals_blocked_and_default_handlers() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    def check() -> int:
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        default = all(signal.getsignal(number) == signal.SIG_DFL for number in process.HANDLED)
        return 0 if default and blocked >= process.HANDLED else 1

    assert exit_code(process.fork(check)) == 0
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_signals_and_added_bytes_are_read_in_order() -> None:
    def check() -> int:  # in a child: the handlers of this process are pytest's
        signals = SignalSocket([signal.SIGHUP, signal.SIGTERM])
        os.kill(os.getpid(), signal.SIGHUP)
        signals.put(0)
        os.kill(os.getpid(), signal.SIGTERM)
        read = b""
        while len(read) < 3:
            read += signals.read()
        signals.close()
        return 0 if read == bytes([signal.SIGHUP, 0, signal.SIGTERM]) else 1

    assert exit_code(process.fork(check)) == 0


def test_one_of_many_processes_acquires_the_flag() -> None:
    flag = ProcessOnceFlag()
    pids = [process.fork(lambda: int(flag.acquire())) for _ in range(8)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]

    assert sorted(codes) == [0] * 7 + [1]
    assert not flag.acquire()
