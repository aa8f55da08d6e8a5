# SPDX-License-Identifier: Apache-2.0
"""Scrapes the metrics of a measured daemon, as Prometheus does."""

import contextlib
import threading
import urllib.request
from collections.abc import Iterator

from devstack.servers.ports import LOOPBACK

INTERVAL = 15.0  # seconds, as deployments usually scrape; devstack's Prometheus does so more often


@contextlib.contextmanager
def scraping(port: int) -> Iterator[None]:
    """Scrape the exporter on that loopback port for the duration of the block, at once and then each INTERVAL.

    Raises OSError if the exporter does not answer the first time.
    """
    stopping = threading.Event()

    def repeat() -> None:
        while not stopping.wait(INTERVAL):
            with contextlib.suppress(OSError):
                scrape(port)

    scrape(port)
    scraper = threading.Thread(target=repeat, name="scraping", daemon=True)
    scraper.start()
    try:
        yield
    finally:
        stopping.set()
        scraper.join()


def scrape(port: int) -> bytes:
    """Return the metrics."""
    with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/metrics", timeout=INTERVAL) as answer:
        metrics: bytes = answer.read()
    return metrics
