# SPDX-License-Identifier: Apache-2.0
"""Interface of a copy's writers."""

from collections.abc import Sequence
from typing import Protocol

from scheduler_svc.placement.migration.dump import CustomNameKind
from scheduler_svc.store.allocations import ConsumerImport
from scheduler_svc.store.providers.changes import ImportProvider

Refusals = dict[str, str]  # {UUID of an unwritten record: reason}


class Writer(Protocol):
    """Writer of whole records that returns refusals as text; at most ``threads`` threads may write consumers."""

    threads: int

    def put_name(self, kind: CustomNameKind, name: str, changed_ms: int) -> None:
        """Create a custom name."""

    def delete_name(self, kind: CustomNameKind, name: str) -> bool:
        """Delete an unused custom name that an earlier copy created; return whether it is deleted."""

    def put_providers(self, records: Sequence[ImportProvider]) -> Refusals:
        """Create or replace providers; none of them is another's ancestor."""

    def delete_provider(self, uuid: str) -> str | None:
        """Delete a provider that has neither children nor allocations; return the refusal, if any."""

    def put_consumers(self, records: Sequence[ConsumerImport]) -> Refusals:
        """Replace the consumers' allocations, and end the consumers that get none."""
