name = 'counts-together'
width = 960
height = 552
unit = 1
png_scale = 1
small_points = 9
head = 34
foot = 40
dark = 1
array headline[1] = ['what was counted: nodelay, place=together']
array small_print[2] = ['x: ratio to nodelay', 'median of 7 rounds, 95 % interval; place together; congestion cubic; Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.0-test, hypervisor']
headline_text = 'what was counted: nodelay, place=together'
title_lines = 1
signs_text = '[ ]: 95 % interval; x: ratio to nodelay'
signs_lines = 1
panels = 2
array bars[2] = [6, 6]
rounds = 0
array heads[2] = ['segments per message', 'sends per message']
array ends[2] = [17, 17]
label_x = 'how many'
widest = 8
value_columns = 12
