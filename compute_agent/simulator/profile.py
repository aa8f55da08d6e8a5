# SPDX-License-Identifier: Apache-2.0
"""Behaviour of simulated hosts: options of group [simulator] and seeded random decisions."""

import math
import random
from dataclasses import dataclass

from oslo_config import cfg

from compute_agent.attempt import AttemptRef


@dataclass(frozen=True, slots=True)
class HostProfile:
    """Group [simulator]: shares from 0 to 1, times in seconds, copy rates in MiB per second."""

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
    shared_storage: str = ""
    copy_rate: float = 1000.0
    dirty_rate: float = 100.0
    copy_downtime: float = 0.5
    migration_check_failure_rate: float = 0.0
    copy_failure_rate: float = 0.0
    copy_death_rate: float = 0.0
    post_migration_failure_rate: float = 0.0

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> "HostProfile":
        return cls(**{name: conf.simulator[name] for name in cls.__slots__})

    def random_source(self, purpose: str, *about: object) -> random.Random:
        """Return the random source of one event; the same seed gives the same numbers on every run."""
        # Random hashes a string seed with SHA-512, which does not vary between runs like hash().
        return random.Random(":".join(map(str, (self.seed, purpose, *about))))

    def refuses(self, ref: AttemptRef) -> bool:
        return self.random_source("refusal", *ref).random() < self.refusal_rate

    def spawn_fails(self, ref: AttemptRef) -> bool:
        return self.random_source("spawn", *ref).random() < self.spawn_failure_rate

    def migration_check_fails(self, host: str, instance: str) -> bool:
        return self.random_source("migration check", host, instance).random() < self.migration_check_failure_rate

    def resume_fails(self, ref: AttemptRef) -> bool:
        return self.random_source("post migration", *ref).random() < self.post_migration_failure_rate

    def boot_seconds(self, uuid: str) -> float:
        """Return the boot time of a guest in seconds: log-normal, with median ``boot_delay``."""
        spread = self.random_source("boot", uuid, 0).gauss(0.0, self.boot_delay_spread)
        return self.boot_delay * math.exp(spread)

    def falls_silent(self, host: str, report: int) -> bool:
        """Return whether the host falls silent instead of sending report number ``report``."""
        return self.random_source("silence", host, report).random() < self.silence_rate

    def restarts(self, host: str, report: int) -> bool:
        return self.random_source("restart", host, report).random() < self.restart_rate
