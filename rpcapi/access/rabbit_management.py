# SPDX-License-Identifier: Apache-2.0
"""Client of RabbitMQ's management API that creates and deletes users as the broker's administrator."""

import base64
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from rpcapi import errors, tls
from rpcapi.access.broker_users import VHOST, RabbitUser

SECONDS = 10.0  # timeout of a request, except imports
# Arguments of tls.client_context by URL option. The options have oslo.messaging's names.
TLS_OPTIONS = {"ssl_ca_file": "ca_file", "ssl_cert_file": "cert_file", "ssl_key_file": "key_file"}


class BrokerAdministration:
    """Management API at ``https://NAME:PASSWORD@HOST:PORT/VHOST?OPTIONS``; the options name TLS files."""

    def __init__(self, url: str) -> None:
        """Raise ValueError for a malformed URL, BadConfiguration for an unusable file, without the password."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not (parts.hostname and parts.username and parts.password):
            raise ValueError("the URL of RabbitMQ's management API must be like https://NAME:PASSWORD@HOST:15671/VHOST")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        if not options.keys() <= TLS_OPTIONS.keys():
            # Do not quote the option: it may be the end of a password with an unescaped '?'.
            raise ValueError(f"the URL has an unknown option after its '?'; known: {', '.join(TLS_OPTIONS)}")
        files = {TLS_OPTIONS[name]: path for name, path in options.items()}
        # Ignore proxies of the environment: requests carry passwords.
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
        """Create a user or change its password; permissions, which let it connect, come last."""
        name = quote(user.name, safe="")
        self._request("PUT", f"users/{name}", {"password": password, "tags": ""})
        for topic_permission in user.topic_permissions():
            limits = {key: topic_permission[key] for key in ("exchange", "write", "read")}
            self._request("PUT", f"topic-permissions/{self._vhost}/{name}", limits)
        permission = {"configure": user.configure, "write": user.write, "read": user.read}
        self._request("PUT", f"permissions/{self._vhost}/{name}", permission)

    def revoke(self, name: str) -> bool:
        """Delete a user, which closes its connections; return whether it existed."""
        return self._request("DELETE", f"users/{quote(name, safe='')}")

    def import_definitions(self, document: str, seconds: float) -> None:
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
