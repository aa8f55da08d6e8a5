# SPDX-License-Identifier: Apache-2.0
"""Command-line application of ``lab.sh``."""

import contextlib
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from devstack.lab.private_servers import remove_leftovers
from rpcapi.cli.application import Application, hush_libraries

PR_SET_PDEATHSIG = 1

# Names instead of classes, so that a benchmark's libraries are imported only when it runs.
COMMANDS = {
    "boot": "devstack.lab.boot:BootBenchmark",
    "chaos": "devstack.lab.chaos.command:ChaosRun",
    "claim": "devstack.lab.claim.command:ClaimBenchmark",
    "decide": "devstack.lab.decide:DecideBenchmark",
    "history": "devstack.lab.history:RunHistory",
    "import": "devstack.lab.switchover:ImportBenchmark",
    "moves": "devstack.lab.moves.command:MovesBenchmark",
    "nova": "devstack.lab.nova.command:NovaBenchmark",
    "overload": "devstack.lab.overload:OverloadBenchmark",
    "peers": "devstack.lab.peers.command:PeersBenchmark",
    "placement": "devstack.lab.placement.command:PlacementBenchmark",
    "race": "devstack.lab.race.command:RaceBenchmark",
    "replay": "devstack.lab.replay.command:ReplayBenchmark",
    "rpc": "devstack.lab.rpc.command:RpcBenchmark",
    "shadow": "devstack.lab.shadow.command:ShadowBenchmark",
    "simulate": "devstack.lab.simulate:SimulateRun",
    "soak": "devstack.lab.soak:SoakBenchmark",
    "sync": "devstack.lab.sync.command:SyncBenchmark",
    "trees": "devstack.lab.trees:TreesBenchmark",
}


class LabApp(Application):
    NAME = "lab.sh"
    LOG = logging.getLogger("gantt.lab")
    LEVELS: ClassVar[Mapping[int, int]] = dict.fromkeys(range(3), logging.ERROR)

    def __init__(self, **streams: Any) -> None:
        super().__init__("Measure gantt against baselines in the same run.", COMMANDS, **streams)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure in a child process, because libraries do not survive a signal handler that raises in their code."""
    hush_libraries()
    parent = os.getpid()
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    remove_leftovers()
    measuring = os.fork()
    if not measuring:
        _end_with(parent)
        return LabApp().run(list(sys.argv[1:] if argv is None else argv))
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(measuring, 0)[1])
        return code if code >= 0 else 128 - code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        _kill(measuring)
        remove_leftovers()


def _end_with(parent: int) -> None:
    """Lead a new process group without the terminal's signals, which is killed when the parent ends."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _kill(measuring: int) -> None:
    """Kill the measuring process and its workers. `remove_leftovers` ends servers, which have their own sessions."""
    for kill in (os.killpg, os.kill):  # the group does not exist before the process leads it
        with contextlib.suppress(ProcessLookupError):
            kill(measuring, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(measuring, 0)
