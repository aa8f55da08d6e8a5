# SPDX-License-Identifier: Apache-2.0
"""Enrols and revokes users through RabbitMQ's management API, as the broker's administrator."""

import base64
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from rpcapi import errors, tls
from rpcapi.access.rabbit_users import VHOST, RabbitUser

SECONDS = 10.0  # time-out of requests other than imports
# URL options, with oslo.messaging's names, and their TLS files.
TLS_OPTIONS = {"ssl_ca_file": "ca_file", "ssl_cert_file": "cert_file", "ssl_key_file": "key_file"}


class BrokerAdministration:
    """The management API at ``https://NAME:PASSWORD@HOST:PORT/VHOST?OPTIONS``; all calls may be repeated.

    ``https`` verifies the broker, by the authority in ``ssl_ca_file`` if given; ``ssl_cert_file`` and ``ssl_key_file``
    are a client certificate.
    """

    def __init__(self, url: str) -> None:
        """Raise ValueError for a malformed URL, and BadConfiguration for an unusable file; neither has the password."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not (parts.hostname and parts.username and parts.password):
            raise ValueError("the URL of RabbitMQ's management API must be like https://NAME:PASSWORD@HOST:15671/VHOST")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        if not options.keys() <= TLS_OPTIONS.keys():
            # Do not show the option: after a '?' not written as %3F it is part of the password.
            raise ValueError(f"the URL has an unknown option after its '?'; known: {', '.join(TLS_OPTIONS)}")
        files = {TLS_OPTIONS[name]: path for name, path in options.items()}
        # Do not send passwords through a proxy of the environment.
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        if parts.scheme == "https":
            context = tls.client_context("the URL of RabbitMQ's management API", **files)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        elif files:
            raise ValueError("TLS files in the URL need https://")
        self._opener = urllib.request.build_opener(*handlers)
        self._vhost = quote(unquote(parts.path.lstrip("/")) or VHOST, safe="")
        self._base = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/api"
        credentials = f"{unquote(parts.username)}:{unquote(parts.password)}"
        self._authorization = "Basic " + base64.b64encode(credentials.encode()).decode()

    def enroll(self, user: RabbitUser, password: str) -> None:
        """Create a user or set its password, then its permissions; raises Unavailable.

        Limits of routing keys come first: without permissions a user cannot enter a virtual host.
        """
        name = quote(user.name, safe="")
        self._request("PUT", f"users/{name}", {"password": password, "tags": ""})
        for topic_permission in user.topic_permissions():
            limits = {key: topic_permission[key] for key in ("exchange", "write", "read")}
            self._request("PUT", f"topic-permissions/{self._vhost}/{name}", limits)
        permission = {"configure": user.configure, "write": user.write, "read": user.read}
        self._request("PUT", f"permissions/{self._vhost}/{name}", permission)

    def revoke(self, name: str) -> bool:
        """Delete a user, whose connections the broker then closes; return whether it existed; raises Unavailable."""
        return self._request("DELETE", f"users/{quote(name, safe='')}")

    def import_definitions(self, document: str, seconds: float) -> None:
        """Create all objects of a definitions file (JSON) within ``seconds``; raises Unavailable."""
        self._request("POST", "definitions", json.loads(document), seconds)

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None = None, seconds: float = SECONDS) -> bool:
        request = urllib.request.Request(  # noqa: S310 - the scheme is checked above
            f"{self._base}/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": self._authorization, "Content-Type": "application/json"},
        )
        try:
            self._opener.open(request, timeout=seconds).close()
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404 and method == "DELETE":
                    return False
                why = f"it answered {error.code} {error.reason}"
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None)
            cause = reason if isinstance(reason, OSError) else error
            why = tls.describe(cause, handshake=self._base.startswith("https"))
        else:
            return True
        raise errors.Unavailable(what=f"RabbitMQ's management API at {self._base}/{path}", why=why)
