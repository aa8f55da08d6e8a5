# SPDX-License-Identifier: Apache-2.0
"""Tells the conductor that hosts wait for an audit: the scheduler itself commands no host."""

import threading

import oslo_messaging as messaging
from oslo_log import log

from rpcapi import context, errors
from rpcapi.conductor import ConductorAPI
from scheduler_svc.table.table import HostTable

LOG = log.getLogger(__name__)

TIMEOUT = 10.0


class Announcer:
    """Tells it once for each table that was loaded anew. Best effort: agents learn it from their reports too."""

    def __init__(self, conductor: ConductorAPI, partition: str) -> None:
        self._conductor = conductor
        self._partition = partition

    def look(self, table: HostTable) -> None:
        """Have the hosts audited, in a thread, where ``table`` has living ones that are closed in its epoch."""
        waiting = table.waiting_for_audit
        if waiting:
            LOG.warning("%d hosts must be audited in epoch %d before they take instances", waiting, table.epoch)
            threading.Thread(target=self._tell, args=(table.epoch,), name="announcer", daemon=True).start()

    def _tell(self, epoch: int) -> None:
        try:
            self._conductor.audit_hosts(context.new().within(TIMEOUT), self._partition, epoch)
        except (errors.GanttError, messaging.MessagingException, OSError) as error:
            LOG.warning("The conductor could not be told of epoch %d; agents learn it by themselves: %s", epoch, error)
