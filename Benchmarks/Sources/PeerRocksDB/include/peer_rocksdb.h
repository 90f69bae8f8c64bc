#ifndef BACKSTITCH_PEER_ROCKSDB_H
#define BACKSTITCH_PEER_ROCKSDB_H

#include "peer.h"

/// RocksDB with a column family for rows, each index and the outbox; `WriteOptions.sync`.
const peer_operations *peer_rocksdb(void);

#endif
