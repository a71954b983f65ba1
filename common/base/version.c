/* SPDX-License-Identifier: MIT */
#include "base/version.h"

#include <stddef.h>

#include "revision.h" /* written by the build */

const char *version_revision(void)
{
    return UNCORK_REVISION;
}

const char *version_homepage(void)
{
    return *UNCORK_HOMEPAGE ? UNCORK_HOMEPAGE : NULL;
}
