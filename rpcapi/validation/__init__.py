# SPDX-License-Identifier: Apache-2.0
"""Validation of a request spec: one module for each part of it; rpcapi.validation.request combines them."""
