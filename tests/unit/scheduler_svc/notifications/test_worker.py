# SPDX-License-Identifier: Apache-2.0
"""A whole worker publishes what is reported and written to it."""

import queue

import oslo_messaging as messaging

from tests.unit.scheduler_svc.rack_worker import RackWorker


class Heard:
    """Notes what is published."""

    def __init__(self):
        self.events = queue.Queue()

    def info(self, ctxt, publisher_id, event_type, payload, metadata):
        self.events.put((event_type, payload))


def test_a_worker_publishes_where_that_is_enabled(tmp_path):
    schema = tmp_path / "rack.json"
    schema.write_text("{}")
    worker, heard = RackWorker(schema), Heard()
    worker.conf.set_override("enabled", True, group="host_state_notifications")
    transport = messaging.get_notification_transport(worker.conf, url="fake://")
    target = messaging.Target(topic="gantt_host_state")
    listener = messaging.get_notification_listener(transport, [target], [heard], executor="threading")
    listener.start()
    worker.service.start()
    try:
        worker.join("west", ["west/1"])
        worker.publish("west", watts_free=1)
        seen = [heard.events.get(timeout=20)]
        while seen[-1][0] != "host_state.state":
            seen.append(heard.events.get(timeout=20))
    finally:
        worker.service.stop()
        worker.service.wait()
        listener.stop()
        listener.wait()
    assert seen[0][0] == "host_state.resync"
    assert {"host_state.provider", "host_state.service"} <= {event for event, _payload in seen}
    assert seen[-1][1]["payload"] == {"rack": {"west": {"watts_free": 1}}}
