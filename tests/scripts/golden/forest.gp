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
array small_print[2] = ['shaded: A/A interval, at most 1.4%; diamond: geometric mean; filled: changed; hollow ~: undecided; -: unsupported', 'paired ratios, 95 % interval, 7 rounds; place apart; congestion cubic; Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.0-test, hypervisor']
headline_text = 'bandwidth against write=nodelay (higher is better): verdicts'
title_lines = 1
signs_text = '---: 95 % interval; | |: A/A interval, at most 1.4%; #: geometric'."\n".'mean; ~: undecided; -: unsupported'
signs_lines = 2
label_x = 'bandwidth: ratio to write=nodelay'
label_rows = 1
label_x_text = 'bandwidth: ratio to write=nodelay'
heads = 5
bands = 23
ratios = 26
lines = 37
widest = 28
value_columns = 32
value_columns_text = 32
left = 7.30507e-06
right = 2479.76
logarithmic = 1
tics_x = 'set xtics ("0.0001x" 0.0001, "0.01x" 0.01, "1x" 1, "100x" 100)'
tics_text = 'set xtics ("0.0001x" 0.0001, "1x" 1)'
