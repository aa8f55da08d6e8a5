# SPDX-License-Identifier: Apache-2.0
"""How the simulated hosts behave: the figures of group [simulator], and the chance that is drawn by them."""

import math
import random
from dataclasses import dataclass

from oslo_config import cfg

from compute_agent.attempt import Ref


@dataclass(frozen=True, slots=True)
class Profile:
    """Rates and shares from 0 to 1, delays and times in seconds; [simulator] tells what each is."""

    seed: str = "gantt"
    spawn_failure_rate: float = 0.0
    refusal_rate: float = 0.0
    boot_delay: float = 0.0
    boot_delay_spread: float = 0.0
    churn: float = 0.0
    external_use_rate: float = 0.0
    external_use_max: float = 0.0
    silence_rate: float = 0.0
    silence_time: float = 0.0
    restart_rate: float = 0.0

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> "Profile":
        """Read group [simulator] as it is now."""
        return cls(**{name: conf.simulator[name] for name in cls.__slots__})

    def chance(self, what: str, *about: object) -> random.Random:
        """Return the source of chance for one thing that may happen: by the same seed the same on every run."""
        # A string is hashed by SHA-512 there: the same on every run, unlike hash().
        return random.Random(":".join(map(str, (self.seed, what, *about))))

    def refuses(self, ref: Ref) -> bool:
        """Whether the host will not take this attempt at all."""
        return self.chance("refusal", *ref).random() < self.refusal_rate

    def fails(self, ref: Ref) -> bool:
        """Whether this attempt's guest will not start."""
        return self.chance("spawn", *ref).random() < self.spawn_failure_rate

    def boot_seconds(self, uuid: str) -> float:
        """How long the guest takes to boot: log-normal round the median."""
        spread = self.chance("boot", uuid, 0).gauss(0.0, self.boot_delay_spread)
        return self.boot_delay * math.exp(spread)

    def falls_silent(self, host: str, report: int) -> bool:
        """Whether a host sends nothing for a while, in place of its ``report``-th report."""
        return self.chance("silence", host, report).random() < self.silence_rate

    def restarts(self, host: str, report: int) -> bool:
        """Whether a host's agent restarts when its ``report``-th report is due."""
        return self.chance("restart", host, report).random() < self.restart_rate
