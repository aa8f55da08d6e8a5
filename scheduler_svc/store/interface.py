# SPDX-License-Identifier: Apache-2.0
"""The store interface: the verbs that every backend implements and one shared test suite checks."""

import abc
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from scheduler_svc.core.records import BatchAnswer, Claim, ClaimBatch, ClaimRef, ClaimResult, LogEntry, Snapshot
from scheduler_svc.store.records import AuditOutcome, RunningClaim, StatsOutcome, Verification


class Store(abc.ABC):
    """One partition's host state, claims and log.

    Each verb is atomic and idempotent by its identity: repeating it changes nothing and returns the recorded
    answer. Time is the store's own. Every verb raises StoreUnavailable when the store does not answer, or answers
    that it cannot serve. A rejection is a return value.
    """

    partition: str

    # -- claims ------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        """Prepare a claim for every intent of the batch, or for none.

        A batch has at most MAX_INTENTS intents of MAX_CANDIDATES candidates each.
        """

    @abc.abstractmethod
    def confirm(self, host: str, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        """Confirm prepared claims of service host ``host``, each independently.

        Returns for each claim CONFIRMED (also when it was confirmed before), EXPIRED, ABORTED, RELEASED, UNKNOWN,
        FOREIGN, or CLOSED: the host must audit first, because the store may have forgotten the claim's end.
        """

    @abc.abstractmethod
    def abort(self, refs: Sequence[ClaimRef], host: str | None = None) -> list[ClaimResult]:
        """Abort prepared claims, each independently. With ``host``, a claim on another service host answers FOREIGN.

        Returns for each claim its end (ABORTED, EXPIRED or RELEASED), CONFIRMED (a confirmed claim is not ended),
        CLOSED (its host must audit first) or UNKNOWN. For UNKNOWN a tombstone is stored, so that a delayed prepare
        of that attempt is refused. CLOSED is also returned for an unknown claim that the store may have forgotten,
        while a host that could run it must still audit.
        """

    @abc.abstractmethod
    def release(self, host: str, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        """Release claims of service host ``host``, prepared or confirmed.

        Returns for each claim RELEASED, its former end, or FOREIGN. Releasing a claim that never existed is allowed:
        it returns RELEASED and stores a tombstone.
        """

    @abc.abstractmethod
    def move(self, ref: ClaimRef, to: ClaimRef, consumer_type: str) -> ClaimResult:
        """Transfer a confirmed claim to another consumer (an instance's source to its migration, and back).

        The result is about ``to``: CONFIRMED, CONFLICT (it has a live claim) or how that attempt ended; or about
        ``ref``, and then nothing was moved: PREPARED, UNKNOWN or its end. A refusal is final: it ends the attempt
        ``to``, so that the same message repeated later moves nothing; to try again, the caller uses the next attempt.
        CLOSED, for either, is not a refusal: a host must audit first, so the caller retries.
        """

    @abc.abstractmethod
    def claims(
        self,
        *,
        host: str | None = None,
        consumer: str | None = None,
        marker: str | None = None,
        limit: int = 1000,
    ) -> tuple[list[Claim], str | None]:
        """Return a page of live claims, ordered by node and consumer, and the next marker.

        ``host`` is a service host or a node. Raises InvalidRequest where ``limit`` is above MAX_PAGE, as all pages do.
        """

    @abc.abstractmethod
    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Return the number of live claims of a server group on each host: a hint, not a guarantee.

        Claims past their deadline count until they are ended; ``prepare`` enforces the group's policy.
        """

    @abc.abstractmethod
    def hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        """Return the node of each consumer's live claim, for those that have one.

        Accepts at most MAX_REFS consumers.
        """

    @abc.abstractmethod
    def counts(self) -> Mapping[str, int]:
        """Return the number of prepared and of confirmed live claims; costs two counter reads.

        Claims past their deadline count as prepared until they are ended, and as confirmed while their host must
        audit before they can be ended.
        """

    @abc.abstractmethod
    def audit(self, host: str, epoch: int, running: Sequence[RunningClaim], grace_ms: int) -> AuditOutcome:
        """Reconcile the claims of service host ``host`` with what runs there, and open the host in ``epoch``.

        What runs is the truth. A confirmed claim that the store lost is re-asserted (an excess is flagged); a reported
        attempt later than the live one proves that the live one had ended. A claim that ended stays ended, and the
        answer says so. A prepared claim of an earlier epoch is aborted, because the store may have forgotten that it
        was aborted before. A confirmed claim that is not reported is an orphan, and is released when it is still an
        orphan after ``grace_ms``.

        Returns a ClaimResult for each reported claim, in order. Where ``epoch`` is not the store's, nothing is opened
        and no results are returned: the agent then audits again in the returned epoch. Raises UnknownHost where
        ``host`` never reported: once opened, it would be awaited in each new epoch.
        """

    @abc.abstractmethod
    def fence(self, host: str) -> int:
        """Release all claims of service host ``host``, on which an operator declares that nothing runs.

        Returns the number of claims released. Their tombstones stay: if the agent comes back after all, its audit is
        answered that they ended, and it stops their guests. The host is no longer awaited. A later epoch awaits it
        only where it still counted as alive, because its return may be what the store forgot. The host takes claims
        again after its next audit. Raises UnknownHost.
        """

    @abc.abstractmethod
    def verify(self) -> Verification:
        """Recompute all sums from the claims, as of one atomic read, and return the differences."""

    @abc.abstractmethod
    def reap(self, *, dead_after_ms: int | None, tombstone_ms: int, limit: int = 500) -> int:
        """End claims past their deadline, log hosts that went down, drop old tombstones and pins.

        ``dead_after_ms`` None: liveness is decided elsewhere and set by ``settle_alive``. Returns the number of claims
        ended. Nothing depends on this call for correctness: deadlines are checked at access.
        """

    @abc.abstractmethod
    def settle_alive(self, living: Collection[str]) -> int:
        """Set exactly these of the known services alive, log the changes, and return their number.

        For stores opened with liveness "group", in which a heartbeat is recorded but does not mark a dead service
        alive.
        """

    @abc.abstractmethod
    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        """Pin ``key`` (a request or a server group) to ``partition``, and return the partition that serves it.

        The first call is recorded. Later calls within ``ttl_ms`` of the previous one return what is recorded.
        ``instead_of`` is a recorded partition that may be replaced.
        """

    # -- host state --------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def update_stats(
        self,
        host: str,
        *,
        incarnation: int,
        sequence: int,
        base: int,
        full: bool,
        nodes: Mapping[str, Mapping[str, Any]],
    ) -> StatsOutcome:
        """Apply a service host's report (see rpcapi.objects.StatsReport) and count it as a heartbeat.

        ``nodes`` is already validated, and every inventory carries its ``capacity``. Only actual changes are logged.
        A repeated or older report changes nothing. A delta whose base is not the last applied report, or is of
        another incarnation, is answered ``need_full`` and changes nothing.
        Raises UnknownHost where a delta names a node that the host never reported.
        """

    @abc.abstractmethod
    def heartbeat(self, host: str, binary: str) -> None:
        """Record a heartbeat of a service without nodes; its name is ``binary@host`` (see reports.service_name)."""

    @abc.abstractmethod
    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        """Return (version, document); raises UnknownHost, UnknownNamespace."""

    @abc.abstractmethod
    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        """Return a page of (name, version, document) by name, and the next marker."""

    @abc.abstractmethod
    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        """Replace the document recorded at ``version`` (0: there is none), and return its new version.

        A document that already equals ``document`` is left unchanged, whatever its version. In namespace ``service``
        only ``enabled`` and ``disabled_reason`` can be set, and only of a service that reported (else UnknownHost).
        Documents in ``compute`` belong to the agents: InvalidRequest. ``document`` is plain JSON of at most MAX_STATE
        bytes; the caller checks its content. Raises VersionConflict, UnknownNamespace.
        """

    @abc.abstractmethod
    def delete_state(self, namespace: str, name: str, version: int) -> None:
        """Delete the document recorded at ``version``; does nothing where there is none.

        Raises VersionConflict, UnknownNamespace, and InvalidRequest for ``compute`` and ``service``, whose documents
        are deleted with their hosts (``remove``).
        """

    @abc.abstractmethod
    def remove(self, host: str) -> None:
        """Remove service host ``host``: its nodes, its reports, its service document, and that it was awaited.

        Does nothing for an unknown host. Raises HostInUse where live claims are on it; Conflict where claims on other
        hosts hold what it shares, or where it may run claims that the store forgot, until it has audited or is fenced.
        """

    # -- log, epoch, decisions ---------------------------------------------------------------------------------

    @abc.abstractmethod
    def snapshot(self, namespaces: Collection[str] = ()) -> Snapshot:
        """Return a consistent copy of the state that replicas hold, with its log position.

        Of the declared namespaces only ``namespaces`` are included.
        """

    @abc.abstractmethod
    def follow(self, position: int, block_ms: int, limit: int = 1000) -> list[LogEntry] | None:
        """Return the entries after ``position``, in order, waiting up to ``block_ms`` for the first.

        None means a gap: the log was trimmed past ``position``, or is shorter than it. Take a snapshot.
        """

    @abc.abstractmethod
    def check_identity(self) -> tuple[int, bool]:
        """Compare the server's identity with the recorded one; begin an epoch if the store may have forgotten anything.

        Returns (epoch, whether this call began it). Called on every new connection.
        """

    @abc.abstractmethod
    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        """Append a decision that led to no prepare to the bounded decision record."""

    @abc.abstractmethod
    def find_decision(self, request_id: str) -> dict[str, Any]:
        """Return the newest recorded decision of a request, with the claim script's answer; raises UnknownDecision."""

    @abc.abstractmethod
    def list_decisions(
        self, marker: str | None = None, limit: int = 100
    ) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
        """Return a page of (request id, document), oldest first, and the next marker, an opaque string."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close all connections; the stored data stays."""
