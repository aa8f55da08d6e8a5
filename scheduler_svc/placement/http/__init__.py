# SPDX-License-Identifier: Apache-2.0
"""Placement's HTTP API: a WSGI application with one module per kind of resource."""
