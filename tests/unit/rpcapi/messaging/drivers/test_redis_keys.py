# SPDX-License-Identifier: Apache-2.0
"""Redis keys of the bus."""

from rpcapi.messaging.drivers import redis_keys


def test_keys_of_different_things_differ() -> None:
    keys = [
        redis_keys.topic_queue("conductor", "gantt", "compute"),
        redis_keys.server_queue("conductor", "gantt", "compute", "h1"),
        redis_keys.fanout_members("gantt", "compute"),
        redis_keys.topic_queue("client", "gantt", "compute"),
        redis_keys.server_process("gantt", "compute", "h1"),
        redis_keys.inbox("conductor", "compute:p"),
        redis_keys.inbox("client", "compute:p"),
        redis_keys.received("compute"),
        redis_keys.received_index("compute"),
        redis_keys.dead_letters("compute"),
        redis_keys.receipt(redis_keys.topic_queue("conductor", "gantt", "compute"), "m1"),
        redis_keys.receipt(redis_keys.server_queue("conductor", "gantt", "compute", "h1"), "m1"),
        redis_keys.receipt(redis_keys.topic_queue("conductor", "gantt", "compute"), "m2"),
    ]
    assert len(set(keys)) == len(keys)


def test_keys_have_the_prefix_that_users_of_the_bus_may_access() -> None:
    queue = redis_keys.topic_queue("conductor", "gantt", "compute")
    assert queue == "gantt_bus:topic:conductor:gantt:compute"
    for key in (
        queue,
        redis_keys.inbox("client", "p"),
        redis_keys.fanout_members("e", "t"),
        redis_keys.receipt(queue, "m"),
    ):
        assert key.startswith("gantt_bus:")


def test_receipt_repeats_the_prefix_of_its_queue_not() -> None:
    assert redis_keys.receipt("gantt_bus:inbox:client:p", "m") == "gantt_bus:receipt:client:m::inbox:client:p"


def test_queues_and_inboxes_name_their_sender() -> None:
    queues = [
        redis_keys.topic_queue("client", "gantt", "compute"),
        redis_keys.server_queue("client", "gantt", "compute", "h1:conductor"),
        redis_keys.inbox("client", redis_keys.process("conductor", "p")),
    ]
    assert {redis_keys.sender_of(queue) for queue in queues} == {"client"}
    assert [redis_keys.is_inbox(queue) for queue in queues] == [False, False, True]
