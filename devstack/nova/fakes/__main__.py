# SPDX-License-Identifier: Apache-2.0
"""Serve the fakes on a port of this machine, each below its own path."""

import argparse
import http.server
import json
import urllib.parse
from collections.abc import Callable, Sequence

from devstack.nova.fakes.glance import FakeGlance
from devstack.nova.fakes.keystone import FakeKeystone
from devstack.nova.fakes.messages import NOT_FOUND, Reply, ServiceCall
from devstack.nova.fakes.neutron import FakeNeutron
from devstack.servers.ports import LOOPBACK

BACKLOG = 128

Answer = Callable[[ServiceCall], Reply]


class FakeServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = BACKLOG

    def __init__(self, port: int, services: dict[str, Answer]) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.services = services


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: FakeServer

    def _serve(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        service, _, path = url.path.lstrip("/").partition("/")
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.server.services.get(service)
        is_json = "json" in self.headers.get("Content-Type", "")
        call = ServiceCall(
            method=self.command,
            path=path,
            query=urllib.parse.parse_qs(url.query),
            headers=dict(self.headers.items()),
            body=json.loads(content) if content and is_json else None,
            base=f"http://{LOOPBACK}:{self.server.server_port}/{service}",
        )
        self._send(NOT_FOUND if answer is None else answer(call))

    def _send(self, reply: Reply) -> None:
        content = b"" if reply.document is None else json.dumps(reply.document).encode()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        if reply.status != http.HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _serve  # noqa: N815 - names of the base class


def services(port: int, *, compute: str, placement: str) -> dict[str, Answer]:
    """Return the services by path; ``compute`` and ``placement`` are URLs for Keystone's catalogue."""
    base = f"http://{LOOPBACK}:{port}"
    catalogue = {"compute": f"{compute}/v2.1", "placement": placement}
    catalogue |= {"identity": f"{base}/identity/v3", "image": f"{base}/image", "network": f"{base}/network"}
    return {
        "identity": FakeKeystone(catalogue).answer,
        "image": FakeGlance().answer,
        "network": FakeNeutron().answer,
    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m devstack.nova.fakes", description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--compute", required=True, help="URL of nova-api for the catalogue")
    parser.add_argument("--placement", required=True, help="URL of Placement for the catalogue")
    options = parser.parse_args(argv)
    fakes = services(options.port, compute=options.compute, placement=options.placement)
    FakeServer(options.port, fakes).serve_forever()


if __name__ == "__main__":
    main()
