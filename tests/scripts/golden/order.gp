name = 'bandwidth-order-4K'
width = 960
height = 682
unit = 1
png_scale = 1
small_points = 9
head = 34
foot = 40
dark = 1
array headline[1] = ['bandwidth of every run / median of its cell: verdicts, message=4K']
array small_print[2] = ['cross: failed', 'every run of 7 rounds; place apart; congestion cubic; Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.0-test, hypervisor']
headline_text = 'bandwidth of every run / median of its cell: verdicts, message=4K'
title_lines = 1
signs_text = 'x: failed'
signs_lines = 1
series = 6
key_rows = 6
array names[6] = ['nodelay, 31.4 Gbit/s', 'cork, 39.3 Gbit/s', 'more, 31.6 Mbit/s', 'writev (failed)', 'coalesce, 31.7 Gbit/s', 'uring-sendmsg-with-a-name-tha..., 25.3 Gbit/s']
array colours[6] = ['#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#0072b2']
array points[6] = [5, 9, 11, 13, 15, 7]
array dashes[6] = [1, 1, 1, 1, 1, 1]
ratio_low = 0.959802
ratio_high = 1.03899
ratio_steep = 0
rounds = 7
label_y = 'bandwidth / median of its cell'
outliers = 0
failures = 1
