# SPDX-License-Identifier: Apache-2.0
"""Key schema: {word that scripts use for a key: the key's type and contents}.

Keys of partition P are ``gantt:{p:P}:<word>``; the hash tag keeps them in one cluster slot.

A "time" is partition time in ms. Each script advances it (``time`` in ``meta``) by the step of the server's clock,
clamped to 0...[store] max_clock_step. Partition time may differ from every clock, so only the store may compare it.
``created_ms`` of claims and ``at_ms`` of decisions are times of the server's clock, for display only.
"""

KEYS: dict[str, str] = {
    "meta": "hash: schema, epoch, position, run_id, replid, time, clock (the server's, at that time), decision_bytes, "
    "generation_base (position at which the epoch began, 0 in the first one), "
    "vocabulary (position of the last change of any provider's traits or inventories)",
    "claims": "hash consumer -> live claim, JSON; or 'unverified CONSUMER ATTEMPT HOST' -> unverified claim",
    "ended": "hash consumer -> ends of attempts, JSON {attempt: state}; "
    "or 'fence HOST TOKEN' -> JSON {number of claims it ended: fenced, or 'fencing EPOCH' until the last step}",
    "ended_at": "zset consumer -> time of its last end",
    "sources": "hash consumer -> migration that holds the source of its move",
    "deadlines": "zset consumer -> time; prepared claims, except those parked until their host audits",
    "unverified": "hash consumer -> number of its unverified claims",
    "by_host": "zset, all scores 0: host|consumer of live claims, in byte order",
    "holders": "zset, all scores 0: provider|claim of live claims, for all providers but their host, in byte order",
    "tallies": "hash PROJECT,USER,TYPE,CLASS, JSON strings -> sum of what verified claims hold, never 0; with an empty "
    "CLASS the number of claims",
    "tallied": "zset, all scores 0: the fields of tallies, in byte order",
    "groups": "hash group -> live claims by host, JSON {host: n}",
    "providers": "hash provider -> document, JSON",
    "capacity": "hash provider -> JSON {class: capacity, or [capacity, min_unit, max_unit, step_size]}",
    "used": "hash provider -> sums of live claims, JSON {class: sum}",
    "changed": "hash provider -> position of the last change of its sums or inventories",
    "eligible": "hash provider, or service host for all its nodes -> position of the last change of its eligibility",
    "built": "hash node -> number of instances that its last report counts as built",
    "generations": "hash provider -> increments of its generation in this epoch",
    "provider_names": "hash name of a provider that the Placement API made -> its id",
    "api_changed": "hash service host -> position of the last change that the Placement API made in its trees",
    "children": "zset, all scores 0: provider|provider of the Placement API directly below it, in byte order",
    "opened": "hash service host -> epoch in which it was last audited; negative: epoch in which it was fenced since",
    "awaited": "set of service hosts that may run forgotten claims, until audit or fence; see _unnamed.lua",
    "reports": "hash service host -> its last applied report, JSON",
    "services": "hash service -> document, JSON",
    "beats": "zset service -> time of its last heartbeat",
    "alive": "hash service -> 1 or 0",
    "clock_offsets": "hash service -> 'MS TIME': how far its clock was ahead, shown until a heartbeat after that time",
    "excess": "hash provider|class -> time since when it is flagged as over capacity",
    "state": "hash name -> document {schema, version, state}, JSON; ends in ':' and a declared namespace",
    "pins": "hash key of a request -> its partition; group:<id> -> its partition, generation; "
    "left:<id> -> generation, and 'returned' if the group has since",
    "pins_at": "zset key -> time at which the pin expires",
    "log": "stream, ids position-0: schema, kind, body as JSON",
    "decisions": "stream, bounded by its bytes: request_id, document as JSON, project",
    "acknowledged": "string, empty: rewritten before each wait for replicas",
    "decided": "hash request id, and request id, NUL, project -> id of its newest entry in decisions",
}


def state_word(namespace: str) -> str:
    return f"state:{namespace}"


def prefix(partition: str) -> str:
    return f"gantt:{{p:{partition}}}:"
