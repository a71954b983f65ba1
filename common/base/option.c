/* SPDX-License-Identifier: MIT */
#include "base/option.h"

#include <stdio.h>
#include <string.h>

#define HEADING(text) {NULL, NULL, text},
#define OPTION(name, argument, letter, value, help) {name, value, help},

const struct option_help client_options[] = {
#include "base/options_client.def"
    {NULL, NULL, NULL},
};

const struct option_help server_options[] = {
#include "base/options_server.def"
    {NULL, NULL, NULL},
};

static void print_one(const struct option_help *option, int column)
{
    int width =
        printf("  %s--%s%s", strcmp(option->name, "help") != 0 ? "" : "-h, ", option->name, option->value);

    if (width >= column) {
        putchar('\n');
        width = 0;
    }
    printf("%*s", column - width, "");
    for (const char *help = option->help; *help; help++) {
        putchar(*help);
        if (*help == '\n')
            printf("%*s", column, "");
    }
    putchar('\n');
}

void option_print(const struct option_help *options, int column)
{
    for (; options->help; options++) {
        if (options->name)
            print_one(options, column);
        else
            printf("\n%s%s", options->help, *options->help ? "\n" : "");
    }
}
