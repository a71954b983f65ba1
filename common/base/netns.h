/* SPDX-License-Identifier: MIT */
/* Another network namespace, for as long as the calling thread needs to start something in it. */
#ifndef UNCORK_BASE_NETNS_H
#define UNCORK_BASE_NETNS_H

/* Moves the calling thread into the namespace of the file at `path`. A descriptor of the one it was in, for
 * netns_leave(), or a negative errno value: then the thread is where it was. */
int netns_enter(const char *path);

/* Moves the calling thread back and closes the descriptor. 0 or a negative errno value. */
int netns_leave(int before);

#endif
