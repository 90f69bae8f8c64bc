#ifndef BACKSTITCH_PEER_LMDB_H
#define BACKSTITCH_PEER_LMDB_H

#include "peer.h"

/// LMDB called from C, with packed rows, composite index keys and a log: the floor for a store
/// over LMDB.
const peer_operations *peer_lmdb(void);

#endif
