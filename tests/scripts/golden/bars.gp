name = 'time_per_message-bars'
headline = 'time per message, us (lower is better): nodelay'
note = 'median of 7 rounds, 95 % interval; place together, apart; congestion cubic; Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.0-test, hypervisor'
signs = '~: undecided'
headline_text = 'time per message, us (lower is better): nodelay'
title_lines = 1
signs_text = '[ ]: 95 % interval; ~: undecided'
signs_lines = 1
panels = 2
array bars[2] = [6, 6]
array heads[2] = ['place=together', 'place=apart']
array tops[2] = [56.7944, 164.387]
label = 'time per message, us, and the ratio to nodelay; each panel with its own scale'
widest = 8
height = 552
