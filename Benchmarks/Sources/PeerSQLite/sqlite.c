#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "peer_codec.h"
#include "peer_sqlite.h"

enum {
    BEGIN, COMMIT, ROLLBACK, INSERT, CHANGE, UPDATE, DELETE, WRITE_STATEMENTS
};
enum {
    BEGIN_READ, END_READ, GET, EMAIL, AGES, SCAN, SORT, DEPARTMENT, OUTBOX, COUNT, CHANGES, ALL,
    READ_STATEMENTS
};

static const char *schema =
    "CREATE TABLE contact(id BLOB PRIMARY KEY NOT NULL, firstName TEXT NOT NULL,"
    " lastName TEXT NOT NULL, email TEXT NOT NULL, age INTEGER NOT NULL, balance REAL NOT NULL,"
    " active INTEGER NOT NULL, createdAt INTEGER NOT NULL, notes TEXT NOT NULL,"
    " department BLOB) WITHOUT ROWID;"
    "CREATE INDEX contact_email ON contact(email);"
    "CREATE INDEX contact_age ON contact(age);"
    "CREATE INDEX contact_department ON contact(department);"
    "CREATE TABLE outbox(sequence INTEGER PRIMARY KEY, change BLOB NOT NULL);";

static const char *write_texts[WRITE_STATEMENTS] = {
    "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK",
    "INSERT INTO contact VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
    "INSERT INTO outbox(change) VALUES(?1)",
    "UPDATE contact SET balance=?2 WHERE id=?1",
    "DELETE FROM contact WHERE id=?1",
};

static const char *read_texts[READ_STATEMENTS] = {
    "BEGIN", "COMMIT",
    "SELECT * FROM contact WHERE id=?1",
    "SELECT * FROM contact WHERE email=?1",
    "SELECT * FROM contact WHERE age>=?1 AND age<?2",
    "SELECT * FROM contact WHERE balance>=?1",
    "SELECT * FROM contact ORDER BY lastName, id LIMIT ?1",
    "SELECT * FROM contact WHERE department=?1",
    "SELECT change FROM outbox ORDER BY sequence",
    "SELECT count(*) FROM contact", "SELECT count(*) FROM outbox",
    "SELECT * FROM contact",
};

struct peer_engine {
    sqlite3 *writer;
    sqlite3 *reader;
    sqlite3_stmt *writes[WRITE_STATEMENTS];
    sqlite3_stmt *reads[READ_STATEMENTS];
    uint64_t transaction;
    uint64_t clock;
    /// One writer at a time, as SQLite allows no more; waiting here is fairer and faster than its
    /// busy handler, which sleeps.
    pthread_mutex_t lock;
};

static int failure(sqlite3 *connection, const char *what) {
    return peer_fail("SQLite, %s: %s", what, connection ? sqlite3_errmsg(connection) : "no memory");
}

static void close_engine(peer_engine *engine) {
    if (!engine) return;
    for (int index = 0; index < WRITE_STATEMENTS; index++) sqlite3_finalize(engine->writes[index]);
    for (int index = 0; index < READ_STATEMENTS; index++) sqlite3_finalize(engine->reads[index]);
    sqlite3_close(engine->reader);
    sqlite3_close(engine->writer);
    pthread_mutex_destroy(&engine->lock);
    free(engine);
}

static sqlite3 *connect(const char *path, bool is_tuned) {
    sqlite3 *connection = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &connection, flags, NULL) != SQLITE_OK) {
        failure(connection, "open");
        sqlite3_close(connection);
        return NULL;
    }
    const char *settings = is_tuned
        ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536;"
          "PRAGMA mmap_size=1073741824;"
        : "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;";
    if (sqlite3_exec(connection, settings, NULL, NULL, NULL) == SQLITE_OK) return connection;
    failure(connection, "settings");
    sqlite3_close(connection);
    return NULL;
}

static int prepare(sqlite3 *connection, const char **texts, sqlite3_stmt **statements, int count) {
    for (int index = 0; index < count; index++)
        if (sqlite3_prepare_v3(connection, texts[index], -1, SQLITE_PREPARE_PERSISTENT,
                               &statements[index], NULL) != SQLITE_OK)
            return failure(connection, texts[index]);
    return 0;
}

static peer_engine *open_engine(const char *directory, bool is_tuned) {
    peer_engine *engine = calloc(1, sizeof *engine);
    char path[4096];
    snprintf(path, sizeof path, "%s/contacts.sqlite", directory);
    if (!engine) return NULL;
    pthread_mutex_init(&engine->lock, NULL);
    engine->writer = connect(path, is_tuned);
    if (engine->writer && sqlite3_exec(engine->writer, schema, NULL, NULL, NULL) != SQLITE_OK) {
        failure(engine->writer, "schema");
        close_engine(engine);
        return NULL;
    }
    engine->reader = engine->writer ? connect(path, is_tuned) : NULL;
    if (!engine->reader
        || prepare(engine->writer, write_texts, engine->writes, WRITE_STATEMENTS) != 0
        || prepare(engine->reader, read_texts, engine->reads, READ_STATEMENTS) != 0) {
        close_engine(engine);
        return NULL;
    }
    return engine;
}

static peer_engine *open_plain(const char *directory) { return open_engine(directory, false); }
static peer_engine *open_tuned(const char *directory) { return open_engine(directory, true); }

/// Runs a statement that returns no rows.
static int run(sqlite3 *connection, sqlite3_stmt *statement, const char *what) {
    int status = sqlite3_step(statement);
    int result = status == SQLITE_DONE || status == SQLITE_ROW ? 0 : failure(connection, what);
    sqlite3_reset(statement);
    return result;
}

// MARK: Writing

static int begin(peer_engine *engine) {
    if (run(engine->writer, engine->writes[BEGIN], "begin")) return -1;
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    engine->clock = (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
    engine->transaction += 1;
    return 0;
}

static int end(peer_engine *engine, int result) {
    if (result == 0) return run(engine->writer, engine->writes[COMMIT], "commit");
    run(engine->writer, engine->writes[ROLLBACK], "roll back");
    return result;
}

static int note(peer_engine *engine, const uint8_t *change, size_t count) {
    sqlite3_stmt *statement = engine->writes[CHANGE];
    sqlite3_bind_blob(statement, 1, change, (int)count, SQLITE_STATIC);
    return run(engine->writer, statement, "note a change");
}

static void bind_text(sqlite3_stmt *statement, int index, peer_text text) {
    sqlite3_bind_text(statement, index, text.bytes, (int)text.count, SQLITE_STATIC);
}

static int insert_one(peer_engine *engine, const peer_contact *contact) {
    sqlite3_stmt *statement = engine->writes[INSERT];
    sqlite3_bind_blob(statement, 1, contact->id, 16, SQLITE_STATIC);
    bind_text(statement, 2, contact->first_name);
    bind_text(statement, 3, contact->last_name);
    bind_text(statement, 4, contact->email);
    sqlite3_bind_int64(statement, 5, contact->age);
    sqlite3_bind_double(statement, 6, contact->balance);
    sqlite3_bind_int(statement, 7, contact->active);
    sqlite3_bind_int64(statement, 8, contact->created_at);
    bind_text(statement, 9, contact->notes);
    sqlite3_bind_blob(statement, 10, contact->department, 16, SQLITE_STATIC);
    if (run(engine->writer, statement, "insert")) return -1;
    uint8_t change[PEER_CHANGE_MAX];
    peer_change_head(change, PEER_INSERT, engine->transaction, engine->clock, contact->id);
    size_t count = peer_pack(contact, change + PEER_CHANGE_PAYLOAD);
    return note(engine, change, PEER_CHANGE_PAYLOAD + count);
}

static int insert(peer_engine *engine, const peer_contact *contacts, size_t count) {
    if (begin(engine)) return -1;
    int result = 0;
    for (size_t index = 0; result == 0 && index < count; index++)
        result = insert_one(engine, &contacts[index]);
    return end(engine, result);
}

static int save(peer_engine *engine, const peer_contact *contact) {
    pthread_mutex_lock(&engine->lock);
    int result = insert(engine, contact, 1);
    pthread_mutex_unlock(&engine->lock);
    return result;
}

/// Fails unless the last statement changed one row.
static int changed_one(peer_engine *engine) {
    return sqlite3_changes(engine->writer) == 1 ? 0 : peer_fail("SQLite: there is no such row");
}

static int update(peer_engine *engine, const peer_update *updates, size_t count) {
    if (begin(engine)) return -1;
    int result = 0;
    for (size_t index = 0; result == 0 && index < count; index++) {
        sqlite3_stmt *statement = engine->writes[UPDATE];
        sqlite3_bind_blob(statement, 1, updates[index].id, 16, SQLITE_STATIC);
        sqlite3_bind_double(statement, 2, updates[index].balance);
        result = run(engine->writer, statement, "update");
        if (result == 0) result = changed_one(engine);
        uint8_t change[PEER_CHANGE_PAYLOAD + 8];
        peer_change_head(change, PEER_UPDATE, engine->transaction, engine->clock,
                         updates[index].id);
        memcpy(change + PEER_CHANGE_PAYLOAD, &updates[index].balance, 8);
        if (result == 0) result = note(engine, change, sizeof change);
    }
    return end(engine, result);
}

static int remove_rows(peer_engine *engine, const uint8_t (*ids)[16], size_t count) {
    if (begin(engine)) return -1;
    int result = 0;
    for (size_t index = 0; result == 0 && index < count; index++) {
        sqlite3_stmt *statement = engine->writes[DELETE];
        sqlite3_bind_blob(statement, 1, ids[index], 16, SQLITE_STATIC);
        result = run(engine->writer, statement, "delete");
        if (result == 0) result = changed_one(engine);
        uint8_t change[PEER_CHANGE_PAYLOAD];
        peer_change_head(change, PEER_DELETE, engine->transaction, engine->clock, ids[index]);
        if (result == 0) result = note(engine, change, sizeof change);
    }
    return end(engine, result);
}

// MARK: Reading

static int begin_read(peer_engine *engine) {
    return run(engine->reader, engine->reads[BEGIN_READ], "begin to read");
}

static void end_read(peer_engine *engine) {
    run(engine->reader, engine->reads[END_READ], "end reading");
}

/// Copies a text column behind the others.
static int take_text(sqlite3_stmt *statement, int column, int index, peer_row *row) {
    uint16_t start = index ? row->ends[index - 1] : 0;
    const unsigned char *text = sqlite3_column_text(statement, column);
    int count = sqlite3_column_bytes(statement, column);
    if (start + count > PEER_TEXT_MAX) return peer_fail("SQLite: a text is too long");
    memcpy(row->text + start, text, (size_t)count);
    row->ends[index] = (uint16_t)(start + count);
    return 0;
}

static int take_row(sqlite3_stmt *statement, peer_row *row) {
    if (sqlite3_column_bytes(statement, 0) != 16 || sqlite3_column_bytes(statement, 9) != 16)
        return peer_fail("SQLite: an id is not of 16 bytes");
    memcpy(row->id, sqlite3_column_blob(statement, 0), 16);
    memcpy(row->department, sqlite3_column_blob(statement, 9), 16);
    if (take_text(statement, 1, 0, row) || take_text(statement, 2, 1, row)
        || take_text(statement, 3, 2, row) || take_text(statement, 8, 3, row))
        return -1;
    row->age = sqlite3_column_int64(statement, 4);
    row->balance = sqlite3_column_double(statement, 5);
    row->active = sqlite3_column_int(statement, 6) != 0;
    row->created_at = sqlite3_column_int64(statement, 7);
    return 0;
}

/// Reads all rows of a statement whose parameters are bound.
static int take_all(peer_engine *engine, sqlite3_stmt *statement, peer_rows *found) {
    int status, result = 0;
    while (result == 0 && (status = sqlite3_step(statement)) == SQLITE_ROW) {
        peer_row *row = peer_rows_next(found);
        result = row ? take_row(statement, row) : -1;
    }
    if (result == 0 && status != SQLITE_DONE) result = failure(engine->reader, "query");
    sqlite3_reset(statement);
    return result;
}

static int get(peer_engine *engine, const uint8_t id[16], peer_row *row) {
    sqlite3_stmt *statement = engine->reads[GET];
    sqlite3_bind_blob(statement, 1, id, 16, SQLITE_STATIC);
    int result = sqlite3_step(statement) == SQLITE_ROW ? take_row(statement, row)
                                                       : failure(engine->reader, "get");
    sqlite3_reset(statement);
    return result;
}

static int find_email(peer_engine *engine, peer_text email, peer_rows *found) {
    bind_text(engine->reads[EMAIL], 1, email);
    return take_all(engine, engine->reads[EMAIL], found);
}

static int find_ages(peer_engine *engine, int64_t low, int64_t high, peer_rows *found) {
    sqlite3_bind_int64(engine->reads[AGES], 1, low);
    sqlite3_bind_int64(engine->reads[AGES], 2, high);
    return take_all(engine, engine->reads[AGES], found);
}

static int scan_balance(peer_engine *engine, double low, peer_rows *found) {
    sqlite3_bind_double(engine->reads[SCAN], 1, low);
    return take_all(engine, engine->reads[SCAN], found);
}

static int sort_by_last_name(peer_engine *engine, size_t limit, peer_rows *found) {
    sqlite3_bind_int64(engine->reads[SORT], 1, (int64_t)limit);
    return take_all(engine, engine->reads[SORT], found);
}

static int find_department(peer_engine *engine, const uint8_t department[16], peer_rows *found) {
    sqlite3_bind_blob(engine->reads[DEPARTMENT], 1, department, 16, SQLITE_STATIC);
    return take_all(engine, engine->reads[DEPARTMENT], found);
}

static int fold(peer_engine *engine, peer_buffer *json, size_t *modifications) {
    peer_fold *state = peer_fold_make();
    if (!state) return peer_fail("out of memory");
    sqlite3_stmt *statement = engine->reads[OUTBOX];
    int status, result = 0;
    while (result == 0 && (status = sqlite3_step(statement)) == SQLITE_ROW)
        result = peer_fold_add(state, sqlite3_column_blob(statement, 0),
                               (size_t)sqlite3_column_bytes(statement, 0));
    if (result == 0 && status != SQLITE_DONE) result = failure(engine->reader, "read the outbox");
    sqlite3_reset(statement);
    if (result == 0) result = peer_fold_write(state, json, modifications);
    peer_fold_free(state);
    return result;
}

static int count_of(peer_engine *engine, int which, uint64_t *count) {
    sqlite3_stmt *statement = engine->reads[which];
    int result = sqlite3_step(statement) == SQLITE_ROW ? 0 : failure(engine->reader, "count");
    *count = (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return result;
}

static int census(peer_engine *engine, uint64_t *rows, uint64_t *changes, uint64_t *digest) {
    if (count_of(engine, COUNT, rows) || count_of(engine, CHANGES, changes)) return -1;
    sqlite3_stmt *statement = engine->reads[ALL];
    peer_row row;
    int status, result = 0;
    *digest = 0;
    while (result == 0 && (status = sqlite3_step(statement)) == SQLITE_ROW) {
        result = take_row(statement, &row);
        *digest += peer_digest(&row);
    }
    if (result == 0 && status != SQLITE_DONE) result = failure(engine->reader, "read all rows");
    sqlite3_reset(statement);
    return result;
}

/// Moves what is in the WAL to its place and empties it.
static int settle(peer_engine *engine) {
    return sqlite3_wal_checkpoint_v2(engine->writer, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL)
               == SQLITE_OK ? 0 : failure(engine->writer, "checkpoint");
}

#define OPERATIONS(engine_name, open_function)                                                    \
    {                                                                                             \
        .name = engine_name, .open = open_function, .close = close_engine, .insert = insert,      \
        .save = save, .update = update, .remove = remove_rows, .begin_read = begin_read,          \
        .end_read = end_read, .get = get, .find_email = find_email, .find_ages = find_ages,       \
        .scan_balance = scan_balance, .sort_by_last_name = sort_by_last_name,                     \
        .find_department = find_department, .fold = fold, .census = census, .settle = settle,     \
    }

const peer_operations *peer_sqlite(void) {
    static const peer_operations operations = OPERATIONS("sqlite-c", open_plain);
    return &operations;
}

const peer_operations *peer_sqlite_tuned(void) {
    static const peer_operations operations = OPERATIONS("sqlite-c-tuned", open_tuned);
    return &operations;
}
