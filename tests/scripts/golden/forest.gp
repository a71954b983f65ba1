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
array small_print[2] = ['shaded: noise floor (A/A), at most 0.9%; diamond: geometric mean; filled: changed; hollow ~: undecided; -: unsupported', 'paired ratios, 95 % interval, 7 rounds; place apart; congestion cubic; Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.0-test, hypervisor']
headline_text = 'bandwidth against write=nodelay (higher is better): verdicts'
title_lines = 1
signs_text = '---: 95 % interval; | |: noise floor (A/A), at most 0.9%; #: geometric'."\n".'mean; ~: undecided; -: unsupported'
signs_lines = 2
label_x = 'bandwidth: ratio to write=nodelay'
label_rows = 1
label_x_text = 'bandwidth: ratio to write=nodelay'
heads = 5
bands = 23
ratios = 26
lines = 37
widest = 28
value_columns = 31
value_columns_text = 31
left = 8.33158e-05
right = 2186.61
logarithmic = 1
tics_x = 'set xtics ("0.001x" 0.001, "0.1x" 0.1, "10x" 10, "1000x" 1000)'
tics_text = 'set xtics ("0.001x" 0.001, "10x" 10)'
