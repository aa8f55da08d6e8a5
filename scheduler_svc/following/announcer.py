# SPDX-License-Identifier: Apache-2.0
"""Tells the conductor that hosts wait for an audit: the scheduler itself commands no host."""

import threading

import oslo_messaging as messaging
from oslo_log import log

from rpcapi import context, errors
from rpcapi.conductor import ConductorAPI
from scheduler_svc.following.replica import Replica

LOG = log.getLogger(__name__)

TIMEOUT = 10.0


class Announcer:
    """Tells it once for each time that a partition was loaded anew. Best effort: agents learn it from reports too."""

    def __init__(self, conductor: ConductorAPI) -> None:
        self._conductor = conductor

    def look(self, replica: Replica) -> None:
        """Have the hosts audited, in a thread, where the partition has living ones that are closed in its epoch."""
        waiting, epoch = replica.census.waiting, replica.standing.epoch
        if waiting:
            LOG.warning(
                "%d hosts of partition %s must be audited in epoch %d before they take instances",
                waiting,
                replica.partition,
                epoch,
            )
            telling = (replica.partition, epoch)
            threading.Thread(target=self._tell, args=telling, name="announcer", daemon=True).start()

    def _tell(self, partition: str, epoch: int) -> None:
        try:
            self._conductor.audit_hosts(context.new().within(TIMEOUT), partition, epoch)
        except (errors.GanttError, messaging.MessagingException, OSError) as error:
            LOG.warning(
                "The conductor could not be told of epoch %d of partition %s; agents learn it by themselves: %s",
                epoch,
                partition,
                error,
            )
