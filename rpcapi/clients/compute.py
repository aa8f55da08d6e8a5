# SPDX-License-Identifier: Apache-2.0
"""Client of the compute agents, used only by the conductor."""

from rpcapi import objects
from rpcapi.clients.client import ServiceClient
from rpcapi.context import RequestContext
from rpcapi.version import OLDEST_AGENT


class ComputeAPI(ServiceClient):
    """Client of the agents, topic ``compute``, one server per service host.

    Agents report the results of casts to the conductor. Calls raise MessagingTimeout if the agent does not answer.
    """

    TOPIC = "compute"
    VERSION = "1.0"
    OLDEST = OLDEST_AGENT

    def build_instances(self, ctxt: RequestContext, host: str, request: objects.BuildRequest) -> None:
        """Confirm the claims and spawn the guests."""
        self._cast(ctxt, "1.0", "build_instances", {"server": host}, request=request)

    def terminate_instances(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
        """Stop guests, then release their claims."""
        self._cast(ctxt, "1.0", "terminate_instances", {"server": host}, refs=refs)

    def change_guests(self, ctxt: RequestContext, host: str, transitions: objects.GuestTransitions) -> None:
        """Start, stop or end guests; their claims may change roles."""
        self._cast(ctxt, "1.0", "change_guests", {"server": host}, transitions=transitions)

    def operate_guests(self, ctxt: RequestContext, host: str, operations: objects.GuestOperations) -> None:
        """Reboot or rebuild guests, each once."""
        self._cast(ctxt, "1.0", "operate_guests", {"server": host}, operations=operations)

    def list_guests(
        self, ctxt: RequestContext, host: str, marker: str | None = None, limit: int = 1000
    ) -> objects.GuestPage:
        return self.call(ctxt, "1.0", "list_guests", {"server": host}, marker=marker, limit=limit)

    def list_owners(self, ctxt: RequestContext, host: str, uuids: list[str]) -> objects.GuestOwners:
        return self.call(ctxt, "1.0", "list_owners", {"server": host}, uuids=uuids)

    def check_migrations(
        self, ctxt: RequestContext, host: str, checks: objects.MigrationChecks
    ) -> objects.MigrationChecks:
        """Check, without reservation, whether instances can live-migrate from or to ``host``."""
        return self.call(ctxt, "1.0", "check_migrations", {"server": host}, checks=checks)

    def prepare_incoming(self, ctxt: RequestContext, host: str, request: objects.BuildRequest) -> None:
        """Confirm the claims and create paused guests for copies to fill."""
        self._cast(ctxt, "1.0", "prepare_incoming", {"server": host}, request=request)

    def copy_guests(self, ctxt: RequestContext, host: str, copies: objects.GuestCopies) -> None:
        """Start, abort or complete copies from the source ``host``."""
        self._cast(ctxt, "1.0", "copy_guests", {"server": host}, copies=copies)

    def list_copies(self, ctxt: RequestContext, host: str, migrations: list[str]) -> objects.CopyPage:
        return self.call(ctxt, "1.0", "list_copies", {"server": host}, migrations=migrations)

    def audit(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        """Ask all agents of the partition to audit in ``epoch``."""
        self._cast(ctxt, "1.0", "audit", {"fanout": True}, partition=partition, epoch=epoch)
