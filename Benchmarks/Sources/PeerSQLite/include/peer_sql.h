#ifndef BACKSTITCH_PEER_SQL_H
#define BACKSTITCH_PEER_SQL_H

#include <stdint.h>

#include "peer.h"

/// A SQLite database that is asked in its own language.
typedef struct peer_sql peer_sql;

/// NULL on failure, with a message in `peer_error_message`.
peer_sql *peer_sql_open(const char *path);
void peer_sql_close(peer_sql *sql);
/// Runs statements without results.
int peer_sql_execute(peer_sql *sql, const char *statements);
/// Reads all columns of all rows of a query, which is prepared the first time only: how many rows there are, or -1.
int64_t peer_sql_rows(peer_sql *sql, const char *query);

#endif
