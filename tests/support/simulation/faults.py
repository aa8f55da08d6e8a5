# SPDX-License-Identifier: Apache-2.0
"""The faults of the machine of moves, whose hits are counted by saga step."""

from enum import StrEnum

from conductor.store.records import SagaStep

STEPS = tuple(step for step in SagaStep if step != SagaStep.DONE)


class Fault(StrEnum):
    """A fault, counted when it strikes: a kill switch that is never reached, for example, is no hit."""

    CONDUCTOR_CRASH = "conductor crash"
    AGENT_CRASH = "agent crash"
    AGENT_RESTART = "agent restart"  # of a running agent, or after its crash or loss of power
    SUSPENSION = "agent suspension"
    SUSPENDED_FENCE = "fence of a suspended host"
    POWER_LOSS = "power loss"
    FENCE = "power loss and fence"
    NAMESAKE = "namesake"
    LOST_MESSAGE = "lost message"
    LATE_MESSAGE = "late message"
    REPEATED_MESSAGE = "repeated message"  # or a late one that arrives
    REORDERED_MESSAGE = "reordered message"
    LOST_REPORT = "lost report"
    LOST_ANSWER = "lost answer"
    FAILURE = "failure of a host"  # a refused build, a guest that does not start, a copy that fails
    REPEATED_REQUEST = "repeated request"
    TIMER = "timer of the step"  # it was due before an answer came
    CLAIMS_EPOCH = "epoch of the claims"
    LOST_CLAIMS = "loss of claims"  # the partition's store is an earlier one
    LOST_RECORDS = "loss of records"  # the conductors' store is an earlier one
