#ifndef BACKSTITCH_PEER_SQLITE_H
#define BACKSTITCH_PEER_SQLITE_H

#include "peer.h"
#include "peer_fts.h"
#include "peer_sql.h"

/// SQLite with prepared statements and an outbox table; WAL with `synchronous=FULL`.
const peer_operations *peer_sqlite(void);
/// The same with a cache of 64 MB and the file mapped into memory.
const peer_operations *peer_sqlite_tuned(void);

#endif
