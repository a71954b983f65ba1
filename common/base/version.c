/* SPDX-License-Identifier: MIT */
#include "base/version.h"

#include "revision.h" /* written by the build */

const char *version_revision(void)
{
    return UNCORK_REVISION;
}
