name = 'bandwidth-order-4K'
headline = 'bandwidth of every run / median of its cell: verdicts, message=4K'
note = 'every run of 7 rounds; place apart; congestion cubic; Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.0-test, hypervisor'
signs = ''
headline_text = 'bandwidth of every run / median of its cell: verdicts, message=4K'
title_lines = 1
signs_text = 'x: failed'
signs_lines = 1
label_y = 'bandwidth / median of its cell'
rounds = 7
outliers = 0
failures = 1
series = 6
array names[6] = ['nodelay, 31.4 Gbit/s', 'cork, 39.3 Gbit/s', 'more, 31.6 Mbit/s', 'writev (failed)', 'coalesce, 31.7 Gbit/s', 'uring-sendmsg-with-a-name-tha..., 25.3 Gbit/s']
title_key = 'write'
widest = 45
array colours[6] = ['#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#0072b2']
array points[6] = [5, 9, 11, 13, 15, 7]
array dashes[6] = [1, 1, 1, 1, 1, 1]
bottom = 0.958938
top = 1.03953
logarithmic = 0
tics_y = 'set ytics 0.01; set format y "%gx"'
tics_text = 'set ytics 0.02; set format y "%gx"'
