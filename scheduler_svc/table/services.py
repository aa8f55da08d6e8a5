# SPDX-License-Identifier: Apache-2.0
"""The columns that a provider takes from its service host: alive, enabled, opened."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler_svc.table.columns import Column, Rows, grown


class ServiceColumns:
    """Whether each row's service host is alive, enabled, and opened in its partition's present epoch."""

    __slots__ = ("alive", "enabled", "opened")

    def __init__(self, size: int) -> None:
        self.alive: Column = np.zeros(size, np.bool_)
        self.enabled: Column = np.zeros(size, np.bool_)
        self.opened: Column = np.zeros(size, np.bool_)

    def grow(self, size: int) -> None:
        """Make room for ``size`` rows."""
        self.alive = grown(self.alive, size)
        self.enabled = grown(self.enabled, size)
        self.opened = grown(self.opened, size)

    def adopt(self, rows: Rows, other: "ServiceColumns") -> None:
        """Take over the first rows of ``other`` as the own ``rows``."""
        count = len(rows)
        self.alive[rows] = other.alive[:count]
        self.enabled[rows] = other.enabled[:count]
        self.opened[rows] = other.opened[:count]

    def clear(self, rows: Rows) -> None:
        """Forget what was known of ``rows``."""
        for column in (self.alive, self.enabled, self.opened):
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
    """The service hosts of one partition; what is said of one goes into the columns of all its rows."""

    __slots__ = ("_columns", "_epoch", "_hosts")

    def __init__(self, columns: ServiceColumns) -> None:
        self._columns = columns
        self._hosts: dict[str, ServiceHost] = {}
        self._epoch = 0

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

    def set_alive(self, host: str, alive: bool, position: int) -> None:
        """Note a heartbeat transition, unless a later one is known."""
        service = self._find(host)
        if position >= service.alive_at:
            service.alive, service.alive_at = alive, position
            self._columns.alive[service.rows] = alive

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

    def set_left(self, host: str, position: int) -> None:
        """Note that the host is no more, unless something later is known of it."""
        self.set_alive(host, False, position)
        self.set_opened(host, 0, position)
        self.set_enabled(host, True, position)  # as one that reports for the first time

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch: what was opened in another one is closed."""
        self._epoch = epoch
        for service in self._hosts.values():
            self._columns.opened[service.rows] = service.opened == epoch

    def adopt(self, rows: Sequence[int], other: "ServiceHosts") -> None:
        """Take over the hosts of ``other``, whose row i is row ``rows[i]`` here; ``other`` is used up."""
        for service in other._hosts.values():
            service.rows = [rows[row] for row in service.rows]
        self._hosts, self._epoch = other._hosts, other._epoch

    def _find(self, host: str) -> ServiceHost:
        return self._hosts.setdefault(host, ServiceHost())
