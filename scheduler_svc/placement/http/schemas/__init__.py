# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas of request bodies and query strings, by kind of resource and microversion.

Patterns and limits are Placement's, because clients match validation errors, which quote the schemas.
"""
