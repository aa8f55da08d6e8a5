# SPDX-License-Identifier: Apache-2.0
"""Host state notifications over a real broker: a worker publishes, an oslo.messaging listener receives."""

import queue
import time

import oslo_messaging as messaging
from oslo_config import cfg

from rpcapi.messaging import bus
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition.tasks import notification_publishers
from scheduler_svc.notifications.changes import LEASE_NAMESPACE
from scheduler_svc.store.factory import open_store
from tests.support.scheduler.hosts import join, node

DEADLINE = 60.0


class RecordingEndpoint:
    def __init__(self):
        self.events = queue.Queue()

    def info(self, ctxt, publisher_id, event_type, payload, metadata):
        self.events.put(payload)


def configuration(url):
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    scheduler_conf.register_opts(conf)
    bus.set_defaults(conf)
    for name, value in {"enabled": True, "transport_url": url, "kinds": ["state"], "lease": 2.0}.items():
        conf.set_override(name, value, group="host_state_notifications")
    return conf


def test_publisher_failover_loses_no_notification(rabbit_node, redis_server):
    partition = f"notify{time.time_ns()}"
    conf = configuration(rabbit_node.url())
    recorder = RecordingEndpoint()
    transport = messaging.get_notification_transport(conf, url=rabbit_node.url())
    target = messaging.Target(topic="gantt_host_state")
    listener = messaging.get_notification_listener(transport, [target], [recorder], executor="threading")
    listener.start()

    def open_partition(name):
        return open_store(redis_server.url(), name, namespaces=("rack", LEASE_NAMESPACE))

    store = open_partition(partition)
    store.check_identity()
    join(store, {"a/1": node()})
    (first,), (second,) = (notification_publishers(conf, [partition], open_partition) for _ in range(2))
    watts, version = [], 0
    first.start()
    second.start()
    _await(recorder, lambda payload: payload["kind"] == "resync")
    for number in range(20):
        version = store.put_state("rack", "a", version, {"watts": number})
        if number == 10:
            first.stop()
            first.wait()
    while 19 not in watts:
        payload = recorder.events.get(timeout=DEADLINE)
        if payload["kind"] == "state":
            watts.append(payload["payload"]["rack"]["a"]["watts"])
    second.stop()
    second.wait()
    listener.stop()
    listener.wait()
    store.close()
    assert sorted(set(watts)) == list(range(20))
    assert [number for at, number in enumerate(watts) if number not in watts[:at]] == list(range(20))


def _await(recorder, matches):
    while not matches(recorder.events.get(timeout=DEADLINE)):
        pass
