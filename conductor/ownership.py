# SPDX-License-Identifier: Apache-2.0
"""Check that instances belong to the project for which a caller acts."""

from collections.abc import Iterable

from conductor.store.interface import ConductorStore
from conductor.store.records import InstanceRecord
from rpcapi import errors


def check_project(store: ConductorStore, records: Iterable[InstanceRecord], project: str | None, method: str) -> None:
    """Raise CallerRefused unless all instances belong to ``project``; None allows every instance.

    An instance whose request was purged is refused.
    """
    if project is None:
        return
    records = list(records)
    requests = store.requests(sorted({record.request for record in records}))
    for record in records:
        request = requests.get(record.request)
        if request is None or request.project != project:
            raise errors.CallerRefused(
                caller=f"a client of project {project!r}",
                service="conductor",
                method=method,
                why=f"instance {record.uuid} belongs to another project",
            )
