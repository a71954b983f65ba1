/* SPDX-License-Identifier: MIT */
/*
 * The definition of a subject or a load, an object of the file of --subjects:
 *
 *   program       name or path; the parameter `program` replaces it
 *   listens       "inherited": it takes descriptor 3 (LISTEN_FDS, LISTEN_PID); "address": it binds
 *                 the host and port, or the path, that its arguments name
 *   arguments, arguments_tls, arguments_tcp, arguments_unix, arguments_command
 *                 lists of texts; those of TLS, of the transport and of workload=command only
 *                 where the plan has them
 *   files         texts by name, written into the folder
 *   needs         what else is written there: "content": a file content/SIZE for each size that
 *                 op= fetches, of a load a file content of {size}; "certificate": under TLS
 *                 certificate.pem, with its private key
 *   parameters    default texts by name; words NAME.key=value replace them
 *   protocols, transports, version
 *                 what it speaks, what it can listen on, the argument that prints its version
 *   moves, limit_s
 *                 of a load: the bytes that it moves at least, a size or a product like
 *                 "{requests}*{bytes}"; the seconds that it may take
 *   counts        of a load: a pattern of regex(7) whose group is the number of requests in its
 *                 output
 *
 * In arguments and files {folder}, {host}, {port}, {path}, {protocol}, {transport}, {security}
 * ("plain" or "tls") and each {parameter} are replaced. Of a relay, which has the protocol "raw"
 * and inherits its socket, {sink} is replaced too: HOST:PORT or unix:PATH. A load knows {uri}, and
 * the parameters of its subject, too.
 */
#pragma once

#include "net/address.h"
#include "plan/plan.h"

#include <jansson.h>
#include <sys/types.h>

/* The definition of the plan's subject, or of its load (borrowed). NULL with a problem where it
 * cannot do what the plan says. */
const json_t *definition_find(const json_t *definitions, const struct plan *plan, struct problem *problem);
const json_t *definition_of_load(const json_t *definitions, const struct plan *plan, struct problem *problem);

/* Whether it needs "content" or "certificate". */
bool definition_needs(const json_t *definition, const char *what);

/* The value of each parameter of this subject or load, and `program`: new reference. NULL with a
 * problem for an unknown one. */
json_t *definition_values(const json_t *definition, const char *name, const struct plan *plan,
                          struct problem *problem);

/* The protocol of the plan; in workload=command without one the first that subject and load
 * have. */
const char *definition_protocol(const json_t *definitions, const struct plan *plan);

/* Adds {host}, {port} and {path} of an address to the values. */
void definition_add_address(json_t *values, const struct address *address);

/* The text with each {name} of the values replaced, in new memory. */
char *definition_expand(const char *text, const json_t *values);

/* Its arguments behind the program, of any length. New reference. */
json_t *definition_arguments(const json_t *definition, const json_t *values, const struct plan *plan);

/* Writes a file, or the files of the definition, into the folder; `owner` owns them. 0, or -1 with
 * errno. */
int definition_write(const char *folder, const char *name, const void *data, size_t size, uid_t owner);
int definition_write_files(const json_t *definition, const json_t *values, const char *folder, uid_t owner);
