# SPDX-License-Identifier: MIT
"""Many pairs of machines at once, by an Ansible inventory: what one does in a step, all do at the
same time.

    inventory  which hosts work together
    driver     ansible-runner, a process that does one step after the other, and takes all down when
               we are gone
    jobs       what a host is told in a step
    fleet      the pairs: what is known of their hosts, and what a step means for them
"""
