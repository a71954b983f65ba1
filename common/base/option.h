/* SPDX-License-Identifier: MIT */
/* The options of the programs: options_client.def and options_server.def. Here is their help, which
 * completion reads too; each program makes the table of getopt_long(3) from its list. */
#pragma once

/* value: what the option takes, with the blank or the bracket before it. A row without a name is a
 * heading; one without help ends the list. */
struct option_help {
    const char *name, *value, *help;
};

extern const struct option_help client_options[], server_options[];

/* Prints options to standard output. column: where their help begins. */
void option_print(const struct option_help *options, int column);
