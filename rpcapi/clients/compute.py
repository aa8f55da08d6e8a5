# SPDX-License-Identifier: Apache-2.0
"""Client of the compute agents; only the conductor may use it."""

from rpcapi import objects
from rpcapi.clients.client import ServiceClient
from rpcapi.context import RequestContext
from rpcapi.version import OLDEST_AGENT


class ComputeAPI(ServiceClient):
    """Client of the agents, topic ``compute``, one server per service host.

    1.0 - Initial version
    1.1 - Add list_guests
    1.2 - Add change_guests
    1.3 - Add operate_guests
    1.4 - Add list_owners
    1.5 - Add check_migrations, prepare_incoming, copy_guests, list_copies
    1.6 - operate_guests: images
    """

    TOPIC = "compute"
    VERSION = "1.6"
    OLDEST = OLDEST_AGENT

    def build_instances(self, ctxt: RequestContext, host: str, request: objects.BuildRequest) -> None:
        """Request the agent of ``host`` to confirm the claims and spawn the guests; it reports to the conductor."""
        self._cast(ctxt, "1.0", "build_instances", {"server": host}, request=request)

    def terminate_instances(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
        """Request the agent of ``host`` to stop the guests and then release their claims."""
        self._cast(ctxt, "1.0", "terminate_instances", {"server": host}, refs=refs)

    def change_guests(self, ctxt: RequestContext, host: str, transitions: objects.GuestTransitions) -> None:
        """Request the agent of ``host`` to start, stop or end guests, also under new identities; it reports them."""
        self._cast(ctxt, "1.2", "change_guests", {"server": host}, transitions=transitions)

    def operate_guests(self, ctxt: RequestContext, host: str, operations: objects.GuestOperations) -> None:
        """Request the agent of ``host`` to reboot or rebuild guests, each once; it reports them."""
        self._cast(ctxt, "1.6", "operate_guests", {"server": host}, operations=operations)

    def list_guests(
        self, ctxt: RequestContext, host: str, marker: str | None = None, limit: int = 1000
    ) -> objects.GuestPage:
        """Return a page of what runs on ``host``; raises MessagingTimeout when its agent does not answer."""
        return self.call(ctxt, "1.1", "list_guests", {"server": host}, marker=marker, limit=limit)

    def list_owners(self, ctxt: RequestContext, host: str, uuids: list[str]) -> objects.GuestOwners:
        """Return the live attempts of these instances on ``host`` with their owners; raises as list_guests."""
        return self.call(ctxt, "1.4", "list_owners", {"server": host}, uuids=uuids)

    def check_migrations(
        self, ctxt: RequestContext, host: str, checks: objects.MigrationChecks
    ) -> objects.MigrationChecks:
        """Check whether instances can be migrated live from or to ``host``; raises as list_guests.

        It reserves nothing.
        """
        return self.call(ctxt, "1.5", "check_migrations", {"server": host}, checks=checks)

    def prepare_incoming(self, ctxt: RequestContext, host: str, request: objects.BuildRequest) -> None:
        """Request the agent of ``host`` to confirm the claims and create paused guests; it reports to the conductor."""
        self._cast(ctxt, "1.5", "prepare_incoming", {"server": host}, request=request)

    def copy_guests(self, ctxt: RequestContext, host: str, copies: objects.GuestCopies) -> None:
        """Request the agent of ``host``, the source, to start, abort or complete copies; it reports them."""
        self._cast(ctxt, "1.5", "copy_guests", {"server": host}, copies=copies)

    def list_copies(self, ctxt: RequestContext, host: str, migrations: list[str]) -> objects.CopyPage:
        """Return the progress of the copies of these migrations from ``host``; raises as list_guests."""
        return self.call(ctxt, "1.5", "list_copies", {"server": host}, migrations=migrations)

    def audit(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        """Request all agents of the partition to audit in ``epoch``."""
        self._cast(ctxt, "1.0", "audit", {"fanout": True}, partition=partition, epoch=epoch)
