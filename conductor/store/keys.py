# SPDX-License-Identifier: Apache-2.0
"""The Redis key schema. All keys share one hash tag, so that they lie in one slot of a Redis Cluster."""

PREFIX = "gantt:{conductor}:"

META = PREFIX + "meta"  # hash: sequence and lease, the last numbers assigned
REQUESTS = PREFIX + "requests"  # hash: request key -> document
INSTANCES = PREFIX + "instances"  # hash: uuid -> header line and document, see documents.py
LISTED = PREFIX + "listed"  # zset: uuid by sequence, without the deleted
EVERYTHING = PREFIX + "everything"  # zset: uuid by sequence
PENDING = PREFIX + "pending"  # zset, all of score 0: "request|uuid" of each instance with a step to take
REMAINING = PREFIX + "left"  # hash: request key -> number of its instances that are still recorded
DUE = PREFIX + "due"  # zset: request key -> when it is due: time of its next step, or end of its lease
LEASES = PREFIX + "leases"  # hash: request key -> token of the lease holder, "number owner"
WOKEN = PREFIX + "woken"  # set: requests that were woken while leased
COUNTS = PREFIX + "counts"  # hash: status -> number of instances
PURGE = PREFIX + "purge"  # zset: uuid of a deleted instance -> when it is purged

ALL = (
    META,
    REQUESTS,
    INSTANCES,
    LISTED,
    EVERYTHING,
    PENDING,
    REMAINING,
    DUE,
    LEASES,
    WOKEN,
    COUNTS,
    PURGE,
)
