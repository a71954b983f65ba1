/* SPDX-License-Identifier: MIT */
/* Moves a thread into another network namespace and back, to start something there. */
#ifndef UNCORK_BASE_NETNS_H
#define UNCORK_BASE_NETNS_H

/* Moves the calling thread into the namespace of the file at `path`. Returns a descriptor of its
 * old namespace, for netns_leave(), or a negative errno value: then the thread has not moved. */
int netns_enter(const char *path);

/* Moves the calling thread back and closes the descriptor. 0 or a negative errno value. */
int netns_leave(int before);

#endif
