/* SPDX-License-Identifier: MIT */
/* The options of the programs, for their help and for completion. */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

/* An option, as the help prints it. value: what it takes, with the blank or the bracket before it. One
 * without a name is a heading; one without help ends the list. */
struct option_help {
    const char *name, *value, *help;
};

extern const struct option_help client_options[], server_options[];

/* Prints options to standard output. column: where their help begins. */
void option_print(const struct option_help *options, int column);

#endif
