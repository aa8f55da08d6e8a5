# SPDX-License-Identifier: Apache-2.0
"""Exactly one of several processes acquires the flag."""

import os

from rpcapi.daemon import process
from rpcapi.daemon.process import ProcessOnceFlag


def test_one_of_many_processes_acquires_the_flag() -> None:
    flag = ProcessOnceFlag()
    pids = [process.fork(lambda: int(flag.acquire())) for _ in range(8)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]

    assert sorted(codes) == [0] * 7 + [1]
    assert not flag.acquire()
