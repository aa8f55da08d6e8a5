# SPDX-License-Identifier: Apache-2.0
"""Requests for audits, sent to the conductor because the scheduler sends no commands to hosts."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import oslo_messaging as messaging
from oslo_log import log

from rpcapi import context, errors, objects
from rpcapi.clients.conductor import ConductorAPI
from scheduler_svc.core.records import ClaimResult
from scheduler_svc.replication import known_hosts
from scheduler_svc.replication.replica import Replica

LOG = log.getLogger(__name__)

CALL_TIMEOUT = 10.0
LIST_TIMEOUT = 60.0  # the conductor reads all its records
# The conductor's records are trusted to name every host with instances if the conductors' store began its epoch this
# much earlier than the partition began its own. Needed by workers that had no table.
RECORDS_INTACT_MS = 3_600_000
# Longest time until every live worker has reconnected to a partition and named its hosts: a retry pause and one try.
WORKERS_S = 15.0
# A failed machine may take down both broker and store: retry the conductor while the bus recovers.
CALLS, RETRY_S = 12, 5.0


class AuditAnnouncer:
    """Requester of audits after each load of a partition.

    It also names the hosts in the conductor's records to the partition's store. Best effort: agents also learn of
    audits from report answers, and the store's collection of names times out.
    """

    def __init__(
        self,
        conductor: ConductorAPI,
        partition: str = "",
        known_hosts_file: str | None = None,
        wait: Callable[[float], Any] = time.sleep,
    ) -> None:
        """``known_hosts_file`` lists the hosts of ``partition``. ``wait`` runs in the announcer's own thread."""
        self._conductor = conductor
        self._partition = partition
        self._known_hosts_file = known_hosts_file
        self._wait = wait

    def request_audits(self, replica: Replica) -> None:
        """Call the conductor, in a thread, if hosts await an audit or may have been forgotten."""
        waiting = replica.host_counts.awaiting_audit
        if waiting:
            LOG.warning(
                "%d hosts of partition %s must be audited in epoch %d before they accept instances",
                waiting,
                replica.partition,
                replica.log_position.epoch,
            )
        if waiting or replica.collects_names:
            arguments = (replica, replica.log_position.epoch)
            threading.Thread(target=self._call_conductor, args=arguments, name="announcer", daemon=True).start()

    def check_unverified(self, partition: str, host: str, claims: Sequence[ClaimResult]) -> None:
        """Ask the conductor, best effort, whether its records name the unverified claims of ``host``."""
        LOG.warning(
            "Audit of host %s reported %d attempts unknown to partition %s; they count on that host until the "
            "conductor's records name them ('gantt audit' shows them)",
            *(host, len(claims), partition),
        )
        refs = objects.ClaimRefs.of(
            consumers=[claim.consumer for claim in claims], attempts=[claim.attempt for claim in claims]
        )
        try:
            self._conductor.check_unverified(context.new(), partition, host, refs)
        except (errors.GanttError, messaging.MessagingException, OSError) as error:
            LOG.warning("Cannot ask the conductor about host %s; its next audit asks again: %s", host, error)

    def _call_conductor(self, replica: Replica, epoch: int) -> None:
        if replica.collects_names and self._known_hosts_file is not None and replica.partition == self._partition:
            self._name_known_hosts(replica, epoch, self._known_hosts_file)
        for _ in range(CALLS):
            try:
                self._conductor.audit_hosts(context.new().with_timeout(CALL_TIMEOUT), replica.partition, epoch)
                if replica.collects_names:
                    self._name_recorded_hosts(replica, epoch)
                return
            except (errors.GanttError, messaging.MessagingException, OSError) as error:
                LOG.warning(
                    "Audit request for epoch %d of partition %s failed; agents learn of it from report answers: %s",
                    epoch,
                    replica.partition,
                    error,
                )
            self._wait(RETRY_S)
            if replica.log_position.epoch != epoch:  # the load of the newer epoch requests its own audits
                return

    @staticmethod
    def _name_known_hosts(replica: Replica, epoch: int, path: str) -> None:
        try:
            hosts = known_hosts.read(path)
            replica.name_hosts(epoch, hosts, complete=False)
        except errors.GanttError as error:
            LOG.error("Cannot name the known hosts of partition %s: %s", replica.partition, error)
        else:
            LOG.info("Named %d hosts of partition %s from %s", len(hosts), replica.partition, path)

    def _name_recorded_hosts(self, replica: Replica, epoch: int) -> None:
        recorded = self._conductor.list_hosts(context.new().with_timeout(LIST_TIMEOUT), replica.partition)
        # An epoch's number is the time of its start by the server's clock, in ms.
        complete = replica.has_named_its_own or recorded.epoch < epoch - RECORDS_INTACT_MS
        replica.name_hosts(epoch, recorded.hosts, complete=False)
        if complete:
            if replica.absent_hosts or not replica.has_named_its_own:
                # The store forgot hosts. Other workers may name hosts that this worker never had.
                self._wait(WORKERS_S)
            replica.name_hosts(epoch, (), complete=True)
        LOG.info(
            "Named %d recorded hosts of partition %s, %s",
            len(recorded.hosts),
            replica.partition,
            "the last ones" if complete else "others may have been forgotten with their records",
        )
