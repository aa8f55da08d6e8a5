# SPDX-License-Identifier: Apache-2.0
"""{verb: its implementation for Redis}; verbs that are not listed run in Python, see RedisPartition."""

from collections.abc import Callable, Mapping
from typing import Any

from scheduler_svc.store import verbs
from scheduler_svc.store.redis import (
    allocations,
    audit,
    claims,
    decisions,
    pinning,
    prepare,
    states,
)

SCRIPTED: Mapping[Callable[..., Any], Callable[..., Any]] = {
    verbs.allocating.allocate: allocations.allocate,
    verbs.allocating.list_holders: allocations.list_holders,
    verbs.allocating.read: allocations.read,
    verbs.allocating.usages: allocations.usages,
    verbs.audit.audit: audit.audit,
    verbs.collecting.begin_epoch_if_behind: states.begin_epoch_if_behind,
    verbs.decisions.find: decisions.find,
    verbs.decisions.page: decisions.page,
    verbs.decisions.record: decisions.record,
    verbs.ending.abort_all: claims.abort_all,
    verbs.ending.end_all: claims.end_all,
    verbs.ending.find_all: claims.find_all,
    verbs.pinning.group_home: pinning.group_home,
    verbs.pinning.leave_group: pinning.leave_group,
    verbs.pinning.pin: pinning.pin,
    verbs.prepare.prepare: prepare.prepare,
    verbs.providing.read_generations: states.read_generations,
    verbs.providing.retire: states.retire,
    verbs.queries.group_hosts: claims.group_hosts,
    verbs.queries.hosts_of: claims.hosts_of,
    verbs.queries.page: claims.page,
    verbs.queries.prepared: claims.prepared,
    verbs.queries.sources_of: claims.sources_of,
    verbs.states.beat: states.beat,
    verbs.states.delete_state: states.delete_state,
    verbs.states.get_state: states.get_state,
    verbs.states.list_state: states.list_state,
    verbs.states.note_clock: states.note_clock,
    verbs.states.put_state: states.put_state,
    verbs.states.settle_alive: states.settle_alive,
    verbs.states.update_stats: states.update_stats,
}
