# SPDX-License-Identifier: Apache-2.0
"""Record of the epoch that an operator acknowledged, to warn of later losses.

A new epoch begins when a store may have forgotten acknowledged writes. Agents audit their guests, but nobody audits the
writes of API clients: some may be missing until an operator acknowledges the epoch.
"""

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.store.interface import Store

NAMESPACE = "placement"
NEVER = 0
# Provider that never exists; its generation equals any new provider's.
_ABSENT = names.api_provider("00000000-0000-0000-0000-000000000000")


def record_first(store: Store, partition: str, epoch: int) -> None:
    """Record the epoch in which the API is first served: NEVER after the store's first. Raises StoreUnavailable."""
    if not store.find_state(NAMESPACE, partition)[0]:
        is_first_epoch = store.read_generations([_ABSENT])[_ABSENT] == 0
        try:
            store.put_state(NAMESPACE, partition, 0, {"acknowledged_epoch": epoch if is_first_epoch else NEVER})
        except errors.VersionConflict:
            return  # another process recorded it
