/* SPDX-License-Identifier: MIT */
/* The definition of a subject or a load: an object in the file of --subjects. docs/real-programs.md
 * has its keys, and the {names} that values replace in arguments and files. {protocol} is that of
 * the run. A load also has its subject's parameters. The parameter `program` overrides the key. */
#pragma once

#include "net/address.h"
#include "plan/plan.h"

#include <jansson.h>
#include <sys/types.h>

/* Reads a file of definitions by name. Each has a program; lists and tables have texts only. New
 * reference. NULL with a problem for any other file. */
json_t *definitions_load(const char *path, struct problem *problem);

/* The definition of the plan's subject, or of its load (borrowed). NULL with a problem if there is
 * none, or if it cannot do what the plan says. */
const json_t *definition_find(const json_t *definitions, bool of_load, const struct plan *plan,
                              struct problem *problem);

/* Whether its list `key` has `wanted`. The list "needs" may have "content" and "certificate". */
bool definition_has(const json_t *definition, const char *key, const char *wanted);

/* The value of each parameter of the subject or load `name`, and of `program`: new reference. NULL
 * with a problem if the plan has an unknown parameter. */
json_t *definition_values(const json_t *definition, const char *name, const struct plan *plan,
                          struct problem *problem);

/* The protocol of the plan. In workload=command without protocol=, the first that both subject and
 * load have. */
const char *definition_protocol(const json_t *definitions, const struct plan *plan);

/* Adds the host, port and path of an address to the values. */
void definition_add_address(json_t *values, const struct address *address);

/* New text with each {name} of the values replaced; other braces stay. NULL: there is no memory. */
char *definition_expand(const char *text, const json_t *values);

/* The arguments of the program, as a list of texts. New reference; NULL: memory is exhausted. */
json_t *definition_arguments(const json_t *definition, const json_t *values, const struct plan *plan);

/* Write a file, or those of a definition, which only `owner` may read. 0, or -1 with errno. */
int definition_write(const char *folder, const char *name, const void *data, size_t size, uid_t owner);
int definition_write_files(const json_t *definition, const json_t *values, const char *folder, uid_t owner);
