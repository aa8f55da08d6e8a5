# SPDX-License-Identifier: Apache-2.0
"""State of service hosts, as columns of the host rows."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rpcapi.resources import names, transient
from scheduler_svc.core.table.columns import Column, ColumnGroup, read_only


class ServiceColumns(ColumnGroup):
    """State of each row's service host. ``audit_pending`` and ``just_down`` last for at most transient.SECONDS."""

    __slots__ = ("alive", "audit_pending", "enabled", "just_down", "opened", "too_old")

    EMPTY = dict.fromkeys(__slots__, np.False_)

    alive: Column
    enabled: Column
    too_old: Column
    opened: Column
    audit_pending: Column
    just_down: Column


class ServiceView:
    """Read-only ServiceColumns of a view."""

    __slots__ = (*ServiceColumns.EMPTY, "audits_overdue")

    alive: Column
    enabled: Column
    too_old: Column
    opened: Column
    audit_pending: Column
    just_down: Column

    def __init__(self, columns: ServiceColumns, partitions: Iterable["ServiceStates"], size: int) -> None:
        for name in ServiceColumns.EMPTY:
            setattr(self, name, read_only(getattr(columns, name), size))
        self.audits_overdue = any(partition.overdue for partition in partitions)


@dataclass(slots=True)
class ServiceState:
    """State of one service host. Fields ``*_at`` are the log positions of its values; 0 if never set."""

    alive: bool = False
    enabled: bool = True
    too_old: bool = False
    opened: int = 0  # epoch of the last audit
    alive_at: int = 0
    enabled_at: int = 0
    opened_at: int = 0
    always_open: bool = False  # the pseudo-host of API-owned providers, which no agent audits
    rows: list[int] = field(default_factory=list)

    def is_open(self, epoch: int) -> bool:
        return self.always_open or self.opened == epoch


class ServiceStates:
    """Service hosts of one partition. ``overdue`` has live hosts whose audit has been pending for transient.SECONDS."""

    __slots__ = ("_clock", "_columns", "_down_since", "_epoch", "_hosts", "_waiting_since", "overdue")

    def __init__(self, columns: ServiceColumns, clock: Callable[[], float] = time.monotonic) -> None:
        self._columns = columns
        self._clock = clock
        self._hosts = {names.API_HOST: ServiceState(alive=True, always_open=True)}
        self._epoch = 0
        self._waiting_since: dict[str, float] = {}  # hosts with a pending audit
        # Hosts that are just down. The time counts from the load for hosts that were down in the first snapshot.
        self._down_since: dict[str, float] = {}
        self.overdue: set[str] = set()

    def rows_of(self, host: str) -> list[int]:
        service = self._hosts.get(host)
        return service.rows if service else []

    def add_row(self, row: int, host: str) -> None:
        """Assign ``row`` to ``host`` permanently: the row's name determines its service host."""
        service = self._find(host)
        service.rows.append(row)
        self._columns.alive[row] = service.alive
        self._columns.enabled[row] = service.enabled
        self._columns.too_old[row] = service.too_old
        self._columns.opened[row] = service.is_open(self._epoch)
        self._columns.audit_pending[row] = host in self._waiting_since
        self._columns.just_down[row] = host in self._down_since

    def set_alive(self, host: str, alive: bool, position: int) -> None:
        service = self._find(host)
        if position >= service.alive_at:
            was_down = not service.alive and service.alive_at > 0
            service.alive, service.alive_at = alive, position
            self._columns.alive[service.rows] = alive
            if alive:
                self._end_just_down(host)
            elif not was_down:
                self._down_since[host] = self._clock()
                self._columns.just_down[service.rows] = True
            self._update_audit_wait(host, service)

    def set_enabled(self, host: str, enabled: bool, position: int, *, too_old: bool = False) -> None:
        service = self._find(host)
        if position >= service.enabled_at:
            service.enabled, service.too_old, service.enabled_at = enabled, too_old, position
            self._columns.enabled[service.rows] = enabled
            self._columns.too_old[service.rows] = too_old

    def set_opened(self, host: str, epoch: int, position: int) -> None:
        service = self._find(host)
        if position >= service.opened_at:
            service.opened, service.opened_at = epoch, position
            self._columns.opened[service.rows] = service.is_open(self._epoch)
            self._update_audit_wait(host, service)

    def set_deleted(self, host: str, position: int) -> None:
        """Mark the host as deleted. Values of later log positions stay."""
        self.set_alive(host, False, position)
        if not self._find(host).alive:
            self._end_just_down(host)
        self.set_opened(host, 0, position)
        self.set_enabled(host, True, position)  # default of new hosts

    def audited_hosts(self) -> list[str]:
        """Return the hosts that audited in any epoch and were neither fenced nor removed since."""
        return [host for host, service in self._hosts.items() if service.opened > 0]

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch, in which only hosts that have audited in it are open."""
        self._epoch = epoch
        self._waiting_since.clear()
        self.overdue.clear()
        for host, service in self._hosts.items():
            self._columns.opened[service.rows] = service.is_open(epoch)
            self._update_audit_wait(host, service)

    def expire_waits(self) -> None:
        """Expire ``just_down`` and ``audit_pending`` after transient.SECONDS."""
        if not self._waiting_since and not self._down_since:
            return
        expired = self._clock() - transient.SECONDS
        for host in [host for host, since in self._waiting_since.items() if since <= expired]:
            self._mark_overdue(host)
        for host in [host for host, since in self._down_since.items() if since <= expired]:
            self._end_just_down(host)

    def copy_from(self, rows: Sequence[int], other: "ServiceStates") -> None:
        """Take over the hosts of ``other``, which is consumed. Its row i becomes ``rows[i]``."""
        for service in other._hosts.values():
            service.rows = [rows[row] for row in service.rows]
        now = self._clock()
        waiting_since, overdue = (self._waiting_since, self.overdue) if other._epoch == self._epoch else ({}, set())
        down_since, down_before = self._down_since, self._hosts_down()
        self._hosts, self._epoch = other._hosts, other._epoch
        self._waiting_since = {host: waiting_since.get(host, now) for host in other._waiting_since}
        self._down_since = {host: down_since.get(host, now) for host in other._down_since}
        for host in down_before & self._down_since.keys() - down_since.keys():
            self._end_just_down(host)
        self.overdue = set()
        for host in overdue & self._waiting_since.keys():
            self._mark_overdue(host)

    def _update_audit_wait(self, host: str, service: ServiceState) -> None:
        if not service.alive or service.is_open(self._epoch):
            self._waiting_since.pop(host, None)
            self.overdue.discard(host)
        elif host not in self.overdue:
            self._waiting_since.setdefault(host, self._clock())
        self._columns.audit_pending[service.rows] = host in self._waiting_since

    def _hosts_down(self) -> set[str]:
        return {host for host, service in self._hosts.items() if not service.alive and service.alive_at > 0}

    def _end_just_down(self, host: str) -> None:
        if self._down_since.pop(host, None) is not None:
            self._columns.just_down[self._hosts[host].rows] = False

    def _mark_overdue(self, host: str) -> None:
        del self._waiting_since[host]
        self.overdue.add(host)
        self._columns.audit_pending[self._hosts[host].rows] = False

    def _find(self, host: str) -> ServiceState:
        return self._hosts.setdefault(host, ServiceState())
