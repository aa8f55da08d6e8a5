# SPDX-License-Identifier: Apache-2.0
"""Builds what decides in a worker: the selector, the dry run, and the claimers of alternates."""

from collections.abc import Sequence

from oslo_config import cfg

from scheduler_svc.composition.policy import SchedulingPolicy
from scheduler_svc.replication.partition_set import PartitionSet
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.scheduling import shadow
from scheduler_svc.scheduling.alternates import AlternateClaimer
from scheduler_svc.scheduling.batch import BatchSelector
from scheduler_svc.scheduling.claimer import Claimer
from scheduler_svc.scheduling.dry_run import DryRun
from scheduler_svc.scheduling.intake import RequestRewriter, RewritingSelector
from scheduler_svc.scheduling.partitioned import HostSelector, PartitionedSelector
from scheduler_svc.scheduling.selector import RetryLimits, Selector


class Selection:
    """The parts of a worker that decide. ``alternates`` are those of the served partitions, in their order."""

    def __init__(self, conf: cfg.ConfigOpts, partition_set: PartitionSet, policy: SchedulingPolicy) -> None:
        partitions = partition_set.partitions
        self._policy = policy
        self._rewriter = RequestRewriter(partitions, policy.prefilters)
        self.selector = _make_selector(conf, partitions, policy, self._rewriter)
        self.dry_run = _make_dry_run(conf, partitions, policy, self._rewriter)
        self.alternates: Sequence[AlternateClaimer] = [
            _make_alternate_claimer(conf, partition, policy, self._rewriter)
            for partition in partition_set.served_partitions
        ]

    @property
    def policy(self) -> SchedulingPolicy:
        """The policy in use; setting it replaces the policy of all parts."""
        return self._policy

    @policy.setter
    def policy(self, policy: SchedulingPolicy) -> None:
        self._policy = policy
        self.selector.driver = self.dry_run.driver = policy.driver
        self._rewriter.prefilters = policy.prefilters
        for alternate_claimer in self.alternates:
            alternate_claimer.filters = policy.eligibility


def milliseconds(seconds: float) -> int:
    """Return whole milliseconds."""
    return round(1000 * seconds)


def _make_selector(
    conf: cfg.ConfigOpts, partitions: OpenPartitions, policy: SchedulingPolicy, rewriter: RequestRewriter
) -> HostSelector:
    limits, shadowing = _retry_limits(conf), _is_shadow(conf)

    def make(partition: OpenPartition) -> Selector:
        claimer: Claimer = shadow.ShadowClaimer(partition.store) if shadowing else partition.store
        return Selector(claimer, partition.replica, policy.driver, limits, partition.store.record_decision)

    selector: HostSelector = (
        PartitionedSelector(partitions, make, conf.scheduler.claim_ttl)
        if len(partitions) > 1
        else BatchSelector(make(partitions.own), conf.solver.window / 1000, conf.solver.max_batch)
    )
    selector = RewritingSelector(selector, rewriter, partitions)
    return shadow.ShadowSelector(selector) if shadowing else selector


def _make_dry_run(
    conf: cfg.ConfigOpts, partitions: OpenPartitions, policy: SchedulingPolicy, rewriter: RequestRewriter
) -> DryRun:
    limits = _retry_limits(conf)
    selectors = [Selector(partition.store, partition.replica, policy.driver, limits) for partition in partitions]
    return DryRun(partitions, selectors, rewriter)


def _make_alternate_claimer(
    conf: cfg.ConfigOpts, partition: OpenPartition, policy: SchedulingPolicy, rewriter: RequestRewriter
) -> AlternateClaimer:
    claimer_class = shadow.ShadowAlternateClaimer if _is_shadow(conf) else AlternateClaimer
    catch_up_timeout = conf.scheduler.catch_up_timeout
    return claimer_class(partition.store, partition.replica, policy.eligibility, catch_up_timeout, rewriter.rewrite)


def _is_shadow(conf: cfg.ConfigOpts) -> bool:
    return conf.scheduler.mode == shadow.SHADOW


def _retry_limits(conf: cfg.ConfigOpts) -> RetryLimits:
    group = conf.scheduler
    return RetryLimits(group.rounds, milliseconds(group.claim_ttl), group.catch_up_timeout)
