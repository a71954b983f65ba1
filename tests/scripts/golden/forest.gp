name = 'bandwidth-forest'
width = 960
height = 1028
unit = 1
png_scale = 1
small_points = 9
head = 34
foot = 40
dark = 1
array headline[1] = ['bandwidth against write=nodelay (higher is better): verdicts']
array small_print[2] = ['shaded: A/A interval, at most 1.4%; diamond: geometric mean; hollow: no change is claimed; ~: undecided', 'paired ratios, 95 % interval, 7 rounds; place apart; congestion cubic; Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.0-test, hypervisor']
headline_text = 'bandwidth against write=nodelay (higher is better): verdicts'
title_lines = 1
signs_text = '---: 95 % interval; | |: A/A interval, at most 1.4%; #: geometric'."\n".'mean; ~: undecided'
signs_lines = 2
ratio_low = 6.11043e-06
ratio_high = 2964.58
ratio_steep = 1
label_x = 'ratio to write=nodelay'
lines = 37
widest = 28
intervals = 1
mark_columns = 11
value_columns = 32
