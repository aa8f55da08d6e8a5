# SPDX-License-Identifier: Apache-2.0
"""What the deciding core asks of a partition's store."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from scheduler_svc.store.records import Batch, BatchAnswer, Claim, Ended, Ref

CHUNK = 100  # instances that one claim script takes

Record = Callable[[str, Mapping[str, Any]], None]  # keeps the document of a decision, by request id


class Claimer(Protocol):
    """Makes what was decided hold, or says why it cannot."""

    def prepare(self, batch: Batch) -> BatchAnswer:
        """Claim for all intents, or none."""

    def abort(self, refs: Sequence[Ref]) -> list[Ended]:
        """End prepared claims."""

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Tell how many live claims of a server group each host holds."""


class Keeper(Claimer, Protocol):
    """A claimer that tells what it keeps, too."""

    def claims(self, *, consumer: str) -> tuple[list[Claim], str | None]:
        """Return what a consumer holds, and a marker that says nothing here."""
