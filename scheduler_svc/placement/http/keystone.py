# SPDX-License-Identifier: Apache-2.0
"""Middleware that validates tokens with Keystone."""

from typing import Any

from keystoneauth1 import exceptions as failures
from keystonemiddleware import auth_token
from oslo_log import log
from webob.exc import HTTPServiceUnavailable

from scheduler_svc.placement.http.application import RETRY_SECONDS

LOG = log.getLogger(__name__)

# Errors that mean: Keystone does not answer, or its catalog does not locate it.
_UNAVAILABLE = (
    failures.ConnectFailure,
    failures.DiscoveryFailure,
    failures.EndpointNotFound,
    failures.RequestTimeout,
    auth_token.ServiceError,
)


class KeystoneTokens(auth_token.AuthProtocol):
    """Keystone middleware that answers 503 while Keystone is unreachable; the stock one calls the token invalid."""

    def fetch_token(self, token: str, **options: Any) -> Any:
        try:
            return super().fetch_token(token, **options)
        except auth_token.InvalidToken as error:
            if isinstance(error.__context__, _UNAVAILABLE):
                raise _unavailable(error.__context__) from error
            raise
        except _UNAVAILABLE as error:
            raise _unavailable(error) from error


def _unavailable(error: BaseException) -> HTTPServiceUnavailable:
    LOG.warning("Keystone cannot validate a token: %s: %s", type(error).__name__, error)
    return HTTPServiceUnavailable(headers=[("Retry-After", str(RETRY_SECONDS))])
