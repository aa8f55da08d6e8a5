# SPDX-License-Identifier: Apache-2.0
"""Identity of a partition's database server, and detection of lost writes."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, update

from rpcapi.high_water_mark import HighWaterMark
from scheduler_svc.store.sql.dialect import SqlDialect
from scheduler_svc.store.sql.partition import SqlPartition
from scheduler_svc.store.sql.rows import INSERTS
from scheduler_svc.store.sql.tables import PARTITIONS


class SqlIdentity(HighWaterMark):
    """Check of the database server's identity, made on each new connection before its first verb."""

    def __init__(self, partition: str, log_length: int) -> None:
        super().__init__()
        self.partition = partition
        self._log_length = log_length

    def check(self, dialect: SqlDialect, connection: Connection) -> None:
        """Record the server's identity; begin an epoch if it changed or the server lost writes.

        Raises StoreUnavailable.
        """
        observed_epoch, observed_position = self.high_water_mark
        with connection.begin():
            insert = INSERTS[connection.dialect.name](PARTITIONS).on_conflict_do_nothing()
            new_row = {"name": self.partition, "identity": "", "epoch": 0, "position": 0, "decision": 0}
            identity = dialect.identity(connection)
            connection.execute(insert, new_row)
            meta, now = dialect.lock(connection, self.partition)
            recorded: Mapping[str, Any] = meta or {}  # the row was inserted above
            behind = recorded["epoch"] < observed_epoch or recorded["position"] < observed_position
            if recorded["identity"] == identity and not behind:
                self.observe(recorded["epoch"], recorded["position"])
                return
            connection.execute(update(PARTITIONS).where(PARTITIONS.c.name == self.partition).values(identity=identity))
            partition = SqlPartition(connection, recorded, log_length=self._log_length, by_group=False)
            partition.epoch = max(partition.epoch, observed_epoch)
            partition.position = max(partition.position, observed_position)
            partition.begin_epoch(now)
            partition.finish()
            dialect.announce(connection, self.partition)
        self.observe(partition.epoch, partition.position)
        if recorded["epoch"]:  # a new partition has lost nothing
            self.note_epoch_change()
