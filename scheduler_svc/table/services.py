# SPDX-License-Identifier: Apache-2.0
"""The columns that a provider takes from its service host: alive, enabled, opened, awaited."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler_svc.table.columns import Column, Rows, grown

# A living host is told of a new epoch at once, or by the answer to its next report; an audit takes seconds. One that
# has not audited after so many of them is not about to.
AUDIT_SECONDS = 120.0


class ServiceColumns:
    """Whether each row's service host is alive, enabled, opened in its partition's present epoch, or about to be."""

    __slots__ = ("alive", "awaited", "enabled", "opened")

    def __init__(self, size: int) -> None:
        self.alive: Column = np.zeros(size, np.bool_)
        self.enabled: Column = np.zeros(size, np.bool_)
        self.opened: Column = np.zeros(size, np.bool_)
        self.awaited: Column = np.zeros(size, np.bool_)

    def grow(self, size: int) -> None:
        """Make room for ``size`` rows."""
        self.alive = grown(self.alive, size)
        self.enabled = grown(self.enabled, size)
        self.opened = grown(self.opened, size)
        self.awaited = grown(self.awaited, size)

    def adopt(self, rows: Rows, other: "ServiceColumns") -> None:
        """Take over the first rows of ``other`` as the own ``rows``."""
        count = len(rows)
        self.alive[rows] = other.alive[:count]
        self.enabled[rows] = other.enabled[:count]
        self.opened[rows] = other.opened[:count]
        self.awaited[rows] = other.awaited[:count]

    def clear(self, rows: Rows) -> None:
        """Forget what was known of ``rows``."""
        for column in (self.alive, self.enabled, self.opened, self.awaited):
            column[rows] = False


@dataclass(slots=True)
class ServiceHost:
    """One service host, with the log positions from which its values are; no log entry: 0."""

    alive: bool = False
    enabled: bool = True
    opened: int = 0  # the epoch in which it was audited last
    alive_at: int = 0
    enabled_at: int = 0
    opened_at: int = 0
    rows: list[int] = field(default_factory=list)


class ServiceHosts:
    """The service hosts of one partition; what is said of one goes into the columns of all its rows.

    ``overdue`` are the living ones that have had AUDIT_SECONDS for their audit of this epoch, and have not audited.
    """

    __slots__ = ("_awaited", "_columns", "_epoch", "_hosts", "overdue")

    def __init__(self, columns: ServiceColumns) -> None:
        self._columns = columns
        self._hosts: dict[str, ServiceHost] = {}
        self._epoch = 0
        self._awaited: dict[str, float | None] = {}  # and since when, once somebody looked
        self.overdue: set[str] = set()

    def rows_of(self, host: str) -> list[int]:
        """Return the rows that ever belonged to a service host; empty for an unknown one."""
        known = self._hosts.get(host)
        return known.rows if known else []

    def place(self, row: int, host: str) -> None:
        """Let ``row`` belong to service host ``host``; a provider's name settles this once for all."""
        service = self._find(host)
        service.rows.append(row)
        self._columns.alive[row] = service.alive
        self._columns.enabled[row] = service.enabled
        self._columns.opened[row] = service.opened == self._epoch
        self._columns.awaited[row] = host in self._awaited

    def set_alive(self, host: str, alive: bool, position: int) -> None:
        """Note a heartbeat transition, unless a later one is known."""
        service = self._find(host)
        if position >= service.alive_at:
            service.alive, service.alive_at = alive, position
            self._columns.alive[service.rows] = alive
            self._await(host, service)

    def set_enabled(self, host: str, enabled: bool, position: int) -> None:
        """Note an operator's act, unless a later one is known."""
        service = self._find(host)
        if position >= service.enabled_at:
            service.enabled, service.enabled_at = enabled, position
            self._columns.enabled[service.rows] = enabled

    def set_opened(self, host: str, epoch: int, position: int) -> None:
        """Note that the host was audited in ``epoch``, unless a later audit is known."""
        service = self._find(host)
        if position >= service.opened_at:
            service.opened, service.opened_at = epoch, position
            self._columns.opened[service.rows] = epoch == self._epoch
            self._await(host, service)

    def set_left(self, host: str, position: int) -> None:
        """Note that the host is no more, unless something later is known of it."""
        self.set_alive(host, False, position)
        self.set_opened(host, 0, position)
        self.set_enabled(host, True, position)  # as one that reports for the first time

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch: what was opened in another one is closed."""
        self._epoch = epoch
        self._awaited.clear()
        self.overdue.clear()
        for host, service in self._hosts.items():
            self._columns.opened[service.rows] = service.opened == epoch
            self._await(host, service)

    def give_up(self, clock: Callable[[], float]) -> None:
        """Await no longer the audit of a host that was awaited for AUDIT_SECONDS."""
        if not self._awaited:
            return
        now = clock()
        for host, since in list(self._awaited.items()):
            if since is None:
                self._awaited[host] = now
            elif now - since >= AUDIT_SECONDS:
                self._let_go(host)

    def adopt(self, rows: Sequence[int], other: "ServiceHosts") -> None:
        """Take over the hosts of ``other``, whose row i is row ``rows[i]`` here; ``other`` is used up."""
        for service in other._hosts.values():
            service.rows = [rows[row] for row in service.rows]
        known, given_up = (self._awaited, self.overdue) if other._epoch == self._epoch else ({}, set())
        self._hosts, self._epoch = other._hosts, other._epoch
        self._awaited = {host: known.get(host) for host in other._awaited}
        self.overdue = set()
        for host in given_up & self._awaited.keys():
            self._let_go(host)

    def _await(self, host: str, service: ServiceHost) -> None:
        """Note whether the host's audit is to come."""
        if not service.alive or service.opened == self._epoch:
            self._awaited.pop(host, None)
            self.overdue.discard(host)
        elif host not in self.overdue:
            self._awaited.setdefault(host, None)
        self._columns.awaited[service.rows] = host in self._awaited

    def _let_go(self, host: str) -> None:
        del self._awaited[host]
        self.overdue.add(host)
        self._columns.awaited[self._hosts[host].rows] = False

    def _find(self, host: str) -> ServiceHost:
        return self._hosts.setdefault(host, ServiceHost())
