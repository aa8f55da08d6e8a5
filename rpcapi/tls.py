# SPDX-License-Identifier: Apache-2.0
"""TLS contexts, and explanations of failed handshakes."""

import ssl
from pathlib import Path

from rpcapi import errors

# Explanations of alerts, by the end of OpenSSL's name, whose beginning depends on the version.
_ALERTS = {
    "CERTIFICATE_REQUIRED": "the server requires a client certificate",
    "HANDSHAKE_FAILURE": "the server refused the handshake: it may require a client certificate",
    "UNKNOWN_CA": "the server does not trust the CA of the client certificate",
    "BAD_CERTIFICATE": "the server does not accept the client certificate",
    "CERTIFICATE_UNKNOWN": "the server does not accept the client certificate",
    "UNSUPPORTED_CERTIFICATE": "the server does not accept the client certificate for this purpose",
    "CERTIFICATE_EXPIRED": "the client certificate has expired",
    "CERTIFICATE_REVOKED": "the client certificate is revoked",
    "PROTOCOL_VERSION": "the server does not support this version of TLS",
}
_NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST"})


def client_context(
    subject: str,
    *,
    ca_file: str | None = None,
    ca_path: str | None = None,
    cert_file: str | None = None,
    key_file: str | None = None,
    password: str | None = None,
) -> ssl.SSLContext:
    """Return a context that verifies servers and their names, by default against the system's CAs."""
    if key_file and not cert_file:
        raise errors.BadConfiguration(why=f"{subject} has a client key file, but no client certificate")
    for path in filter(None, (ca_file, cert_file, key_file)):
        _check_readable(subject, path)
    context = ssl.create_default_context()
    if ca_file or ca_path:
        _load_authority(context, subject, ca_file, ca_path)
    if cert_file:
        _load_certificate(context, subject, "client", cert_file, key_file, password=password)
    return context


def server_context(
    subject: str, *, cert_file: str, key_file: str | None = None, client_ca_file: str | None = None
) -> ssl.SSLContext:
    """Return a server context, which requires client certificates if ``client_ca_file`` is given."""
    for path in filter(None, (cert_file, key_file, client_ca_file)):
        _check_readable(subject, path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    _load_certificate(context, subject, "server", cert_file, key_file)
    if client_ca_file:
        _load_authority(context, subject, client_ca_file, None)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def is_refusal(error: BaseException) -> bool:
    """Return whether one side rejected the other, so that a retry would fail in the same way."""
    return isinstance(error, ssl.SSLError) and _known_reason(error) is not None


def describe(error: BaseException, *, handshake: bool = False) -> str:
    """Explain a failed connection; ``handshake``: it uses TLS, and nothing was read yet."""
    text = str(error) or type(error).__name__
    if isinstance(error, ssl.SSLError) and (reason := _known_reason(error)):
        return f"TLS failed: {reason}"
    # With TLS 1.3 a server rejects a client after the client's part of the handshake, and its alert may be lost.
    if handshake and isinstance(error, ssl.SSLEOFError | ConnectionError):
        return f"the server closed the connection: it may require a client certificate that it trusts ({text})"
    return text


def _known_reason(error: ssl.SSLError) -> str | None:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of the server is not accepted: {error.verify_message.rstrip('.')}"
    reason = error.reason or ""
    if reason in _NOT_TLS:
        return "the server's port does not use TLS"
    _, is_alert, alert = reason.partition("_ALERT_")
    return _ALERTS.get(alert) if is_alert else None


def _load_authority(context: ssl.SSLContext, subject: str, ca_file: str | None, ca_path: str | None) -> None:
    try:
        context.load_verify_locations(ca_file or None, ca_path or None)
    except OSError as error:
        why = f"{subject}: {ca_file or ca_path} has no CA certificate: {_reason(error)}"
        raise errors.BadConfiguration(why=why) from error


def _load_certificate(
    context: ssl.SSLContext,
    subject: str,
    role: str,
    cert_file: str,
    key_file: str | None,
    *,
    password: str | None = None,
) -> None:
    try:
        # With None, OpenSSL would ask the terminal for a password.
        context.load_cert_chain(cert_file, key_file or None, password or "")
    except OSError as error:
        files = f"{cert_file} and {key_file}" if key_file else cert_file
        why = f"{subject}: {files} are not a {role} certificate and its key: {_reason(error)}"
        raise errors.BadConfiguration(why=why) from error


def _check_readable(subject: str, path: str) -> None:
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise errors.BadConfiguration(why=f"{subject}: {path} cannot be read: {error.strerror}") from error


def _reason(error: OSError) -> str:
    reason = getattr(error, "reason", None)
    return reason.replace("_", " ").lower() if reason else error.strerror or str(error)
