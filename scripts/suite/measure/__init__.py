# SPDX-License-Identifier: MIT
"""From words and a scenario to records: plan, schedule, runner, resumption, progress.

It imports base, scenario, result, doctor and places. It never computes a figure: commands give it
the rule of until=.
"""
