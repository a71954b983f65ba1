name = 'bandwidth-heatmap'
headline = 'verdicts: bandwidth, times faster than write=nodelay'
headline_text = 'verdicts: bandwidth, times faster than write=nodelay'
note = 'paired ratios, 7 rounds; place apart; congestion cubic; Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.0-test, hypervisor'
title_lines = 1
signs = 'blue: better; orange: worse; ~: no change shown'
signs_text = '~: no change shown'
signs_lines = 1
array rows[5] = ['cork', 'more', 'writev', 'coalesce', 'uring-sendmsg-with-a-name-tha...']
array columns[5] = ['64', '256', '1K', '4K', '16K']
widest = 32
wide = 10
together = 3
label_x = 'message'
height = 290
