name = 'counts-together'
headline = 'what was counted: nodelay, place=together'
note = 'median of 7 rounds, 95 % interval; place together; congestion cubic; Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.0-test, hypervisor'
signs = ''
headline_text = 'what was counted: nodelay, place=together'
title_lines = 1
signs_text = '[ ]: 95 % interval'
signs_lines = 1
panels = 2
array bars[2] = [6, 6]
array heads[2] = ['segments per message', 'sends per message']
array tops[2] = [23.925, 27.115]
label = 'how many, and the ratio to nodelay'
widest = 8
height = 552
