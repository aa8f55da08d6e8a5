# SPDX-License-Identifier: Apache-2.0
"""Quota usage of projects in the in-memory store; must count like lua/_usage.lua."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from conductor.admission import RECORDED, Admission
from conductor.store.records import InstanceRecord, digest_project, project_of
from rpcapi.resources.statuses import InstanceStatus

AmountsByRequest = Mapping[str, Mapping[str, int]]


def usage_of(project: str, records: Iterable[InstanceRecord], amounts: AmountsByRequest) -> Counter[str]:
    """Return the project's usage; ``amounts`` are {request: amounts per instance}."""
    usage: Counter[str] = Counter()
    for record in records:
        if project_of(record.request) == digest_project(project):
            usage[RECORDED] += 1
            usage.update(_counted(record, amounts))
    return +usage


def check_quota(
    project: str,
    limits: Mapping[str, int],
    updates: Sequence[InstanceRecord],
    recorded: Mapping[str, InstanceRecord],
    amounts: AmountsByRequest,
) -> None:
    """Raise QuotaExceeded if the updates add more than a limit of the project allows."""
    added: Counter[str] = Counter()
    for record in updates:
        old = recorded.get(record.uuid)
        is_written = old is not None and old.version == record.version
        if is_written and old is not None and project_of(old.request) == digest_project(project):
            added += _counted(record, amounts) - _counted(old, amounts)
    added_limits = {name: limit for name, limit in limits.items() if name in added}
    Admission(added, added_limits).check_quota(project, usage_of(project, recorded.values(), amounts), 1)


def _counted(record: InstanceRecord, amounts: AmountsByRequest) -> Counter[str]:
    own = amounts[record.request] if record.amounts is None else record.amounts
    return Counter(own if record.is_counted else {})


def waiting_by_project(records: Iterable[InstanceRecord]) -> Mapping[str, int]:
    return Counter(project_of(record.request) for record in records if record.status == InstanceStatus.SCHEDULING)
