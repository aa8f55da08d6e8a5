# SPDX-License-Identifier: Apache-2.0
"""No consumer or server group has live claims in two partitions, despite failures and repeated calls."""

import contextlib
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rpcapi import context, errors
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.partition_router import LINGER_S
from tests.support.scheduler.deployments import TTL_MS, PartitionedDeployment
from tests.support.scheduler.hosts import join, node, request
from tests.support.scheduler.replica_views import FILTER_POLICY

NAMES = ("a", "b", "c")
# Calls and their uuids: repeated until answered, as a conductor does.
CALLS = {"one": ["c1"], "two": ["c2"], "pair": ["c3", "c4"], "grouped": ["c5"], "grouped too": ["c6"]}
GROUP = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY)
partitions = st.sampled_from(NAMES)
PIN_MS = round(TTL_MS + 1000 * LINGER_S)


class DeploymentMachine(RuleBasedStateMachine):
    """Three small partitions and two workers; calls run while stores fail, recover, and lose answers."""

    def __init__(self):
        super().__init__()
        nodes = {name: {f"{name}{number}": node({"VCPU": 3}) for number in range(2)} for name in NAMES}
        self.deployment = PartitionedDeployment(2, **nodes)
        self.attempts = dict.fromkeys(CALLS, 1)
        self.sequence = 1

    @rule(call=st.sampled_from(sorted(CALLS)), worker=st.sampled_from((0, 1)), follow=st.booleans())
    def select(self, call, worker, follow):
        selected_worker = self.deployment.workers[worker]
        if follow:
            selected_worker.follow()
        scheduling_request = replace(request({"VCPU": 2}, group=GROUP if "grouped" in call else None), id=call)
        try:
            selected_worker.scheduler.select(
                FILTER_POLICY,
                SelectionCall(context.new("p", "u"), scheduling_request, CALLS[call], self.attempts[call]),
            )
        except errors.ClaimEnded as claim_ended:
            with contextlib.suppress(errors.StoreUnavailable):
                store = self.deployment.stores[claim_ended.kwargs["partition"]]
                store.abort([ClaimRef(consumer, self.attempts[call]) for consumer in CALLS[call]])
                self.attempts[call] += 1
        except (errors.NoValidHost, errors.ClaimError, errors.Unavailable):
            pass

    @rule(name=partitions, away=st.booleans())
    def take_away(self, name, away):
        self.deployment.take_away(name, away)

    @rule(name=partitions, verb=st.sampled_from(("prepare", "abort", "pin", "group_hosts")))
    def lose_an_answer(self, name, verb):
        self.deployment.stores[name].lost_answer = verb

    @rule(milliseconds=st.sampled_from((1, TTL_MS // 2, TTL_MS, PIN_MS)))
    def wait(self, milliseconds):
        self.deployment.wait(milliseconds)

    @rule(name=partitions, vcpus=st.integers(0, 12))
    def reshape(self, name, vcpus):
        store = self.deployment.stores[name]
        if not store.away:
            self.sequence += 1
            join(store, {f"{name}0": node({"VCPU": vcpus})}, sequence=self.sequence)

    @invariant()
    def no_consumer_is_in_two_partitions(self):
        partitions_by_call = self.deployment.live()
        assert all(len(partition_names) == 1 for partition_names in partitions_by_call.values()), partitions_by_call
        partition_names = {partition for call in ("c5", "c6") for partition in partitions_by_call.get(call, ())}
        assert len(partition_names) <= 1, partitions_by_call


DeploymentMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestDeployment = DeploymentMachine.TestCase
