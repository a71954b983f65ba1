/* SPDX-License-Identifier: MIT */
/* Any bytes are definitions of subjects and loads, or are refused. From definitions follow values
 * and arguments, or a problem. */
#include "fuzz.h"

#include "words/definition.h"
#include "words/word.h"

static void use(const json_t *definitions, const struct plan *plan, bool of_load)
{
    struct problem problem = {0};
    const json_t *definition = definition_find(definitions, of_load, plan, &problem);

    (void)definition_protocol(definitions, plan);
    abort_if(!definition != (problem.kind != PROBLEM_NONE));
    if (!definition)
        return;
    definition_has(definition, "needs", "content");
    CLEANUP_JSON json_t *values = definition_values(definition, "s", plan, &problem);
    abort_if(!values != (problem.kind != PROBLEM_NONE));
    if (!values)
        return;
    CLEANUP_JSON json_t *arguments = definition_arguments(definition, values, plan);
    const json_t *text;
    size_t i;
    json_array_foreach(arguments, i, text)
        abort_if(!json_is_string(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const words[][4] = {{"subject=s", "protocol=nbd", "s.p=1", "op=read:4K"},
                                           {"workload=command", "subject=s", "load=s", "s.p=1"}};
    struct problem problem = {0};
    char path[INPUT_PATH_MAX];
    int fd = input_file(data, size, path);
    CLEANUP_JSON json_t *definitions = definitions_load(path, &problem);
    static struct plan plans[2];

    abort_if(!definitions != (problem.kind == PROBLEM_USAGE));
    for (int i = 0; definitions && i < 2; i++) {
        problem = (struct problem){0};
        if (!plans[i].workload)
            abort_if(plan_parse(&plans[i], words[i], 4, &problem) < 0);
        use(definitions, &plans[i], false);
        use(definitions, &plans[i], i == 1);
    }
    close(fd);
    return 0;
}
