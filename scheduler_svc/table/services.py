# SPDX-License-Identifier: Apache-2.0
"""The columns that a provider takes from its service host: alive, enabled, opened."""

from dataclasses import dataclass, field

import numpy as np

from scheduler_svc.table.columns import Column, grown


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


class ServiceColumns:
    """Whether each row's service host is alive, enabled, and opened in the present epoch."""

    __slots__ = ("_epoch", "_hosts", "alive", "enabled", "opened")

    def __init__(self, size: int) -> None:
        self.alive: Column = np.zeros(size, np.bool_)
        self.enabled: Column = np.zeros(size, np.bool_)
        self.opened: Column = np.zeros(size, np.bool_)
        self._hosts: dict[str, ServiceHost] = {}
        self._epoch = 0

    def grow(self, size: int) -> None:
        """Make room for ``size`` rows."""
        self.alive = grown(self.alive, size)
        self.enabled = grown(self.enabled, size)
        self.opened = grown(self.opened, size)

    def find(self, host: str) -> ServiceHost:
        """Return the service host of that name, known or not yet."""
        return self._hosts.setdefault(host, ServiceHost())

    def rows_of(self, host: str) -> list[int]:
        """Return the rows that ever belonged to a service host; empty for an unknown one."""
        known = self._hosts.get(host)
        return known.rows if known else []

    def place(self, row: int, host: str) -> None:
        """Let ``row`` belong to service host ``host``; a provider's name settles this once for all."""
        service = self.find(host)
        service.rows.append(row)
        self.alive[row] = service.alive
        self.enabled[row] = service.enabled
        self.opened[row] = service.opened == self._epoch

    def set_alive(self, host: str, alive: bool, position: int) -> None:
        """Note a heartbeat transition, unless a later one is known."""
        service = self.find(host)
        if position >= service.alive_at:
            service.alive, service.alive_at = alive, position
            self.alive[service.rows] = alive

    def set_enabled(self, host: str, enabled: bool, position: int) -> None:
        """Note an operator's act, unless a later one is known."""
        service = self.find(host)
        if position >= service.enabled_at:
            service.enabled, service.enabled_at = enabled, position
            self.enabled[service.rows] = enabled

    def set_opened(self, host: str, epoch: int, position: int) -> None:
        """Note that the host was audited in ``epoch``, unless a later audit is known."""
        service = self.find(host)
        if position >= service.opened_at:
            service.opened, service.opened_at = epoch, position
            self.opened[service.rows] = epoch == self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch: what was opened in another one is closed."""
        self._epoch = epoch
        for service in self._hosts.values():
            self.opened[service.rows] = service.opened == epoch
