/* SPDX-License-Identifier: MIT */
#include "words/definition.h"

#include "base/cleanup.h"
#include "base/files.h"
#include "connection/protocol.h"
#include "transport/transport.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

json_t *definitions_load(const char *path, struct problem *problem)
{
    json_error_t error;
    CLEANUP_JSON json_t *definitions = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    json_t *definition, *part, *text;
    const char *name, *key, *entry;
    bool right = json_is_object(definitions);
    size_t i;

    json_object_foreach(definitions, name, definition) {
        json_object_foreach(definition, key, part) {
            json_array_foreach(part, i, text)
                right &= json_is_string(text);
            json_object_foreach(part, entry, text)
                right &= json_is_string(text);
        }
        right &= json_is_string(json_object_get(definition, "program"));
    }
    if (!definitions)
        problem_usage(problem, "--subjects %s: line %d: %s", path, error.line, error.text);
    else if (!right)
        problem_usage(problem,
                      "--subjects %s: not an object of definitions by name, each with a program, and with "
                      "lists and tables of texts",
                      path);
    return right ? json_incref(definitions) : NULL;
}

char *definition_expand(const char *text, const json_t *values)
{
    char *result = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&result, &size);
    bool failed = false;

    while (out && *text) {
        const char *end = *text == '{' ? strchr(text, '}') : NULL;
        const char *value =
            end ? json_string_value(json_object_getn(values, text + 1, (size_t)(end - text - 1))) : NULL;

        failed |= (value ? fputs(value, out) : fputc(*text, out)) < 0;
        text = value ? end + 1 : text + 1;
    }
    return text_close(out, &result, failed);
}

bool definition_has(const json_t *definition, const char *key, const char *wanted)
{
    const json_t *name;
    size_t i;
    json_array_foreach(json_object_get(definition, key), i, name)
        if (!strcmp(json_string_value(name), wanted))
            return true;
    return false;
}

/* In workload=command without protocol=, definition_protocol() chooses one. */
static bool chooses_protocol(const struct plan *plan)
{
    return plan->runs_command && !plan->protocol->kinds;
}

const json_t *definition_find(const json_t *definitions, bool of_load, const struct plan *plan,
                              struct problem *problem)
{
    const char *protocol = plan->protocol->variant.name, *transport = plan->transport->variant.name;
    const char *word = of_load ? "load" : "subject", *name = of_load ? plan->load : plan->subject.name;
    const json_t *definition = json_object_get(definitions, name);

    if (!definition)
        problem_unsupported(problem, "%s=%s: this %s has no definition of it", word, name,
                            of_load ? "client" : "server");
    else if (!chooses_protocol(plan) && !definition_has(definition, "protocols", protocol))
        problem_unsupported(problem, "%s=%s does not work with protocol=%s", word, name, protocol);
    else if (!definition_has(definition, "transports", transport))
        problem_unsupported(problem, "%s=%s does not work with transport=%s", word, name, transport);
    else if (plan->encrypts && !plan->relays && !json_object_get(definition, "arguments_tls"))
        problem_unsupported(problem, "%s=%s does not work with TLS", word, name);
    else if (!of_load && !json_is_string(json_object_get(definition, "listens")))
        problem_unsupported(problem, "subject=%s: its definition does not say how it listens", name);
    else if (!of_load && plan->encrypts && plan->handshake != HANDSHAKE_PSK_ECDHE &&
             definition_has(definition, "needs", "certificate"))
        problem_unsupported(problem, "subject=%s does not work with handshake=%s: it uses a certificate",
                            name, handshake_names[plan->handshake]);
    else
        return definition;
    return NULL;
}

json_t *definition_values(const json_t *definition, const char *name, const struct plan *plan,
                          struct problem *problem)
{
    const struct subject_choice *choice = &plan->subject;
    CLEANUP_JSON json_t *values = json_object();

    json_object_update(values, json_object_get(definition, "parameters"));
    json_object_set(values, "program", json_object_get(definition, "program"));
    for (uint32_t i = 0; i < choice->count; i++) {
        const struct subject_parameter *parameter = &choice->parameters[i];

        if (strcmp(parameter->subject, name) != 0)
            continue;
        if (!json_object_get(values, parameter->key)) {
            problem_usage(problem, "%s.%s: the %s %s has no such parameter", name, parameter->key,
                          strcmp(name, choice->name) != 0 ? "load" : "subject", name);
            return NULL;
        }
        json_object_set_new(values, parameter->key, json_string(parameter->value));
    }
    return json_incref(values);
}

const char *definition_protocol(const json_t *definitions, const struct plan *plan)
{
    const json_t *subject = json_object_get(definitions, plan->subject.name);
    const json_t *load = *plan->load ? json_object_get(definitions, plan->load) : subject, *name;
    size_t i;
    if (chooses_protocol(plan))
        json_array_foreach(json_object_get(load, "protocols"), i, name)
            if (definition_has(subject, "protocols", json_string_value(name)))
                return json_string_value(name);
    return plan->protocol->variant.name;
}

void definition_add_address(json_t *values, const struct address *address)
{
    const char *text = address_text(address), *colon = strrchr(text, ':');
    json_object_set_new(values, "host", json_stringn(text, colon ? (size_t)(colon - text) : strlen(text)));
    json_object_set_new(values, "port", json_sprintf("%d", address_port(address)));
    json_object_set_new(values, "path", json_string(address_path(address)));
}

json_t *definition_arguments(const json_t *definition, const json_t *values, const struct plan *plan)
{
    const char *keys[] = {plan->runs_command ? "arguments_command" : "",
                          plan->encrypts ? "arguments_tls" : "",
                          plan->is_tcp ? "arguments_tcp" : "arguments_unix", "arguments"};
    CLEANUP_JSON json_t *arguments = json_array();
    const json_t *text;
    size_t i;

    for (size_t key = 0; key < sizeof keys / sizeof *keys; key++) {
        json_array_foreach(json_object_get(definition, keys[key]), i, text) {
            CLEANUP_FREE char *argument = definition_expand(json_string_value(text), values);

            if (json_array_append_new(arguments, json_string(argument)) < 0)
                return NULL;
        }
    }
    return json_incref(arguments);
}

int definition_write(const char *folder, const char *name, const void *data, size_t size, uid_t owner)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wex"); /* a new file, so that no device and no file of others changes */
    if (!file)
        return -1;
    bool whole = fwrite(data, 1, size, file) == size && fchmod(fileno(file), 0600) == 0 &&
                 (geteuid() != 0 || fchown(fileno(file), owner, (gid_t)-1) == 0);
    return fclose(file) == 0 && whole ? 0 : -1;
}

int definition_write_files(const json_t *definition, const json_t *values, const char *folder, uid_t owner)
{
    const json_t *text;
    const char *name;
    json_object_foreach((json_t *)(uintptr_t)json_object_get(definition, "files"), name, text) {
        CLEANUP_FREE char *content = definition_expand(json_string_value(text), values);

        if (!content || definition_write(folder, name, content, strlen(content), owner) < 0)
            return -1;
    }
    return 0;
}
