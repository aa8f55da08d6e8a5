# SPDX-License-Identifier: Apache-2.0
"""Model of the protocol of claims, records, journals and messages: explored within bounds, and replayed on the code."""
