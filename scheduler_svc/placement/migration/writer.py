# SPDX-License-Identifier: Apache-2.0
"""Writer interface of a copy."""

from collections.abc import Sequence
from typing import Protocol

from scheduler_svc.placement.migration.dump import CustomNameKind
from scheduler_svc.store.allocations import ConsumerImport
from scheduler_svc.store.providers.changes import ImportProvider

Refusals = dict[str, str]  # reasons by UUID of the unwritten record


class Writer(Protocol):
    """Writer of whole records that returns refusals as text; at most ``threads`` threads write consumers."""

    threads: int

    def put_name(self, kind: CustomNameKind, name: str, changed_ms: int) -> None:
        """Create a custom name."""

    def delete_name(self, kind: CustomNameKind, name: str) -> bool:
        """Delete an unused custom name if an earlier copy created it; return whether it is deleted."""

    def put_providers(self, records: Sequence[ImportProvider]) -> Refusals:
        """Create or replace providers, none of which is an ancestor of another."""

    def delete_provider(self, uuid: str) -> str | None:
        """Delete a provider without children and allocations; return the refusal, if any."""

    def put_consumers(self, records: Sequence[ConsumerImport]) -> Refusals:
        """Replace consumers' allocations; consumers without allocations end."""
