# SPDX-License-Identifier: Apache-2.0
"""Certificates of an authority, and of another one that nobody trusts, for servers and clients of the tests."""

from pathlib import Path

import trustme

from devstack.servers.ports import LOOPBACK

SERVER_NAME = "localhost"  # which the certificate of the server is valid for, and not for its address


def write_certificates(folder: Path) -> Path:
    """Write PEM files into a folder, and return it.

    ``ca.pem`` is the authority of ``server``, ``node`` (valid for the loopback address) and ``client``,
    ``other-ca.pem`` that of ``stranger``; each of them has a ``.pem`` file with its certificate and a ``.key`` file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    authority, other = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    other.cert_pem.write_to_path(str(folder / "other-ca.pem"))
    for name, issuer, identity in (
        ("server", authority, SERVER_NAME),
        ("node", authority, LOOPBACK),
        ("client", authority, "client.example.org"),
        ("stranger", other, "client.example.org"),
    ):
        leaf = issuer.issue_cert(identity)
        leaf.private_key_pem.write_to_path(str(folder / f"{name}.key"))
        for pem in leaf.cert_chain_pems:
            pem.write_to_path(str(folder / f"{name}.pem"), append=True)
    return folder
