/* SPDX-License-Identifier: MIT */
#pragma once

/* UNCORK_VERSION comes from the build: project(uncork VERSION ...). */
#define RECORD_SCHEMA 1 /* of the record: docs/record.md */

/* The build sets these (cmake/revision.cmake). version_revision: the output of git describe,
 * "unknown" outside a checkout. version_homepage: the http or https address of the git remote;
 * NULL: there is none. */
extern const char *const version_revision, *const version_homepage;
