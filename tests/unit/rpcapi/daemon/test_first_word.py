# SPDX-License-Identifier: Apache-2.0
"""One of several processes speaks, whichever comes first."""

import os

from rpcapi.daemon import process
from rpcapi.daemon.first_word import FirstWord


def test_one_of_many_processes_is_told_that_it_is_the_first() -> None:
    word = FirstWord()
    pids = [process.fork(lambda: int(word.take())) for _ in range(8)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]

    assert sorted(codes) == [0] * 7 + [1]
    assert not word.take()
