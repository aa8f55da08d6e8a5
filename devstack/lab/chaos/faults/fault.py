# SPDX-License-Identifier: Apache-2.0
"""What each kind of fault is."""

import abc
import random
from typing import ClassVar

from devstack.lab.chaos.deployment import ChaosCluster


class Fault(abc.ABC):
    """A fault of a cluster; ``hold`` is the range of seconds between ``inject`` and ``heal``."""

    KIND: ClassVar[str]
    HOLD: ClassVar[tuple[float, float]] = (0.0, 0.5)
    NEEDS_LOAD: ClassVar[bool] = False  # on an idle cluster it would not occur

    def __init__(self, cluster: ChaosCluster, chance: random.Random) -> None:
        self.cluster = cluster
        self.chance = chance

    @abc.abstractmethod
    def inject(self) -> str:
        """Inject the fault; return what was chosen, in a few words."""

    def heal(self) -> bool:
        """Undo what does not heal by itself; return whether the fault occurred."""
        return True


def choose(cluster: ChaosCluster, chance: random.Random, program: str) -> str:
    """Return the name of a random daemon of a program."""
    return chance.choice([name for name, own in cluster.programs.items() if own == program])
