#ifndef BACKSTITCH_PEER_FTS_H
#define BACKSTITCH_PEER_FTS_H

#include <stddef.h>
#include <stdint.h>

#include "peer.h"

/// SQLite's full-text search, FTS5: a table of titles and texts with the tokenizer `unicode61`, which knows
/// neither case nor diacritics, ranked by `bm25` with weight 4 for titles.
typedef struct peer_fts peer_fts;

/// NULL on failure, with a message in `peer_error_message`.
peer_fts *peer_fts_open(const char *path);
void peer_fts_close(peer_fts *fts);
/// Adds documents in one transaction.
int peer_fts_insert(peer_fts *fts, const peer_text *titles, const peer_text *texts, size_t count);
/// The titles of the best documents, read whole: how many there are, or -1.
int64_t peer_fts_search(peer_fts *fts, const char *query, int64_t limit);

#endif
