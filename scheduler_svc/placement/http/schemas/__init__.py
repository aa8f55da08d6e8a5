# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas of request bodies and query strings, by noun and microversion.

Clients match the text of validation errors, which quotes the schemas: their patterns and bounds are Placement's.
"""
