/* SPDX-License-Identifier: MIT */
/* Any file is a program that the preloaded library reaches, or is refused. */
#include "fuzz.h"

#include "override/override.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct problem problem = {0};
    char path[INPUT_PATH_MAX];
    int fd = input_file(data, size, path);

    if (reach_check(path, &problem) < 0)
        abort_if(problem.kind != PROBLEM_UNSUPPORTED || !*problem.text);
    close(fd);
    return 0;
}
