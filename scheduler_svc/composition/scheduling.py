# SPDX-License-Identifier: Apache-2.0
"""Builder of a worker's deciding parts: intake of calls, dry run, and claimers of alternates."""

from collections.abc import Sequence

from oslo_config import cfg

from scheduler_svc.nova.state_age import NovaStateAge
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.scheduling.alternates import AlternateClaimer
from scheduler_svc.scheduling.dry_run import DryRun
from scheduler_svc.scheduling.intake import RequestIntake, RequestRewriter
from scheduler_svc.scheduling.interfaces import ClaimStore
from scheduler_svc.scheduling.partition_router import PartitionRouter
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import CurrentPolicy, SchedulingPolicy
from scheduler_svc.scheduling.server_groups import ServerGroups
from scheduler_svc.scheduling.shadow import SHADOW, ShadowStore
from scheduler_svc.scheduling.unclaimed import UnclaimedRanker


class SchedulingParts:
    """Deciding parts of a worker; ``alternates`` has one claimer per served partition, in the same order."""

    def __init__(self, conf: cfg.ConfigOpts, partitions: OpenPartitions, policy: SchedulingPolicy) -> None:
        self.partitions = partitions
        self.nova_state = _nova_state_age(conf, partitions.own)
        self.is_shadow = _is_shadow(conf)
        self.groups = ServerGroups(partitions, lambda: conf.scheduler.server_groups)
        self.rewriter = rewriter = RequestRewriter(partitions, self.nova_state)
        self.current = CurrentPolicy(policy)
        self.intake = RequestIntake(self.current, _make_scheduler(conf, partitions), rewriter, partitions)
        self.dry_run = DryRun(self.current, partitions, rewriter)
        self.unclaimed = UnclaimedRanker(self.current, partitions, rewriter)
        self.alternates: Sequence[AlternateClaimer] = [
            AlternateClaimer(
                self.current,
                _store(conf, partition),
                partition.replica,
                conf.scheduler.catch_up_timeout,
                rewriter.rewrite,
            )
            for partition in partitions.served
        ]


def milliseconds(seconds: float) -> int:
    return round(1000 * seconds)


def _nova_state_age(conf: cfg.ConfigOpts, partition: OpenPartition) -> NovaStateAge | None:
    options = conf.nova
    if not options.enabled:
        return None
    return NovaStateAge(partition.store, noted_s=options.service_down_time, refused_s=options.bridge_max_age)


def _make_scheduler(conf: cfg.ConfigOpts, partitions: OpenPartitions) -> PartitionScheduler | PartitionRouter:
    group = conf.scheduler
    limits = SchedulingLimits(
        max_tries=group.tries,
        ttl_ms=milliseconds(group.claim_ttl),
        catch_up_s=group.catch_up_timeout,
        round_limit=group.round_limit,
        window_s=conf.solver.window / 1000,
        max_batch=conf.solver.max_batch,
    )

    def make(partition: OpenPartition) -> PartitionScheduler:
        return PartitionScheduler(_store(conf, partition), partition.replica, limits)

    if len(partitions) > 1:
        return PartitionRouter(partitions, make, group.claim_ttl)
    return make(partitions.own)


def _store(conf: cfg.ConfigOpts, partition: OpenPartition) -> ClaimStore:
    """Return the partition's store, or in shadow mode a stand-in that claims nothing."""
    return ShadowStore(partition.store) if _is_shadow(conf) else partition.store


def _is_shadow(conf: cfg.ConfigOpts) -> bool:
    return bool(conf.scheduler.mode == SHADOW)
