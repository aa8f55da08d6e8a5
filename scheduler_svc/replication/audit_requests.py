# SPDX-License-Identifier: Apache-2.0
"""Notifies the conductor of hosts that need an audit; the scheduler itself sends no commands to hosts."""

import threading

import oslo_messaging as messaging
from oslo_log import log

from rpcapi import context, errors
from rpcapi.clients.conductor import ConductorAPI
from scheduler_svc.replication.replica import Replica

LOG = log.getLogger(__name__)

CALL_TIMEOUT = 10.0


class AuditAnnouncer:
    """Requests audits after each load of a partition. Best effort: agents also learn of them from report answers."""

    def __init__(self, conductor: ConductorAPI) -> None:
        self._conductor = conductor

    def request_audits(self, replica: Replica) -> None:
        """Call the conductor, in a thread, if live hosts of the partition are not yet audited in its epoch."""
        waiting, epoch = replica.host_counts.awaiting_audit, replica.log_position.epoch
        if waiting:
            LOG.warning(
                "%d hosts of partition %s must be audited in epoch %d before they accept instances",
                waiting,
                replica.partition,
                epoch,
            )
            arguments = (replica.partition, epoch)
            threading.Thread(target=self._call_conductor, args=arguments, name="announcer", daemon=True).start()

    def _call_conductor(self, partition: str, epoch: int) -> None:
        try:
            self._conductor.audit_hosts(context.new().with_timeout(CALL_TIMEOUT), partition, epoch)
        except (errors.GanttError, messaging.MessagingException, OSError) as error:
            LOG.warning(
                "Audit request for epoch %d of partition %s failed; agents learn of it from report answers: %s",
                epoch,
                partition,
                error,
            )
