name = 'counts-together'
width = 960
height = 535
unit = 1
png_scale = 1
small_points = 9
head = 34
foot = 23
dark = 0
array headline[1] = ['what was counted: nodelay, place=together']
array small_print[1] = ['median of 7 rounds, 95 % interval; place together; congestion cubic; Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.0-test, hypervisor']
headline_text = 'what was counted: nodelay, place=together'
title_lines = 1
signs_text = '[ ]: 95 % interval'
signs_lines = 1
panels = 2
array bars[2] = [6, 6]
rounds = 0
array heads[2] = ['segments per message', 'sends per message']
array tops[2] = [16.83, 19.6568]
array tops_text[2] = [23.925, 27.115]
array steps[2] = [2, 5]
label = 'how many, and the ratio to nodelay'
label_text = 'how many, and the ratio to nodelay'
label_lines = 1
label_foot = 0
widest = 8
