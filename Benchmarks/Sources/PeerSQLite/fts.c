#include "peer_fts.h"

#include <sqlite3.h>
#include <stdlib.h>

struct peer_fts {
    sqlite3 *connection;
    sqlite3_stmt *insert;
    sqlite3_stmt *search;
};

static const char *const schema =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-65536;"
    "PRAGMA mmap_size=1073741824;"
    "CREATE VIRTUAL TABLE documents USING fts5(title, body, tokenize='unicode61 remove_diacritics 2');";

static int failed(peer_fts *fts, const char *what) {
    return peer_fail("FTS5, %s: %s", what, sqlite3_errmsg(fts->connection));
}

void peer_fts_close(peer_fts *fts) {
    if (!fts) return;
    sqlite3_finalize(fts->insert);
    sqlite3_finalize(fts->search);
    sqlite3_close(fts->connection);
    free(fts);
}

peer_fts *peer_fts_open(const char *path) {
    peer_fts *fts = calloc(1, sizeof *fts);
    if (!fts) {
        peer_fail("out of memory");
        return NULL;
    }
    if (sqlite3_open(path, &fts->connection) != SQLITE_OK ||
        sqlite3_exec(fts->connection, schema, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(fts->connection, "INSERT INTO documents VALUES (?1, ?2)", -1, &fts->insert,
                           NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(fts->connection,
                           "SELECT title, body FROM documents WHERE documents MATCH ?1"
                           " ORDER BY bm25(documents, 4.0, 1.0) LIMIT ?2",
                           -1, &fts->search, NULL) != SQLITE_OK) {
        failed(fts, "open");
        peer_fts_close(fts);
        return NULL;
    }
    return fts;
}

static int put(peer_fts *fts, peer_text title, peer_text text) {
    sqlite3_reset(fts->insert);
    sqlite3_bind_text(fts->insert, 1, title.bytes, (int)title.count, SQLITE_STATIC);
    sqlite3_bind_text(fts->insert, 2, text.bytes, (int)text.count, SQLITE_STATIC);
    return sqlite3_step(fts->insert) == SQLITE_DONE ? 0 : failed(fts, "insert");
}

int peer_fts_insert(peer_fts *fts, const peer_text *titles, const peer_text *texts, size_t count) {
    if (sqlite3_exec(fts->connection, "BEGIN", NULL, NULL, NULL) != SQLITE_OK) return failed(fts, "begin");
    for (size_t at = 0; at < count; at++) {
        if (put(fts, titles[at], texts[at]) != 0) return -1;
    }
    if (sqlite3_exec(fts->connection, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) return failed(fts, "commit");
    return 0;
}

int64_t peer_fts_search(peer_fts *fts, const char *query, int64_t limit) {
    sqlite3_reset(fts->search);
    sqlite3_bind_text(fts->search, 1, query, -1, SQLITE_STATIC);
    sqlite3_bind_int64(fts->search, 2, limit);
    int64_t count = 0;
    int step;
    while ((step = sqlite3_step(fts->search)) == SQLITE_ROW) {
        if (!sqlite3_column_text(fts->search, 0) || !sqlite3_column_text(fts->search, 1))
            return failed(fts, "read");
        count++;
    }
    return step == SQLITE_DONE ? count : failed(fts, "search");
}
