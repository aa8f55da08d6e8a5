# SPDX-License-Identifier: Apache-2.0
"""Client of the conductor."""

import time
from collections.abc import Sequence
from typing import Any

from rpcapi import objects
from rpcapi.clients.client import ServiceClient
from rpcapi.context import RequestContext


class ConductorAPI(ServiceClient):
    """Client of the conductor service, topic ``conductor``.

    Changes of instances and migrations raise their errors before any change: besides the errors listed below,
    UnknownInstance or UnknownMigration, and InstanceConflict for a status that does not allow the change.
    """

    TOPIC = "conductor"
    VERSION = "1.0"

    def build_instances(
        self,
        ctxt: RequestContext,
        spec: objects.RequestSpec,
        uuids: list[str],
        names: Sequence[str] = (),
        first_sent: float | None = None,
        *,
        is_repeat: bool = False,
    ) -> None:
        """Record instances and start their builds. Idempotent for the same uuids.

        ``names``: display names, empty or one per instance. ``first_sent``: Unix time in seconds of the first try, to
        be repeated in every retry; None means now. ``is_repeat``: the caller may have sent the request before, at a
        time it lost; nothing is built until it is certain that nothing runs under these uuids.

        Raises InvalidSpec, InvalidCount, InvalidName, UnknownTrait, RequestTooOld, QuotaExceeded or Overloaded.
        """
        sent = time.time() if first_sent is None and not is_repeat else first_sent
        self.call(ctxt, "1.0", "build_instances", spec=spec, uuids=uuids, names=list(names), first_sent=sent)

    def check_store(self, ctxt: RequestContext) -> None:
        """Raise StoreUnavailable or NotReplicated unless the conductors' store acknowledges writes."""
        self.call(ctxt, "1.0", "check_store")

    def store_sizes(self, ctxt: RequestContext) -> objects.StoreSizes:
        return self.call(ctxt, "1.0", "store_sizes")

    def get_quota(self, ctxt: RequestContext, project: str) -> objects.ProjectQuota:
        return self.call(ctxt, "1.0", "get_quota", project=project)

    def report_builds(self, ctxt: RequestContext, report: objects.BuildReport) -> None:
        """Report a host's build results; the agent repeats the report until it is answered."""
        self.call(ctxt, "1.0", "report_builds", report=report)

    def delete_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self.call(ctxt, "1.0", "delete_instances", uuids=uuids)

    def stop_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Power off ACTIVE instances, which keep disk and claim. Idempotent."""
        self.call(ctxt, "1.0", "stop_instances", uuids=uuids)

    def start_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self.call(ctxt, "1.0", "start_instances", uuids=uuids)

    def reboot_instances(self, ctxt: RequestContext, uuids: list[str], hard: bool = False) -> None:
        """Reboot ACTIVE instances, with ``hard`` also SHUTOFF, or ERROR with a guest. No effect during a reboot."""
        self.call(ctxt, "1.0", "reboot_instances", uuids=uuids, hard=hard)

    def rebuild_instances(self, ctxt: RequestContext, uuids: list[str], image: dict[str, Any] | None = None) -> None:
        """Replace the disks of ACTIVE, SHUTOFF (stays off) or ERROR instances from their images.

        Host and claim stay, but instances in ERROR on a lost host are evacuated. ``image``, as in RequestSpec, replaces
        the instances' image for good. Raises InvalidSpec if the image contradicts the flavor, or needs a different
        claim, more memory or a larger disk; NoValidHost if a host cannot run it; HostIsUp.
        """
        self.call(ctxt, "1.0", "rebuild_instances", uuids=uuids, image=image)

    def shelve_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Power off and save ACTIVE or SHUTOFF instances; offload after [conductor] shelved_offload_time."""
        self.call(ctxt, "1.0", "shelve_instances", uuids=uuids)

    def offload_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Remove SHELVED instances from their hosts and release their claims."""
        self.call(ctxt, "1.0", "offload_instances", uuids=uuids)

    def unshelve_instances(self, ctxt: RequestContext, uuids: list[str], host: str | None = None) -> None:
        """Start SHELVED instances on their hosts, SHELVED_OFFLOADED instances on selected hosts.

        An instance without a valid host becomes SHELVED_OFFLOADED again, with the reason. ``host``, only for
        SHELVED_OFFLOADED, forces the destination. Raises QuotaExceeded, and UnknownHost or NoValidHost if ``host`` can
        take none of the instances.
        """
        self.call(ctxt, "1.0", "unshelve_instances", uuids=uuids, host=host)

    def evacuate_instances(
        self, ctxt: RequestContext, uuids: list[str], migrations: list[str], target: str | None = None
    ) -> None:
        """Rebuild instances of fenced or removed hosts elsewhere, on ``target`` if given.

        ``migrations``: a new uuid per instance, which makes a repeated call idempotent. An instance without a valid
        host returns to ERROR, with the reason of each attempt. Raises InvalidRequest; UnknownHost or NoValidHost
        (unusable target); HostIsUp (the host may still run the instances); InstanceConflict also for a claim that has
        not ended, an instance that was never built, or a migration in progress.
        """
        self.call(ctxt, "1.0", "evacuate_instances", uuids=uuids, migrations=migrations, target=target)

    def migrate_instances(
        self,
        ctxt: RequestContext,
        uuids: list[str],
        migrations: list[str],
        host: str | None = None,
        *,
        allow_cross_cell: bool = False,
    ) -> None:
        """Cold-migrate ACTIVE and SHUTOFF instances, each under its migration uuid. Idempotent.

        Instances stay in VERIFY_RESIZE at their destinations until confirm_migrations or revert_migrations. After a
        failure they are back on their hosts, with the reason in the migration. ``host`` is the only allowed
        destination; ``allow_cross_cell`` allows other partitions. Raises InvalidRequest if ``host`` is an instance's
        own host, UnknownHost or NoValidHost if it can take none of the instances.
        """
        self.call(
            ctxt,
            "1.0",
            "migrate_instances",
            uuids=uuids,
            migrations=migrations,
            host=host,
            allow_cross_cell=allow_cross_cell,
        )

    def live_migrate_instances(
        self, ctxt: RequestContext, uuids: list[str], migrations: list[str], host: str | None = None
    ) -> None:
        """Live-migrate ACTIVE instances within their partitions; they stay ACTIVE. Else like migrate_instances."""
        self.call(ctxt, "1.0", "live_migrate_instances", uuids=uuids, migrations=migrations, host=host)

    def abort_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Abort live migrations, except after their instances stopped at the source. Idempotent."""
        self.call(ctxt, "1.0", "abort_migrations", uuids=uuids)

    def force_complete_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Complete live migrations that cannot keep up with memory writes, by a pause or post-copy."""
        self.call(ctxt, "1.0", "force_complete_migrations", uuids=uuids)

    def list_copies(self, ctxt: RequestContext, uuids: list[str]) -> objects.CopyPage:
        """Return the progress of live migrations; omit ended ones and silent sources. Raises UnknownMigration."""
        return self.call(ctxt, "1.0", "list_copies", uuids=uuids)

    def resize_instances(
        self,
        ctxt: RequestContext,
        uuids: list[str],
        migrations: list[str],
        spec: objects.RequestSpec,
        *,
        other_specs: Sequence[objects.RequestSpec] = (),
        allow_cross_cell: bool = False,
    ) -> None:
        """Change the flavor of instances to resources, traits and topology of ``spec``; else like migrate_instances.

        ``spec`` combines the new flavor with the instances' image; its placement, volumes and ports are ignored. If
        images differ, ``other_specs`` has a spec for each further image. The destination may be the instance's own
        host. Also raises QuotaExceeded, and InvalidSpec, for example for too little disk or memory.
        """
        self.call(
            ctxt,
            "1.0",
            "resize_instances",
            uuids=uuids,
            migrations=migrations,
            spec=spec,
            other_specs=list(other_specs),
            allow_cross_cell=allow_cross_cell,
        )

    def confirm_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Remove the sources of finished migrations. Idempotent."""
        self.call(ctxt, "1.0", "confirm_migrations", uuids=uuids)

    def revert_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Move instances of finished migrations back to their sources."""
        self.call(ctxt, "1.0", "revert_migrations", uuids=uuids)

    def get_specs(self, ctxt: RequestContext, uuids: list[str]) -> list[objects.RequestSpec]:
        """Return the instances' current request specs in order, resizes included. Raises UnknownInstance."""
        return self.call(ctxt, "1.0", "get_specs", uuids=uuids)

    def get_instances(self, ctxt: RequestContext, uuids: list[str]) -> objects.InstancePage:
        """Return instances in the order of ``uuids``. Raises UnknownInstance."""
        return self.call(ctxt, "1.0", "get_instances", uuids=uuids)

    def list_instances(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000, deleted: bool = False
    ) -> objects.InstancePage:
        """Return a page of instances, oldest first; ``deleted`` includes deleted ones."""
        return self.call(ctxt, "1.0", "list_instances", marker=marker, limit=limit, deleted=deleted)

    def get_migrations(self, ctxt: RequestContext, uuids: list[str]) -> objects.MigrationPage:
        """Return migrations in the order of ``uuids``. Raises UnknownMigration."""
        return self.call(ctxt, "1.0", "get_migrations", uuids=uuids)

    def list_migrations(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000
    ) -> objects.MigrationPage:
        """Return a page of migrations, oldest first; ended ones are kept for their retention."""
        return self.call(ctxt, "1.0", "list_migrations", marker=marker, limit=limit)

    def list_guests(
        self, ctxt: RequestContext, host: str, marker: str | None = None, limit: int = 1000
    ) -> objects.GuestPage:
        """Return a page of the guests on a service host. Raises Unavailable if its agent does not answer."""
        return self.call(ctxt, "1.0", "list_guests", host=host, marker=marker, limit=limit)

    def adopt_instances(self, ctxt: RequestContext, partition: str, host: str, uuids: list[str]) -> None:
        """Record instances that a service host of ``partition`` runs under claims, but that have no record. Idempotent.

        Raises InvalidRequest, Unavailable (no answer) or InstanceConflict (different record, or no guest or claim).
        """
        self.call(ctxt, "1.0", "adopt_instances", partition=partition, host=host, uuids=uuids)

    def release_orphans(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
        """Ask a service host to release confirmed claims without a guest.

        Raises InvalidRequest, Unavailable (no answer) or InstanceConflict (the host has a guest, or a step in
        progress).
        """
        self.call(ctxt, "1.0", "release_orphans", host=host, refs=refs)

    def compare_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Correct records by their claims now. Raises InstanceConflict (step in progress) or Unavailable."""
        self.call(ctxt, "1.0", "compare_instances", uuids=uuids)

    def end_leaked_migrations(
        self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs, *, ends_running: bool = False
    ) -> None:
        """Ask a service host of ``partition`` to end claims and guests of migrations that ended or have no record.

        ``ends_running`` also ends running guests, and guests that may be the original. Raises InvalidRequest,
        Unavailable (no answer) or InstanceConflict (migration in progress, possibly only copy, or ``ends_running``
        needed).
        """
        self.call(
            ctxt, "1.0", "end_leaked_migrations", partition=partition, host=host, refs=refs, ends_running=ends_running
        )

    def object_backport_versions(
        self, ctxt: RequestContext, objinst: dict[str, Any], object_versions: dict[str, str]
    ) -> Any:
        """Return the object of primitive ``objinst``, backported to ``object_versions``."""
        return self.call(ctxt, "1.0", "object_backport_versions", objinst=objinst, object_versions=object_versions)

    def check_unverified(self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs) -> None:
        """Ask conductors, by a cast, to vouch for the unverified claims that their records name."""
        self._cast(ctxt, "1.0", "check_unverified", partition=partition, host=host, refs=refs)

    def audit_hosts(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        """Ask all agents to audit in ``epoch``, for schedulers, which cannot send to agents."""
        self.call(ctxt, "1.0", "audit_hosts", partition=partition, epoch=epoch)

    def list_hosts(self, ctxt: RequestContext, partition: str) -> objects.RecordedHosts:
        """Return the service hosts that, by the records, may run instances of a partition."""
        return self.call(ctxt, "1.0", "list_hosts", partition=partition)
