# SPDX-License-Identifier: Apache-2.0
"""Redis keys of the bus."""

from rpcapi.messaging.drivers import names


def test_keys_of_different_things_differ() -> None:
    keys = [
        names.topic_queue("conductor", "gantt", "compute"),
        names.server_queue("conductor", "gantt", "compute", "h1"),
        names.fanout_members("gantt", "compute"),
        names.topic_queue("client", "gantt", "compute"),
        names.server_process("gantt", "compute", "h1"),
        names.inbox("conductor", "compute:p"),
        names.inbox("client", "compute:p"),
        names.received("compute"),
        names.received_index("compute"),
        names.dead_letters("compute"),
        names.receipt(names.topic_queue("conductor", "gantt", "compute"), "m1"),
        names.receipt(names.server_queue("conductor", "gantt", "compute", "h1"), "m1"),
        names.receipt(names.topic_queue("conductor", "gantt", "compute"), "m2"),
    ]
    assert len(set(keys)) == len(keys)


def test_keys_have_the_prefix_that_users_of_the_bus_may_access() -> None:
    queue = names.topic_queue("conductor", "gantt", "compute")
    assert queue == "gantt_bus:topic:conductor:gantt:compute"
    for key in (queue, names.inbox("client", "p"), names.fanout_members("e", "t"), names.receipt(queue, "m")):
        assert key.startswith("gantt_bus:")


def test_receipt_repeats_the_prefix_of_its_queue_not() -> None:
    assert names.receipt("gantt_bus:inbox:client:p", "m") == "gantt_bus:receipt:client:m::inbox:client:p"


def test_queues_and_inboxes_name_their_sender() -> None:
    queues = [
        names.topic_queue("client", "gantt", "compute"),
        names.server_queue("client", "gantt", "compute", "h1:conductor"),
        names.inbox("client", names.process("conductor", "p")),
    ]
    assert {names.sender_of(queue) for queue in queues} == {"client"}
    assert [names.is_inbox(queue) for queue in queues] == [False, False, True]
