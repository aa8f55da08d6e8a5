# SPDX-License-Identifier: Apache-2.0
"""Records in which epoch clients of the Placement API began to store, so that operators learn of later losses.

An epoch begins where a store may have forgotten what it acknowledged. Agents audit what they run, but nobody audits
what the API's clients stored: until an operator acknowledges the epoch, something may be missing.
"""

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.store.interface import Store

NAMESPACE = "placement"
NEVER = 0
_ABSENT = names.api_provider("00000000-0000-0000-0000-000000000000")  # its generation is that of any new provider


def record_first(store: Store, partition: str, epoch: int) -> None:
    """Record the epoch in which the API is served first; a record that exists stays. Raises StoreUnavailable.

    Where the store has no record though it began a later epoch, the record may be among what it has forgotten.
    """
    if not store.find_state(NAMESPACE, partition)[0]:
        is_first_epoch = store.read_generations([_ABSENT])[_ABSENT] == 0
        try:
            store.put_state(NAMESPACE, partition, 0, {"acknowledged_epoch": epoch if is_first_epoch else NEVER})
        except errors.VersionConflict:
            return  # another process was first
