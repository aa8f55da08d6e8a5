# SPDX-License-Identifier: Apache-2.0
"""What is known of hosts: their reports, and the documents about them."""
