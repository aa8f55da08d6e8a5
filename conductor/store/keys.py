# SPDX-License-Identifier: Apache-2.0
"""Key schema of the conductors' store; scripts refer to keys by these words.

All keys are ``gantt:{conductor}:<word>``; the hash tag keeps them in one slot of a Redis Cluster.
"""

PREFIX = "gantt:{conductor}:"

KEYS: dict[str, str] = {
    "meta": "hash: schema, sequence (last number of an instance or a write), run_id, replid, epoch, time, clock, "
    "turn (the one served last)",
    "requests": "hash request key -> document",
    "instances": "hash uuid -> header line and document, see documents.py",
    "listed": "zset uuid -> sequence, without the deleted",
    "everything": "zset uuid -> sequence",
    "pending": 'zset, all scores 0: "request|uuid" of each instance with a step to take',
    "left": "hash request key -> number of its instances that are still recorded",
    "due": "zset request key -> when it is due: time of its next step, or end of its lease; without new ones",
    "new": 'hash request that no conductor has taken yet -> "number since": of its new instances, time it is due since',
    "queues": 'zset, all scores 0: "part|time|request" of each request in due or new; the parts are those in the wakes',
    "wakes": "zset part of the queue with a project's requests that have begun -> when the first is due",
    "new_wakes": "zset part with a project's new requests, project* -> when the first is due",
    "turns": "zset project -> number of its next turn, while others wait",
    "leases": 'hash request key -> token of the lease holder, "random owner"',
    "woken": "set of requests that were woken while leased",
    "counts": "hash status -> number of instances",
    "amounts": "hash request key -> what each of its instances counts against quotas: name=amount ...",
    "own_amounts": "hash uuid of a resized instance -> what it counts instead: name=amount ...",
    "usage": "hash project -> what it uses: name=amount ..., by the digest of the project",
    "waiting": "hash project -> number of its instances that are SCHEDULING",
    "begun": "hash project, or 'all' -> number of its instances that are SCHEDULING or BUILDING, without new ones",
    "shares": "zset project with new requests -> number of its instances in begun",
    "acknowledged": "string, empty: rewritten before each wait for replicas",
    "stamps": "hash partition -> its newest stamp",
    "purge": "zset uuid of a deleted instance -> when it is purged",
    "migrations": "hash uuid -> header line and document, see documents.py",
    "listed_migrations": "zset uuid -> sequence",
    "ended_migrations": "zset uuid of an ended migration -> when it is purged",
}


def key(word: str) -> str:
    return PREFIX + word


ALL = tuple(key(word) for word in KEYS)
