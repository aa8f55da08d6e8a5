# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas of request bodies and query strings, by noun and microversion.

Clients match validation errors, which quote the schemas, so patterns and limits are Placement's.
"""
