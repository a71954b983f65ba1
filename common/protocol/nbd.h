/* SPDX-License-Identifier: MIT */
/* The Network Block Device protocol: what nbd.c and nbd_dialogue.c share. */
#pragma once

#include "connection/protocol.h"

enum { READ = 0, WRITE = 1, DISCONNECT = 2, FLUSH = 3 };
extern const struct operation_kind nbd_kinds[];

/* Whether the plan has structured replies. */
bool nbd_is_structured(const struct connection *connection);

int nbd_client_dialogue(struct connection *connection, bool secured);
int nbd_server_dialogue(struct connection *connection, bool secured);
