# SPDX-License-Identifier: Apache-2.0
"""Dry run: decides a call without claims and without a decision record."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rpcapi import errors
from scheduler_svc.core.drivers.driver import Driver
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.replication.partitions import OpenPartitions
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.claimer import CHUNK
from scheduler_svc.scheduling.decisions import DecisionBuilder, RankingSnapshot
from scheduler_svc.scheduling.intake import RequestRewriter
from scheduler_svc.scheduling.partition_order import PartitionProspects
from scheduler_svc.scheduling.selector import Selector

ANSWER = "dry run"


class DryRunResult(NamedTuple):
    """The document of the decision, and its partition."""

    partition: str
    document: dict[str, Any]


class DryRun:
    """Decides as a HostSelector does, on the same table, and changes nothing; safe to call from many threads.

    It reads from the stores only what a decision reads before it claims.
    """

    def __init__(self, partitions: OpenPartitions, selectors: Sequence[Selector], rewriter: RequestRewriter) -> None:
        """``selectors`` are those of all partitions, in their order; only their rankings are used."""
        self._partitions = partitions
        self._selectors = selectors
        self._rewriter = rewriter

    @property
    def driver(self) -> Driver:
        """The driver of all partitions."""
        return self._selectors[0].driver

    @driver.setter
    def driver(self, driver: Driver) -> None:
        for selector in self._selectors:
            selector.driver = driver

    def decide(self, request: SchedulingRequest, count: int) -> DryRunResult:
        """Decide for ``count`` instances, or for as many of them as fit into one claim script.

        Raises UnknownDriver, UnknownHost for an unknown forced host, NotReady, StoreUnavailable if no partition
        answers, and NoValidHost or InvalidSpec if a prefilter rejects the request.
        """
        self.driver.check(request)
        request = self._rewriter.rewrite(request)
        table = self._selectors[0].table
        for name in request.force_hosts:
            if not table.find_partitions(name):
                raise errors.UnknownHost(name=name)
        unavailable_partitions = [partition.name for partition in self._partitions if partition.presence.away]
        if len(unavailable_partitions) == len(self._partitions):
            raise errors.StoreUnavailable(why=f"none of the partitions {', '.join(unavailable_partitions)} answers")
        request = replace(
            self._add_group_members(request, unavailable_partitions),
            unavailable_partitions=tuple(unavailable_partitions),
        )
        call = SelectionCall(request, [f"instance {number}" for number in range(1, count + 1)])
        prospects = PartitionProspects(call, self._selectors, unavailable_partitions)
        best = prospects.best()
        selector = self._find(best) if best else self._selectors[0]
        snapshot = prospects.snapshot(best) if best else prospects.common_snapshot
        if snapshot is None:
            snapshot = selector.take_snapshot(replace(request, partition=best), min(CHUNK, count))
        why = None if best else prospects.refusal({})
        return DryRunResult(selector.partition, self._document(call, selector, snapshot, why))

    def _document(
        self, call: SelectionCall, selector: Selector, snapshot: RankingSnapshot, why: errors.GanttError | None
    ) -> dict[str, Any]:
        with selector.table.reading() as view:
            samples = snapshot.samples or selector.driver.rejected_samples(view, call.request)
            log_position = view.partitions.log_position(selector.number)
        driver = selector.driver.name_for(call.request)
        decision = DecisionBuilder(
            call, 0, 0, replace(snapshot, samples=samples), log_position, driver, selector.last_contact_s
        )
        candidates = [list(names) for names in snapshot.ranking.candidates]
        outcome: dict[str, Any] = {
            "at_ms": round(1000 * time.time()),
            "dry_run": True,
            "outcome": "refused" if why else "selected",
            "candidates": candidates,
            "verdicts": [
                {"consumer": consumer, "answer": ANSWER, "host": names[0], "tried": []}
                for consumer, names in zip(call.consumers, candidates, strict=False)
            ],
        }
        return {**decision.document(), **outcome, **({"why": why.sentence} if why else {})}

    def _add_group_members(
        self, request: SchedulingRequest, unavailable_partitions: Sequence[str]
    ) -> SchedulingRequest:
        """Return the request with its server group's members, limited to the partition that has most of them."""
        if request.group is None:
            return request
        available_partitions = [
            partition for partition in self._partitions if partition.name not in unavailable_partitions
        ]
        members = {
            partition.name: sum(partition.store.group_hosts(request.group.id).values())
            for partition in available_partitions
        }
        home = max(members, key=lambda name: members[name])
        narrowed = self._find(home).add_group_members(request)
        return replace(narrowed, partition=home) if members[home] and len(available_partitions) > 1 else narrowed

    def _find(self, partition: str) -> Selector:
        return next(selector for selector in self._selectors if selector.partition == partition)
