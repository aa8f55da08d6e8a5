# SPDX-License-Identifier: Apache-2.0
"""The key schema, written once. One hash tag: all of it lies in one slot of a Redis Cluster."""

PREFIX = "gantt:{conductor}:"

META = PREFIX + "meta"  # hash: sequence and lease, the last numbers given
REQUESTS = PREFIX + "requests"  # hash: request key -> its document
INSTANCES = PREFIX + "instances"  # hash: uuid -> header line and document, see documents.py
LISTED = PREFIX + "listed"  # zset: uuid by sequence, without the deleted
EVERYTHING = PREFIX + "everything"  # zset: uuid by sequence
PENDING = PREFIX + "pending"  # zset, all of score 0: "request|uuid" of each instance with a step to take
LEFT = PREFIX + "left"  # hash: request key -> how many of its instances are still recorded
DUE = PREFIX + "due"  # zset: request key -> when it may be taken: its next step, or the end of its lease
LEASES = PREFIX + "leases"  # hash: request key -> the token of its holder, "number owner"
WOKEN = PREFIX + "woken"  # set: requests that were made due while somebody held them
COUNTS = PREFIX + "counts"  # hash: status -> instances in it
PURGE = PREFIX + "purge"  # zset: uuid of a deleted instance -> when it is forgotten

ALL = (
    META,
    REQUESTS,
    INSTANCES,
    LISTED,
    EVERYTHING,
    PENDING,
    LEFT,
    DUE,
    LEASES,
    WOKEN,
    COUNTS,
    PURGE,
)
