# SPDX-License-Identifier: Apache-2.0
"""The command ``gantt-lab``."""

import logging
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from devstack.lab.interruption import insist
from rpcapi.shell.application import Application, hush_libraries

# By name, not by class: a question's libraries are imported when it is asked.
COMMANDS = {
    "boot": "devstack.lab.boot:Boot",
    "claim": "devstack.lab.claim:Claim",
    "decide": "devstack.lab.decide:Decide",
    "peers": "devstack.lab.peers.question:Peers",
    "race": "devstack.lab.race:Race",
    "replay": "devstack.lab.replay.question:Replay",
    "rpc": "devstack.lab.rpc:Rpc",
    "shadow": "devstack.lab.shadow.question:Shadow",
    "sync": "devstack.lab.sync:Sync",
    "trees": "devstack.lab.trees:Trees",
}


class LabApp(Application):
    """The application: the questions, and nothing that outlives one."""

    NAME = "gantt-lab"
    LOG = logging.getLogger("gantt.lab")
    LEVELS: ClassVar[Mapping[int, int]] = dict.fromkeys(range(3), logging.ERROR)

    def __init__(self, **streams: Any) -> None:
        super().__init__("Measure gantt beside its floors, in the same run.", COMMANDS, **streams)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    hush_libraries()
    # A private server must not outlive who measures it: end as after Ctrl-C, by way of every `finally`.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    insist()
    return LabApp().run(list(sys.argv[1:] if argv is None else argv))


if __name__ == "__main__":
    sys.exit(main())
