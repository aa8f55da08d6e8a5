# SPDX-License-Identifier: Apache-2.0
"""The command-line application of ``lab.sh``."""

import logging
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from devstack.lab.interruption import repeat_swallowed_signals
from rpcapi.cli.application import Application, hush_libraries

# By name, not by class: a benchmark's libraries are imported only when it runs.
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
    hush_libraries()
    # A private server must not outlive the benchmark: exit as after Ctrl-C, through every `finally`.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    repeat_swallowed_signals()
    return LabApp().run(list(sys.argv[1:] if argv is None else argv))
