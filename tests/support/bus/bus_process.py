# SPDX-License-Identifier: Apache-2.0
"""A bus server or client that tests can kill: `python -m tests.support.bus.bus_process '{"role": ..., ...}'`.

`executor` is eventlet or threading. A server prints "ready", then one line for each method that it begins; a client
prints "asking" and makes one call that is never answered. A process with a `poison` ends as it decodes a message with
that text.
"""

import json
import os
import sys
import threading
from typing import Any

POISONED = 9  # exit status


def say(line: str) -> None:
    print(line, flush=True)


def end_at(poison: str) -> None:
    """End this process, as if the kernel killed it, when it decodes JSON with a text; for modules imported later."""
    loads = json.loads

    def loads_or_end(text: str | bytes, *arguments: Any, **options: Any) -> Any:
        if poison in (text if isinstance(text, str) else bytes(text).decode(errors="replace")):
            os._exit(POISONED)
        return loads(text, *arguments, **options)

    json.loads = loads_or_end  # type: ignore[assignment]


def main() -> None:
    settings: dict[str, Any] = json.loads(sys.argv[1])
    if "poison" in settings:
        end_at(settings["poison"])

    from rpcapi.messaging import green  # noqa: PLC0415 - patch before all other imports

    green.patch_for(settings.get("executor", green.THREADING))
    import oslo_messaging  # noqa: PLC0415

    from rpcapi.messaging import bus  # noqa: PLC0415
    from tests.support.bus.bus_peer import Endpoint, private_conf  # noqa: PLC0415

    class PrintingEndpoint(Endpoint):
        @oslo_messaging.expose
        def note(self, ctxt: dict[str, Any], value: Any) -> None:
            say(f"note {value}")

        @oslo_messaging.expose
        def hold(self, ctxt: dict[str, Any]) -> str:
            say("hold")
            threading.Event().wait()
            return self.name

    conf = private_conf()
    bus.set_defaults(conf)
    for name, value in settings.get("options", {}).items():
        conf.set_override(name, value, group="gantt_bus")
    transport = bus.get_transport(conf, settings["url"])
    if settings["role"] == "server":
        target = oslo_messaging.Target(topic=settings["topic"], server=settings["name"])
        bus.get_server(transport, target, [PrintingEndpoint(settings["name"])]).start(settings.get("pool"))
        say("ready")
        threading.Event().wait()
    target = oslo_messaging.Target(topic=settings["topic"], version="1.0")
    say("asking")
    bus.get_client(transport, target, timeout=60).call({}, "hold")


if __name__ == "__main__":
    main()
