# SPDX-License-Identifier: Apache-2.0
"""Who the database is, and whether it may have forgotten something since it was last seen."""

from collections.abc import Mapping
from threading import Lock
from typing import Any

from sqlalchemy import Connection, update

from scheduler_svc.store.sql.dialect import Dialect
from scheduler_svc.store.sql.partition import SqlPartition
from scheduler_svc.store.sql.rows import INSERTS
from scheduler_svc.store.sql.tables import PARTITIONS


class Identity:
    """Judges each new connection before a verb goes through it, so that no verb meets a changed store unawares."""

    def __init__(self, partition: str, log_length: int) -> None:
        self.partition = partition
        self._log_length = log_length
        self._lock = Lock()
        self._seen = (0, 0)
        self._bumped = False

    @property
    def seen(self) -> tuple[int, int]:
        """How far the partition was seen: epoch and position."""
        with self._lock:
            return self._seen

    def saw(self, epoch: int, position: int) -> None:
        """Note how far it was seen: a store that is behind that has forgotten something."""
        with self._lock:
            self._seen = max(self._seen[0], epoch), max(self._seen[1], position)

    def take_bumped(self) -> bool:
        """Tell, once, whether a new epoch was begun from here."""
        with self._lock:
            bumped, self._bumped = self._bumped, False
            return bumped

    def check(self, dialect: Dialect, connection: Connection) -> None:
        """Compare, note, and begin a new epoch where it must be; raises StoreUnavailable where none may write."""
        seen_epoch, seen_position = self.seen
        with connection.begin():
            insert = INSERTS[connection.dialect.name](PARTITIONS).on_conflict_do_nothing()
            blank = {"name": self.partition, "identity": "", "epoch": 0, "position": 0, "decision": 0}
            who = dialect.identity(connection)
            connection.execute(insert, blank)
            meta, now = dialect.lock(connection, self.partition)
            noted: Mapping[str, Any] = meta or blank
            behind = noted["epoch"] < seen_epoch or noted["position"] < seen_position
            if noted["identity"] == who and not behind:
                self.saw(noted["epoch"], noted["position"])
                return
            connection.execute(update(PARTITIONS).where(PARTITIONS.c.name == self.partition).values(identity=who))
            partition = SqlPartition(connection, noted, log_length=self._log_length, by_group=False)
            partition.epoch = max(partition.epoch, seen_epoch)
            partition.position = max(partition.position, seen_position)
            partition.bump(now)
            partition.finish()
            dialect.announce(connection, self.partition)
        self.saw(partition.epoch, partition.position)
        with self._lock:
            self._bumped = self._bumped or noted["epoch"] > 0  # a partition that is new has forgotten nothing
