# SPDX-License-Identifier: Apache-2.0
"""TCP proxy on loopback that can stop forwarding without closing connections, like a lost network."""

import contextlib
import socket
import threading

from devstack.servers.ports import LOOPBACK

CHUNK = 65536


class TcpProxy:
    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener = socket.create_server((LOOPBACK, 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._is_open = threading.Event()
        self._is_open.set()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Stop forwarding; data that is sent meanwhile waits for ``mend``."""
        self._is_open.clear()

    def mend(self) -> None:
        self._is_open.set()

    def close_connections(self) -> int:
        with self._lock:
            sockets = list(self._sockets)
        for item in sockets:
            _shut(item)
        return len(sockets) // 2

    def close(self) -> None:
        _shut(self._listener)
        self._listener.close()
        self.close_connections()
        self._is_open.set()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        self._is_open.wait()
        try:
            server = socket.create_connection((LOOPBACK, self._target_port))
        except OSError:
            client.close()
            return
        with self._lock:
            self._sockets |= {client, server}
        threading.Thread(target=self._forward, args=(server, client), daemon=True).start()
        self._forward(client, server)

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                self._is_open.wait()
                target.sendall(data)
        _shut(target)
        with self._lock:
            self._sockets.discard(source)
        source.close()


def _shut(item: socket.socket) -> None:
    with contextlib.suppress(OSError):
        item.shutdown(socket.SHUT_RDWR)
