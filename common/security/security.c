/* SPDX-License-Identifier: MIT */
#include "security/security.h"

#define VARIANT(name) extern const struct security security_##name;
#include "security/list.def"
#undef VARIANT

#define VARIANT(name) &security_##name.variant,
static const struct variant *const variants[] = {
#include "security/list.def"
};

const struct axis security_axis = {"security", variants, sizeof variants / sizeof *variants};

int security_begin(struct connection *connection)
{
    int result;

    if (!connection->security->encrypts)
        return 0;
    result = connection->security->open(connection);
    connection->shakes = result == 0 ? AWAITS_PEER : SHAKES_NOT;
    return result;
}

void security_end(struct connection *connection)
{
    if (connection->session)
        connection->security->close(connection);
    connection->session = NULL;
    connection->shakes = SHAKES_NOT;
}

int security_half_close(struct connection *connection)
{
    int result = connection->security->part ? connection->security->part(connection) : 0;

    if (result < 0)
        return result;
    return shutdown(connection->calls.fd, SHUT_WR) < 0 ? -errno : 0;
}

int security_agree(struct workbench *bench, enum end peer, const struct security_terms *terms)
{
    return bench->plan->ends[bench->end].security->context_open(&bench->contexts[peer], terms);
}
