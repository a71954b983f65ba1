/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_BASE_VERSION_H
#define UNCORK_BASE_VERSION_H

/* UNCORK_VERSION comes from the build: project(uncork VERSION ...). */
#define RECORD_SCHEMA 1 /* of the record: docs/record.md */

/* The output of git describe at build time; "unknown" outside a checkout. */
const char *version_revision(void);

/* The http or https address of the git remote of the sources; NULL where there is none. */
const char *version_homepage(void);

#endif
