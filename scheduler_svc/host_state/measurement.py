# SPDX-License-Identifier: Apache-2.0
"""Metrics of a worker's table: hosts by state, with their capacity and usage."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import Gauge

from scheduler_svc import metrics
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions

MAX_CLASSES = 64  # resource classes that get metrics
MAX_AGGREGATES = 100

Amounts = tuple[str, int, int, int]  # resource class, capacity, reserved, used


class HostMeasurement:
    """Gauges of one worker's table. The table is locked for one partition or aggregate at a time."""

    def __init__(self, partitions: OpenPartitions) -> None:
        self._partitions = partitions
        self._gauges: set[Any] = set()  # gauges that the last measurement set

    def measure(self) -> None:
        """Set all gauges; reset those without a current value to 0."""
        measure_silence(self._partitions)
        former, self._gauges = self._gauges, set()
        for partition in self._partitions:
            self._measure_partition(partition)
        self._measure_aggregates()
        for gauge in former - self._gauges:
            gauge.set(0)

    def _measure_partition(self, partition: OpenPartition) -> None:
        name, replica = partition.name, partition.replica
        for state, count in replica.host_counts._asdict().items():
            metrics.HOSTS.labels(partition=name, state=state).set(count)
        with replica.unchecked_table.reading() as view:
            amounts = list(_amounts(view, view.present & view.in_partition(name)))
        self._set((metrics.CAPACITY, metrics.RESERVED, metrics.USED), {"partition": name}, amounts)

    def _measure_aggregates(self) -> None:
        gauges = metrics.AGGREGATE_CAPACITY, metrics.AGGREGATE_RESERVED, metrics.AGGREGATE_USED
        table = self._partitions.own.replica.unchecked_table
        with table.reading() as view:
            names = sorted(view.aggregates.names)[:MAX_AGGREGATES]
        for name in names:
            with table.reading() as view:
                amounts = list(_amounts(view, view.present & view.aggregates.members([name])))
            self._set(gauges, {"aggregate": name}, amounts)

    def _set(self, gauges: Sequence[Gauge], labels: Mapping[str, str], amounts: Iterable[Amounts]) -> None:
        for resource_class, *figures in amounts:
            for gauge, figure in zip(gauges, figures, strict=True):
                child = gauge.labels(**labels, resource_class=resource_class)
                child.set(figure)
                self._gauges.add(child)


def measure_silence(partitions: Iterable[OpenPartition]) -> None:
    for partition in partitions:
        metrics.SILENCE.labels(partition=partition.name).set(partition.replica.last_contact_s)


def _amounts(view: View, hosts: Column) -> Iterator[Amounts]:
    for resource_class in sorted(view.trees.classes)[:MAX_CLASSES]:
        measured = [
            (view.hosts, hosts),
            *((providers, forest.rows_below(hosts)) for forest, providers in view.trees.forests),
        ]
        capacity = sum(int(providers.capacity(resource_class)[rows].sum()) for providers, rows in measured)
        reserved = sum(int(providers.reserved(resource_class)[rows].sum()) for providers, rows in measured)
        used = capacity - sum(round(providers.free(resource_class)[rows].sum()) for providers, rows in measured)
        if capacity or reserved or used:
            yield resource_class, capacity, reserved, used
