# SPDX-License-Identifier: MIT
# Heat map: how many times better than the baseline each cell is, as a figure on a colour.
# Set before this: name, headline, headline_text (the same in title_lines lines), note, signs
# (what colours and marks mean, signs_text in signs_lines lines), rows, columns (arrays of names), widest (characters of the longest name
# of a row), label_x, height (pixels), and for text wide (characters of a column) and together (how
# many columns stand beside each other; the others follow below).
# Columns of name.dat: column, row, colour, colour of the text, text.

data = name.".dat"
do for [format in "png svg txt"] {
    text = format eq "txt"
    if (format eq "png") {
        set terminal pngcairo noenhanced size 960,height font "Sans,11" background "#ffffff"
    }
    if (format eq "svg") {
        set terminal svg noenhanced size 960,height font "Sans,11" background "#ffffff"
    }
    if (text) { set terminal dumb nofeed mono noenhanced size 72,18 }
    set output name.".".format
    unset key
    set tics scale 0 nomirror
    set style fill solid 1.0 border rgb "#bbbbbb"
    if (!text) {
        # No column is wider than 130 pixels; what is left is free on both sides.
        named = 24 + 8.0 * widest
        pixels = (960 - 30 - named) / |columns|
        if (pixels > 130) { pixels = 130 }
        begin = named + (960 - 30 - named - pixels * |columns|) / 2
        crowded = pixels < 62
        slanted = 0
        do for [c = 1:|columns|] { if (strlen(columns[c]) * 8.5 > pixels) { slanted = 1 } }
        set border 0
        set lmargin at screen begin / 960
        set rmargin at screen (begin + pixels * |columns|) / 960
        set tmargin at screen 1 - 36.0 / height
        set bmargin at screen 84.0 / height
        set title headline font "Sans,13" offset 0,-0.4
        set yrange [|rows| - 0.5:-0.5]
        set ytics () # none yet
        do for [r = 1:|rows|] { set ytics add (rows[r] r - 1) }
        set xlabel label_x offset 0,0.6
        set xrange [-0.5:|columns| - 0.5]
        if (slanted) { set xtics rotate by 20 right font "Sans,9" } else { set xtics norotate }
        set xtics ()
        do for [c = 1:|columns|] { set xtics add (columns[c] c - 1) }
        set label 1 signs at screen 0.5, screen 27.0 / height center font "Sans,9"
        set label 2 note at screen 0.5, screen 10.0 / height center font "Sans,9" \
            textcolor rgb "#555555"
        plot data using 1:2:($1-0.48):($1+0.48):($2-0.46):($2+0.46):3 \
                 with boxxyerror linecolor rgb variable, \
             "" using 1:2:5:4 with labels center font (crowded ? "Sans,9" : "Sans,11") \
                 textcolor rgb variable
    }
    if (text) {
        # Names are labels: tics would leave their marks. A title would be centred above the
        # columns, and be lost where they are few.
        unset label 2
        unset tics
        set border 0
        set yrange [|rows| + 0.5:-0.5]
        do for [from = 0:|columns| - 1:together] {
            last = from + together < |columns| ? from + together : |columns|
            # A line for each row and so many characters for each column: all is in place.
            set terminal dumb nofeed mono noenhanced \
                size 72,(|rows| + 3 + (from == 0 ? title_lines : 0) + (last == |columns| ? 2 + signs_lines : 0))
            set lmargin widest + 2
            set rmargin 72 - (widest + 2) - wide * (last - from) - 1
            set tmargin (from == 0 ? title_lines + 1 : 1)
            set bmargin (last == |columns| ? 3 + signs_lines : 1)
            unset label
            if (from == 0) { set label headline_text at screen 0.5, screen 1 center }
            do for [r = 1:|rows|] {
                set label rows[r] at first from - 0.5, first r - 1 right offset character -1,0
            }
            do for [c = from + 1:last] { set label columns[c] at first c - 1, first |rows| center }
            set xlabel (last == |columns| ? label_x : "") offset 0,-1
            if (last == |columns|) {
                set label signs_text at screen 0.5, character signs_lines - 1 center
            }
            set xrange [from - 0.5:last - 0.5]
            plot data using 1:2:5 with labels center
        }
    }
    set output
    reset
}
