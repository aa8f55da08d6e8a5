# SPDX-License-Identifier: Apache-2.0
"""Claims in messages: requests to the claim verbs and their answers."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class ClaimRefs(base.GanttObject):
    """References to claims; the identity of a claim is (consumer, attempt).

    Version 1.0: Initial version
    """

    fields = {
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
    }

    def pairs(self) -> list[tuple[str, int]]:
        """Return the identities in order."""
        return list(zip(self.consumers, self.attempts, strict=True))


@base.GanttObjectRegistry.register
class ClaimIntents(base.GanttObject):
    """Request of prepare_claims: for each consumer the candidate hosts, best first.

    ``replaces`` is the attempt that the new one replaces (None: none): it is ended by the same verb; when it is already
    confirmed, nothing is changed. All consumers get a claim, or none. ``fresh`` is as in select_destinations.

    Version 1.0: Initial version
    """

    fields = {
        "spec": fields.ObjectField("RequestSpec"),
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "replaces": base.ColumnField(int, nullable_items=True),
        "candidates": base.ColumnField(list),
        "epoch": fields.IntegerField(),
        "position": fields.IntegerField(),
        "fresh": fields.BooleanField(default=False),
    }


@base.GanttObjectRegistry.register
class ClaimAnswers(base.GanttObject):
    """Answers of a claim verb, one element per claim: an Answer, its host, and the reason.

    ``allocations`` is as in Selections, for prepared claims, and so is the time of ``deadlines_ms``. ``partitions``
    has the partition of each answer that came from another partition than the called one. ``migrations`` has the
    migration of each live claim that is a source or destination. ``ends`` has the end of each attempt, "closed" or
    "unknown" if a later attempt is live.

    Version 1.0: Initial version
    """

    fields = {
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "answers": base.ColumnField(str),
        "hosts": base.ColumnField(str, nullable_items=True),
        "reasons": base.ColumnField(str),
        "deadlines_ms": base.ColumnField(int, nullable_items=True),
        "allocations": base.ColumnField(dict, nullable_items=True, default=[]),
        "partitions": base.ColumnField(str, nullable_items=True, default=[]),
        "migrations": base.ColumnField(str, nullable_items=True, default=[]),
        "ends": base.ColumnField(str, nullable_items=True, default=[]),
    }


@base.GanttObjectRegistry.register
class ClaimPage(base.GanttObject):
    """One page of live claims in the store; ``marker`` is None on the last page.

    Each element of ``claims`` is a mapping with: consumer, attempt, generation, type, project, user, state, host,
    allocations ({provider: {class: amount}}), unheld (amounts, in that form, that its agent reports and that the claim
    does not hold), deadline_ms, request_id, group_id, alternates, created_ms (both times by the clock of the store's
    server).

    Version 1.0: Initial version
    """

    fields = {
        "claims": base.ListField(dict),
        "marker": fields.StringField(nullable=True, default=None),
    }


@base.GanttObjectRegistry.register
class AuditReport(base.GanttObject):
    """All instances that run or will run on a service host, from its agent's journal.

    ``states`` has "confirmed" for a claim whose confirmation the agent received, "prepared" for a pending intent.
    ``allocations`` has {provider: {class: amount}} and ``owners`` {type, project, user, request_id, group_id,
    group_policy, group_max_per_host} of each, which the store needs to re-assert a claim that it lost, and {role,
    migration} of an end of a move.
    ``stamp`` is as in StatsReport.

    Version 1.0: Initial version
    """

    fields = {
        "host": fields.StringField(),
        "epoch": fields.IntegerField(),
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "states": base.ColumnField(str),
        "names": base.ColumnField(str),
        "allocations": base.ColumnField(dict),
        "owners": base.ColumnField(dict),
        "stamp": fields.StringField(nullable=True, default=None),
    }


@base.GanttObjectRegistry.register
class AuditAnswer(base.GanttObject):
    """Answer of the store to an audit.

    ``answers`` has one Answer per reported claim: "confirmed" and "prepared" claims are valid; "aborted", "expired",
    "released" and "fenced" mean that the claim has ended and the agent must stop its guest; "conflict" means that a
    later attempt is live; "unverified" that the guest runs on until a record names it. ``orphans`` counts the host's
    claims that the agent did not report and whose grace period has not ended: the agent audits again after ``again_s``
    seconds (0: not needed).

    ``stamp`` is as in StatsAnswer; None where the audit was for another epoch.

    Version 1.0: Initial version
    """

    fields = {
        "epoch": fields.IntegerField(),
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "answers": base.ColumnField(str),
        "reasserted": fields.IntegerField(default=0),
        "released": fields.IntegerField(default=0),
        "orphans": fields.IntegerField(default=0),
        "again_s": fields.FloatField(default=0.0),
        "stamp": fields.StringField(nullable=True, default=None),
    }


@base.GanttObjectRegistry.register
class VerifyReport(base.GanttObject):
    """Result of verify: ``problems`` are wrong sums, ``excess`` are providers over their capacity.

    ``awaited`` are service hosts that may run claims that the store lost, and have not audited since.

    Version 1.0: Initial version
    """

    fields = {
        "partition": fields.StringField(),
        "epoch": fields.IntegerField(),
        "position": fields.IntegerField(),
        "claims": fields.DictOfIntegersField(),
        "providers": fields.IntegerField(),
        "problems": base.ListField(str),
        "excess": base.ListField(dict),
        "awaited": base.ListField(str, default=[]),
    }

    @property
    def clean(self) -> bool:
        """Return whether all sums are right and no provider is over its capacity."""
        return not self.problems and not self.excess
