# SPDX-License-Identifier: Apache-2.0
"""Tokens that Keystone refused, and those that it could not validate."""

import pytest
from keystoneauth1 import exceptions
from keystonemiddleware import auth_token
from webob.exc import HTTPServiceUnavailable

from scheduler_svc.placement.http.keystone import KeystoneTokens

UNAVAILABLE = [
    exceptions.ConnectFailure,
    exceptions.DiscoveryFailure,
    exceptions.EndpointNotFound,
    exceptions.RequestTimeout,
    auth_token.ServiceError,
]


@pytest.fixture
def fetch(monkeypatch):
    """Returns what becomes of a token where keystonemiddleware calls a function for it."""

    def fetch_token(ask):
        monkeypatch.setattr(auth_token.AuthProtocol, "fetch_token", lambda _self, _token: ask())
        return KeystoneTokens.__new__(KeystoneTokens).fetch_token("token")

    return fetch_token


@pytest.mark.parametrize("error", UNAVAILABLE)
@pytest.mark.parametrize("is_called_invalid", [True, False])
def test_keystone_that_is_away_is_no_refusal(fetch, error, is_called_invalid, caplog):
    def ask():
        try:
            raise error("away")
        except error:
            if is_called_invalid:
                raise auth_token.InvalidToken("Token authorization failed") from None
            raise

    with pytest.raises(HTTPServiceUnavailable) as raised:
        fetch(ask)
    assert raised.value.headers["retry-after"] == "1"
    assert f"Keystone cannot validate a token: {error.__name__}: " in caplog.text


def test_token_that_keystone_does_not_know_is_invalid(fetch):
    def ask():
        try:
            raise exceptions.NotFound("token")
        except exceptions.NotFound:
            raise auth_token.InvalidToken("Token authorization failed") from None

    with pytest.raises(auth_token.InvalidToken):
        fetch(ask)


def test_data_of_a_valid_token_are_returned(fetch):
    assert fetch(lambda: "data") == "data"
