# SPDX-License-Identifier: Apache-2.0
"""Claims on the bus: who claims what where, and what the store answered."""

from typing import Any

from oslo_versionedobjects import fields

from rpcapi import errors
from rpcapi.model.claims import Answer
from rpcapi.objects import base, versions

_ERRORS: dict[str, type[errors.ClaimError]] = {
    Answer.UNKNOWN: errors.ClaimUnknown,
    Answer.FOREIGN: errors.ClaimForeign,
    Answer.EXPIRED: errors.ClaimExpired,
    Answer.ABORTED: errors.ClaimEnded,
    Answer.RELEASED: errors.ClaimEnded,
    Answer.ENDED: errors.ClaimEnded,
    Answer.CONFLICT: errors.ClaimConflict,
    Answer.CONFIRMED: errors.ClaimConflict,
    Answer.CLOSED: errors.ClaimClosed,
}


@base.GanttObjectRegistry.register
class ClaimRefs(base.GanttObject):
    """Which claims are meant: a claim's identity is (consumer, attempt).

    Version 1.0: Initial version
    """

    VERSION = "1.0"
    COLUMNS = ("consumers", "attempts")

    fields = {
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
    }

    def pairs(self) -> list[tuple[str, int]]:
        """Return the identities in order."""
        return list(zip(self.consumers, self.attempts, strict=True))


@base.GanttObjectRegistry.register
class ClaimIntents(base.GanttObject):
    """What prepare_claims is asked: for each consumer the hosts to try, best first.

    ``replaces`` is the attempt that the new one takes the place of (None: none): it is ended in the same verb,
    and where it was confirmed already nothing happens. All consumers are served, or none.

    Version 1.0: Initial version
    """

    VERSION = "1.0"
    COLUMNS = ("consumers", "attempts", "replaces", "candidates")

    fields = {
        "spec": fields.ObjectField("RequestSpec"),
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "replaces": base.ColumnField(int, nullable_items=True),
        "candidates": base.ColumnField(list),
        "epoch": fields.IntegerField(),
        "position": fields.IntegerField(),
    }


@base.GanttObjectRegistry.register
class ClaimAnswers(base.GanttObject):
    """What a claim verb answered, one element a claim: an Answer, its host, and a sentence why.

    ``allocations`` is as in Selections, for what was prepared.

    Version 1.0: Initial version
    Version 1.1: Add allocations
    """

    VERSION = "1.1"
    COLUMNS = ("consumers", "attempts", "answers", "hosts", "reasons", "deadlines_ms")
    SPARSE = ("allocations",)

    fields = {
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "answers": base.ColumnField(str),
        "hosts": base.ColumnField(str, nullable_items=True),
        "reasons": base.ColumnField(str),
        "deadlines_ms": base.ColumnField(int, nullable_items=True),
        "allocations": base.ColumnField(dict, nullable_items=True, default=[]),
    }

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        versions.drop_later(primitive, target_version, {"allocations": (1, 1)})

    def raise_unless(self, *wanted: Answer) -> None:
        """Raise the typed ClaimError of the first answer that is not among ``wanted``."""
        rows = zip(self.consumers, self.attempts, self.answers, self.reasons, self.hosts, strict=True)
        for consumer, attempt, answer, why, host in rows:
            if answer not in wanted:
                kind = _ERRORS.get(answer, errors.ClaimError)
                raise kind(consumer=consumer, attempt=attempt, why=why or answer, host=host)


@base.GanttObjectRegistry.register
class ClaimPage(base.GanttObject):
    """One page of live claims, as the store holds them; ``marker`` is None on the last page.

    Each element of ``claims`` is a mapping with: consumer, attempt, generation, type, project, user, state, host,
    allocations ({provider: {class: amount}}), deadline_ms, request_id, group_id, alternates, created_ms.

    Version 1.0: Initial version
    """

    VERSION = "1.0"

    fields = {
        "claims": base.ColumnField(dict),
        "marker": fields.StringField(nullable=True, default=None),
    }


@base.GanttObjectRegistry.register
class AuditReport(base.GanttObject):
    """All that runs, or is about to run, on a service host by its agent's journal.

    ``states`` holds "confirmed" for what was confirmed to the agent, "prepared" for an intent still waiting.
    ``allocations`` holds {provider: {class: amount}} and ``owners`` {type, project, user, request_id, group_id,
    group_policy, group_max_per_host} of each, which is what the store needs to re-assert a claim it lost.

    Version 1.0: Initial version
    """

    VERSION = "1.0"
    COLUMNS = ("consumers", "attempts", "states", "names", "allocations", "owners")

    fields = {
        "host": fields.StringField(),
        "epoch": fields.IntegerField(),
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "states": base.ColumnField(str),
        "names": base.ColumnField(str),
        "allocations": base.ColumnField(dict),
        "owners": base.ColumnField(dict),
    }


@base.GanttObjectRegistry.register
class AuditAnswer(base.GanttObject):
    """What the store made of an audit.

    ``answers`` has one Answer a reported claim: "confirmed" and "prepared" stand; "aborted", "expired" and
    "released" mean that the claim has ended and the agent must stop what runs under it; "conflict" means that the
    consumer holds a live claim elsewhere. ``orphans`` counts the host's claims that the agent did not report and
    whose grace still runs: the agent audits again after ``again_s`` seconds (0: no need).

    Version 1.0: Initial version
    """

    VERSION = "1.0"
    COLUMNS = ("consumers", "attempts", "answers")

    fields = {
        "epoch": fields.IntegerField(),
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "answers": base.ColumnField(str),
        "reasserted": fields.IntegerField(default=0),
        "released": fields.IntegerField(default=0),
        "orphans": fields.IntegerField(default=0),
        "again_s": fields.FloatField(default=0.0),
    }


@base.GanttObjectRegistry.register
class VerifyReport(base.GanttObject):
    """What verify found: ``problems`` are broken sums, ``excess`` are providers flagged as over capacity.

    ``awaited`` are service hosts that may run claims which the store forgot, and have not audited since.

    Version 1.0: Initial version
    Version 1.1: Add awaited
    """

    VERSION = "1.1"

    fields = {
        "partition": fields.StringField(),
        "epoch": fields.IntegerField(),
        "position": fields.IntegerField(),
        "claims": fields.DictOfIntegersField(),
        "providers": fields.IntegerField(),
        "problems": base.ColumnField(str),
        "excess": base.ColumnField(dict),
        "awaited": base.ColumnField(str, default=[]),
    }

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        versions.drop_later(primitive, target_version, {"awaited": (1, 1)})

    @property
    def clean(self) -> bool:
        """Whether every sum is right and nothing is overcommitted."""
        return not self.problems and not self.excess
