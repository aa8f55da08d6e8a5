# SPDX-License-Identifier: Apache-2.0
"""The message bus: transports, drivers and threads."""
