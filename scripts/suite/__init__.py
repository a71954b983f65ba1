# SPDX-License-Identifier: MIT
"""uncork's suite: plans runs, stores their records and turns records into answers."""
