name = 'bandwidth-heatmap'
headline = 'bandwidth, times faster than write=nodelay: verdicts'
note = 'paired ratios, 7 rounds; place apart; congestion cubic; Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.0-test, hypervisor'
signs = 'blue: better; orange: worse; ~: undecided; -: unsupported'
headline_text = 'bandwidth, times faster than write=nodelay: verdicts'
title_lines = 1
signs_text = '~: undecided; -: unsupported'
signs_lines = 1
array rows[5] = ['cork', 'more', 'writev', 'coalesce', 'uring-sendmsg-with-a-name-tha...']
array columns[5] = ['64', '256', '1K', '4K', '16K']
widest = 32
wide = 10
together = 3
begin = 280
pixels = 130
slanted = 0
below = 84
height = 290
label_x = 'bandwidth, times faster than write=nodelay, by message, bytes'
