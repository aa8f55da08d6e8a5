# SPDX-License-Identifier: Apache-2.0
"""What a copy is written with."""

from collections.abc import Sequence
from typing import Protocol

from scheduler_svc.placement.migration.contents import ConsumerRecord, NameKind, ProviderRecord

Refusals = dict[str, str]  # why a record is not written, by UUID


class Writer(Protocol):
    """Writes records as they are, each whole or not at all. A refusal is returned as text.

    ``threads`` is by how many threads consumers may be written at the same time.
    """

    threads: int

    def put_name(self, kind: NameKind, name: str, changed_ms: int) -> None:
        """Create a custom name."""

    def delete_name(self, kind: NameKind, name: str) -> bool:
        """Delete a custom name, if an earlier copy created it and nothing has it; return whether it is deleted."""

    def put_providers(self, records: Sequence[ProviderRecord]) -> Refusals:
        """Make providers, or replace them; none is below another one of the same call."""

    def delete_provider(self, uuid: str) -> str | None:
        """Delete a provider, which nothing is below and nobody holds from."""

    def put_consumers(self, records: Sequence[ConsumerRecord]) -> Refusals:
        """Replace what consumers hold; those that hold nothing end."""
