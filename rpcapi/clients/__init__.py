# SPDX-License-Identifier: Apache-2.0
"""The services as their callers see them."""
