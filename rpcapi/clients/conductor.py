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

    1.0 - Initial version
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
        """Record instances and start their builds; idempotent for the same uuids.

        Arguments:

        - names: Display name per instance, or empty.
        - first_sent: Unix time in seconds of the first attempt at this request, to be repeated in every retry; None
          means now.
        - is_repeat: The caller may have sent the request before and lost the time. Nothing is built until it is certain
          that nothing runs under these uuids.

        Raises, before anything is recorded: InvalidSpec, InvalidCount, InvalidName, UnknownTrait, InstanceConflict,
        RequestTooOld, QuotaExceeded or Overloaded.
        """
        sent = time.time() if first_sent is None and not is_repeat else first_sent
        self.call(ctxt, "1.0", "build_instances", spec=spec, uuids=uuids, names=list(names), first_sent=sent)

    def check_store(self, ctxt: RequestContext) -> None:
        """Check that the conductors' store acknowledges writes; raises StoreUnavailable or NotReplicated."""
        self.call(ctxt, "1.0", "check_store")

    def store_sizes(self, ctxt: RequestContext) -> objects.StoreSizes:
        """Return the sizes of the collections of the conductors' store."""
        return self.call(ctxt, "1.0", "store_sizes")

    def get_quota(self, ctxt: RequestContext, project: str) -> objects.ProjectQuota:
        """Return usage and limits of a project."""
        return self.call(ctxt, "1.0", "get_quota", project=project)

    def report_builds(self, ctxt: RequestContext, report: objects.BuildReport) -> None:
        """Report build results of a host; the agent repeats the report until it is answered."""
        self.call(ctxt, "1.0", "report_builds", report=report)

    def delete_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Delete instances and release their claims; raises UnknownInstance before any change."""
        self.call(ctxt, "1.0", "delete_instances", uuids=uuids)

    def stop_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Power off ACTIVE instances, which keep disk and claim. Idempotent.

        Raises UnknownInstance, or InstanceConflict for another status, before any change.
        """
        self.call(ctxt, "1.0", "stop_instances", uuids=uuids)

    def start_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Start SHUTOFF instances on their hosts; errors as in stop_instances."""
        self.call(ctxt, "1.0", "start_instances", uuids=uuids)

    def reboot_instances(self, ctxt: RequestContext, uuids: list[str], hard: bool = False) -> None:
        """Reboot ACTIVE instances; ``hard`` also allows SHUTOFF, and ERROR if a host still has the guest.

        No effect while a reboot is in progress. Raises UnknownInstance, or InstanceConflict for another status, before
        any change.
        """
        self.call(ctxt, "1.0", "reboot_instances", uuids=uuids, hard=hard)

    def rebuild_instances(self, ctxt: RequestContext, uuids: list[str], image: dict[str, Any] | None = None) -> None:
        """Replace the disks of instances from their images; instances in ERROR on a lost host are evacuated.

        Allowed in ACTIVE, SHUTOFF (stays powered off) and ERROR. Host and claim stay the same. ``image``, a document as
        in RequestSpec, replaces the instances' image for good.

        Raises, before any change, the errors of reboot_instances, and:

        - InvalidSpec: The image contradicts the flavor, or needs another claim, more memory or a larger disk.
        - NoValidHost: A host cannot run the image.
        - HostIsUp: As in evacuate_instances.
        """
        self.call(ctxt, "1.0", "rebuild_instances", uuids=uuids, image=image)

    def shelve_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Power off ACTIVE or SHUTOFF instances and save their disks as images. Idempotent.

        They are offloaded after [conductor] shelved_offload_time. Raises UnknownInstance, or InstanceConflict for
        another status, before any change.
        """
        self.call(ctxt, "1.0", "shelve_instances", uuids=uuids)

    def offload_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Remove SHELVED instances from their hosts and release their claims; errors as in shelve_instances."""
        self.call(ctxt, "1.0", "offload_instances", uuids=uuids)

    def unshelve_instances(self, ctxt: RequestContext, uuids: list[str], host: str | None = None) -> None:
        """Start SHELVED instances on their hosts, SHELVED_OFFLOADED ones on hosts that the scheduler selects.

        Without a valid host an instance becomes SHELVED_OFFLOADED again, with the reason. ``host`` forces the
        destination and requires SHELVED_OFFLOADED.

        Raises, before any change, the errors of shelve_instances, QuotaExceeded, and UnknownHost or NoValidHost for a
        ``host`` that can take none of the instances.
        """
        self.call(ctxt, "1.0", "unshelve_instances", uuids=uuids, host=host)

    def evacuate_instances(
        self, ctxt: RequestContext, uuids: list[str], migrations: list[str], target: str | None = None
    ) -> None:
        """Rebuild instances of fenced or removed hosts elsewhere, on ``target`` if given.

        ``migrations`` has a new uuid per instance that identifies the evacuation; a repeated call with it changes
        nothing. An instance without a valid host returns to ERROR, with the reason of each attempt.

        Raises, before any change, InvalidRequest or UnknownInstance (invalid arguments); UnknownHost or NoValidHost
        (the target cannot be used); HostIsUp (the host sends heartbeats and may still run the instances);
        InstanceConflict (the claim has not ended, the instance was never built, or a migration is in progress).
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
        """Cold-migrate ACTIVE and SHUTOFF instances, each under the migration uuid of the caller. Idempotent.

        The instances reach VERIFY_RESIZE at their destinations, until confirm_migrations or revert_migrations. After a
        failure they are back on their hosts, with the reason in the migration.

        Arguments:

        - host: The only allowed destination.
        - allow_cross_cell: Allow destinations in other partitions.

        Raises, before any change, UnknownInstance (an unknown uuid); InstanceConflict (the instance is in another
        status); InvalidRequest (``host`` is the instance's own host); UnknownHost or NoValidHost (``host`` can take
        none of the instances).
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
        """Live-migrate ACTIVE instances within their partitions; arguments and errors as in migrate_instances.

        Afterwards the instances are ACTIVE at their destinations. If a copy fails, the instance keeps running at its
        source.
        """
        self.call(ctxt, "1.0", "live_migrate_instances", uuids=uuids, migrations=migrations, host=host)

    def abort_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Abort live migrations; the instances keep running at their sources. Idempotent.

        Raises, before any change, UnknownMigration, or InstanceConflict for a migration that is not live, has ended, or
        has already stopped its instance at the source.
        """
        self.call(ctxt, "1.0", "abort_migrations", uuids=uuids)

    def force_complete_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Complete live migrations whose instances write memory faster than it is copied, by pausing them.

        With [conductor] live_migration_post_copy they continue at their destinations at once, and memory follows.
        Raises, before any change, UnknownMigration, or InstanceConflict for a migration without a running copy.
        """
        self.call(ctxt, "1.0", "force_complete_migrations", uuids=uuids)

    def list_copies(self, ctxt: RequestContext, uuids: list[str]) -> objects.CopyPage:
        """Return the progress of live migrations, without ended ones and silent sources; raises UnknownMigration."""
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
        """Change the flavor of instances to resources, traits and topology of ``spec``; else as migrate_instances.

        ``spec`` is built from the new flavor and the instances' image; its placement, volumes and ports are ignored. If
        the images differ, pass one more spec per image in ``other_specs``; each instance uses the spec of its image.
        The destination may be the instance's own host.

        Raises, in addition, InvalidSpec, for example for a smaller disk or less memory than the image needs, and
        QuotaExceeded.
        """
        self.call(
            ctxt,
            "1.0",
            "resize_instances",
            uuids=uuids,
            migrations=migrations,
            spec=spec,
            allow_cross_cell=allow_cross_cell,
            other_specs=list(other_specs),
        )

    def confirm_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Remove the sources of finished migrations. Idempotent.

        Raises UnknownMigration, or InstanceConflict for a migration that is not finished, before any change.
        """
        self.call(ctxt, "1.0", "confirm_migrations", uuids=uuids)

    def revert_migrations(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Move instances of finished migrations back to their sources; errors as in confirm_migrations."""
        self.call(ctxt, "1.0", "revert_migrations", uuids=uuids)

    def get_specs(self, ctxt: RequestContext, uuids: list[str]) -> list[objects.RequestSpec]:
        """Return the current request specs of instances, in order, resizes included; raises UnknownInstance."""
        return self.call(ctxt, "1.0", "get_specs", uuids=uuids)

    def get_instances(self, ctxt: RequestContext, uuids: list[str]) -> objects.InstancePage:
        """Return instances in the order of ``uuids``; raises UnknownInstance."""
        return self.call(ctxt, "1.0", "get_instances", uuids=uuids)

    def list_instances(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000, deleted: bool = False
    ) -> objects.InstancePage:
        """Return a page of instances, oldest first, with deleted ones if ``deleted``."""
        return self.call(ctxt, "1.0", "list_instances", marker=marker, limit=limit, deleted=deleted)

    def get_migrations(self, ctxt: RequestContext, uuids: list[str]) -> objects.MigrationPage:
        """Return migrations in the order of ``uuids``; raises UnknownMigration."""
        return self.call(ctxt, "1.0", "get_migrations", uuids=uuids)

    def list_migrations(
        self, ctxt: RequestContext, marker: str | None = None, limit: int = 1000
    ) -> objects.MigrationPage:
        """Return a page of migrations, oldest first, with ended ones until their retention has passed."""
        return self.call(ctxt, "1.0", "list_migrations", marker=marker, limit=limit)

    def list_guests(
        self, ctxt: RequestContext, host: str, marker: str | None = None, limit: int = 1000
    ) -> objects.GuestPage:
        """Return a page of the guests on a service host; raises Unavailable if its agent does not answer."""
        return self.call(ctxt, "1.0", "list_guests", host=host, marker=marker, limit=limit)

    def adopt_instances(self, ctxt: RequestContext, partition: str, host: str, uuids: list[str]) -> None:
        """Record instances that a service host of ``partition`` runs under claims, but that have no record.

        Idempotent. Raises, before any change, InvalidRequest (invalid arguments), InstanceConflict (the instance has
        another record, or no guest or claim on the host) or Unavailable (the agent does not answer).
        """
        self.call(ctxt, "1.0", "adopt_instances", partition=partition, host=host, uuids=uuids)

    def release_orphans(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
        """Ask a service host to release confirmed claims without a guest.

        Raises, before any change, InvalidRequest (invalid arguments), InstanceConflict (the host has a guest of the
        attempt, or a step of the instance is in progress) or Unavailable (the agent does not answer).
        """
        self.call(ctxt, "1.0", "release_orphans", host=host, refs=refs)

    def compare_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        """Correct records by their claims now, without waiting for the periodic comparison to see a difference twice.

        Raises, before any change, InvalidRequest or UnknownInstance (invalid arguments); InstanceConflict (a step of
        the instance is in progress); Unavailable (a claims service does not answer).
        """
        self.call(ctxt, "1.0", "compare_instances", uuids=uuids)

    def end_leaked_migrations(
        self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs, *, ends_running: bool = False
    ) -> None:
        """Ask a service host of ``partition`` to end claims and guests of migrations that ended or have no record.

        ``ends_running``: the operator agrees to end running guests, and guests that may be the original copy because
        their migration has no record. Raises, before any change, InvalidRequest (invalid arguments), InstanceConflict
        (the migration is in progress, or the guest may be the only copy of its instance or needs ``ends_running``) or
        Unavailable (the agent does not answer).
        """
        self.call(
            ctxt, "1.0", "end_leaked_migrations", partition=partition, host=host, refs=refs, ends_running=ends_running
        )

    def object_backport_versions(
        self, ctxt: RequestContext, objinst: dict[str, Any], object_versions: dict[str, str]
    ) -> Any:
        """Return the object of the primitive ``objinst``, backported to the versions in ``object_versions``."""
        return self.call(ctxt, "1.0", "object_backport_versions", objinst=objinst, object_versions=object_versions)

    def check_unverified(self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs) -> None:
        """Ask for vouch_for_claims for those unverified claims of a service host that conductor records name.

        A cast: conductors call the claims service, so a call back could block both.
        """
        self._cast(ctxt, "1.0", "check_unverified", partition=partition, host=host, refs=refs)

    def audit_hosts(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        """Ask all agents to audit in ``epoch``, on behalf of schedulers, which cannot send to agents."""
        self.call(ctxt, "1.0", "audit_hosts", partition=partition, epoch=epoch)

    def list_hosts(self, ctxt: RequestContext, partition: str) -> objects.RecordedHosts:
        """Return the service hosts that may run instances of a partition, according to the records."""
        return self.call(ctxt, "1.0", "list_hosts", partition=partition)
