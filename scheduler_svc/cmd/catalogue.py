# SPDX-License-Identifier: Apache-2.0
"""``gantt-placement catalogue``: prints the openstack commands that add the API to Keystone's catalogue."""

import argparse
import shlex
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

COMMAND = "catalogue"
SERVICE = "placement"


def main(argv: Sequence[str]) -> int:
    """Print the commands and return 0. Exits with status 2 on invalid arguments."""
    options = parser().parse_args(argv)
    urls = {
        "public": options.url,
        "internal": options.internal_url or options.url,
        "admin": options.admin_url or options.internal_url or options.url,
    }
    print("\n".join(commands(urls, options.region)))
    return 0


def commands(urls: Mapping[str, str], region: str) -> Iterator[str]:
    yield shlex.join(
        ["openstack", "service", "create", "--name", SERVICE, "--description", "Placement API of gantt", SERVICE]
    )
    for interface, url in urls.items():
        yield shlex.join(["openstack", "endpoint", "create", "--region", region, SERVICE, interface, url])


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog=f"gantt-placement {COMMAND}",
        description="Print the openstack commands that add the API to Keystone's catalogue. Run them once, as an "
        "administrator; if the service exists, run only those for endpoints.",
    )
    result.add_argument(
        "url", type=_url, help="URL of the public endpoint, such as https://cloud.example.org/placement"
    )
    result.add_argument("--internal-url", type=_url, help="URL of the internal endpoint (default: the public one)")
    result.add_argument("--admin-url", type=_url, help="URL of the admin endpoint (default: the internal one)")
    result.add_argument("--region", default="RegionOne", help="region of the endpoints (RegionOne)")
    return result


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise argparse.ArgumentTypeError(f"{text!r} is not an http or https URL with a host")
    return text.rstrip("/")
