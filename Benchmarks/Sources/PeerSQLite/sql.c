#include "peer_sql.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct peer_sql {
    sqlite3 *connection;
    sqlite3_stmt *statement;
    /// What the statement was prepared from.
    char *query;
};

static const char *const settings =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-65536;"
    "PRAGMA mmap_size=1073741824;";

static int failed(peer_sql *sql, const char *what) {
    return peer_fail("SQLite, %s: %s", what, sqlite3_errmsg(sql->connection));
}

void peer_sql_close(peer_sql *sql) {
    if (!sql) return;
    sqlite3_finalize(sql->statement);
    sqlite3_close(sql->connection);
    free(sql->query);
    free(sql);
}

peer_sql *peer_sql_open(const char *path) {
    peer_sql *sql = calloc(1, sizeof *sql);
    if (!sql) {
        peer_fail("out of memory");
        return NULL;
    }
    if (sqlite3_open(path, &sql->connection) != SQLITE_OK || peer_sql_execute(sql, settings) != 0) {
        peer_sql_close(sql);
        return NULL;
    }
    return sql;
}

int peer_sql_execute(peer_sql *sql, const char *statements) {
    return sqlite3_exec(sql->connection, statements, NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(sql, "execute");
}

static int prepare(peer_sql *sql, const char *query) {
    if (sql->query && strcmp(sql->query, query) == 0) return sqlite3_reset(sql->statement);
    sqlite3_finalize(sql->statement);
    free(sql->query);
    sql->statement = NULL;
    sql->query = strdup(query);
    if (!sql->query) return peer_fail("out of memory");
    return sqlite3_prepare_v2(sql->connection, query, -1, &sql->statement, NULL) == SQLITE_OK ? 0
                                                                                           : failed(sql, "prepare");
}

int64_t peer_sql_rows(peer_sql *sql, const char *query) {
    if (prepare(sql, query) != 0) return -1;
    int columns = sqlite3_column_count(sql->statement);
    int64_t count = 0;
    int step;
    while ((step = sqlite3_step(sql->statement)) == SQLITE_ROW) {
        for (int at = 0; at < columns; at++) {
            if (sqlite3_column_type(sql->statement, at) == SQLITE_TEXT) sqlite3_column_text(sql->statement, at);
            else sqlite3_column_int64(sql->statement, at);
        }
        count++;
    }
    return step == SQLITE_DONE ? count : failed(sql, "read");
}
