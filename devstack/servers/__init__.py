# SPDX-License-Identifier: Apache-2.0
"""Private Redis and RabbitMQ nodes in a run folder, for the development stack and for the tests."""
