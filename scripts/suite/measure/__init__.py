# SPDX-License-Identifier: MIT
"""From words and a scenario to records: the plan, the schedule, the runner, what it resumes, its
progress.

It imports base, scenario, result, doctor and places. It never knows a figure: commands hand it the
rule by which it stops and the text that a record comes to.
"""
