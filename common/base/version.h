/* SPDX-License-Identifier: MIT */
#pragma once

/* UNCORK_VERSION comes from the build: project(uncork VERSION ...). */
#define RECORD_SCHEMA 1 /* of the record: docs/record.md */

/* By cmake/revision.cmake: the output of git describe, "unknown" outside a checkout; and the http
 * or https address of the git remote, NULL without one. */
extern const char *const version_revision, *const version_homepage;
