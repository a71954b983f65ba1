# SPDX-License-Identifier: MIT
"""Many pairs of machines at once, from an Ansible inventory. Everything is a step: each host that
has a job starts one command, all at the same time.

    inventory  the pairs of an inventory
    driver     the process that runs one step after the other by ansible-runner, and takes all down
               when the runner ends
    jobs       the commands of hosts in a step
    fleet      a pair as a value of target=, what is known of its hosts, and batches of all pairs
"""
