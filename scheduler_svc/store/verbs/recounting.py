# SPDX-License-Identifier: Apache-2.0
"""Repair of the sums by project, which versions that did not keep them made wrong; the script `tally` does the same."""

from scheduler_svc.store import tallies
from scheduler_svc.store.verbs.partition import PartitionState


def recount(partition: PartitionState) -> int:
    """Sum up all claims and return their number; the verb may have changed nothing before."""
    claims = partition.dump().claims
    counted = tallies.count(claims)
    partition.clear_tallies()
    partition.prefetch(tallies=counted.keys())
    partition.tallies.update(counted)
    partition.tallied = True
    return len(claims)
