/* SPDX-License-Identifier: MIT */
/*
 * The definition of a subject or a load: an object in the file of --subjects. Its keys:
 *
 *   program       name or path; the parameter `program` overrides it
 *   listens       "inherited": the program takes the listening socket as descriptor 3 (LISTEN_FDS,
 *                 LISTEN_PID); "address": it binds the address that its arguments name
 *   arguments, arguments_tls, arguments_tcp, arguments_unix, arguments_command
 *                 lists of texts; those of TLS, of a transport and of workload=command only in a
 *                 plan that has them
 *   files         texts by file name, to write into the folder
 *   needs         what else to write there; "content": a file content/SIZE for each size that op=
 *                 fetches, for a load a file content of {size}; "certificate": under TLS
 *                 certificate.pem, with its private key
 *   parameters    default texts by name; words NAME.key=value override them
 *   protocols, transports, version
 *                 what it speaks, what it can listen on, the argument that prints its version
 *   moves, limit_s
 *                 of a load: the bytes that it moves at least, a size or a product like
 *                 "{requests}*{bytes}"; the seconds that it may take
 *   counts        of a load: a regex(7) whose group matches the number of requests in its output
 *
 * In arguments and files, {folder}, {host}, {port}, {path}, {protocol}, {transport}, {security}
 * ("plain" or "tls") and each {parameter} are replaced by their values. A relay has the protocol
 * "raw" and inherits its socket; it also has {sink}, HOST:PORT or unix:PATH. A load also has {uri}
 * and the parameters of its subject.
 */
#pragma once

#include "net/address.h"
#include "plan/plan.h"

#include <jansson.h>
#include <sys/types.h>

/* The definition of the plan's subject, or of its load (borrowed). NULL with a problem if there is
 * none, or if it cannot do what the plan says. */
const json_t *definition_find(const json_t *definitions, const struct plan *plan, struct problem *problem);
const json_t *definition_of_load(const json_t *definitions, const struct plan *plan, struct problem *problem);

/* Whether the definition needs `what`: "content" or "certificate". */
bool definition_needs(const json_t *definition, const char *what);

/* The value of each parameter of the subject or load `name`, and of `program`: new reference. NULL
 * with a problem if the plan has an unknown parameter. */
json_t *definition_values(const json_t *definition, const char *name, const struct plan *plan,
                          struct problem *problem);

/* The protocol of the plan. In workload=command without protocol=, the first one that both subject
 * and load have. */
const char *definition_protocol(const json_t *definitions, const struct plan *plan);

/* Adds the host, port and path of an address to the values. */
void definition_add_address(json_t *values, const struct address *address);

/* The text with each {name} of the values replaced, in new memory. Other braces stay. */
char *definition_expand(const char *text, const json_t *values);

/* The arguments of the program, as a list of texts. New reference. */
json_t *definition_arguments(const json_t *definition, const json_t *values, const struct plan *plan);

/* Writes a file, or the files of the definition, into the folder. Only `owner` may read them. 0, or
 * -1 with errno. */
int definition_write(const char *folder, const char *name, const void *data, size_t size, uid_t owner);
int definition_write_files(const json_t *definition, const json_t *values, const char *folder, uid_t owner);
