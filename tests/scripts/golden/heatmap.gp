name = 'bandwidth-heatmap'
width = 960
height = 292
unit = 1
png_scale = 1
small_points = 9
head = 34
foot = 40
dark = 1
array headline[1] = ['bandwidth, times faster than write=nodelay: verdicts']
array small_print[2] = ['blue: better; orange: worse; ~: undecided; -: unsupported', 'ratios, 7 rounds; place apart; congestion cubic; Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.0-test, hypervisor']
headline_text = 'bandwidth, times faster than write=nodelay: verdicts'
title_lines = 1
signs_text = '~: undecided; -: unsupported'
signs_lines = 1
array rows[5] = ['cork', 'more', 'writev', 'coalesce', 'uring-sendmsg-with-a-name-tha...']
array columns[5] = ['64', '256', '1K', '4K', '16K']
widest = 32
pixels = 128
letters = 10
slanted = 0
below = 44
label_x = 'message, bytes'
