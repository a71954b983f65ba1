# SPDX-License-Identifier: MIT
"""From records to one frame: a row per record, then one value per cell, round and metric. Pure, but
for the cache. It imports base, scenario and result. It never compares two cells."""
