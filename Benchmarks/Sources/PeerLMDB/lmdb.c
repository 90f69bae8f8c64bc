#include <lmdb.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "peer_codec.h"
#include "peer_lmdb.h"

enum { ROWS, EMAILS, AGES, DEPARTMENTS, DATABASES };

/// The row: sequence of the last change and of the last one that was synced, flags; then packed.
#define ROW_HEAD 24

/// A save that waits for a commit.
typedef struct waiting {
    const peer_contact *contact;
    struct waiting *next;
    int result;
    bool is_done;
    char message[256];
} waiting;

struct peer_engine {
    MDB_env *environment;
    MDB_dbi log;
    MDB_dbi tables[DATABASES];
    MDB_txn *read;
    MDB_cursor *cursors[DATABASES];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    waiting *queue;
    size_t queued;
    size_t last_batch;
    bool is_committing;
};

static int check(int status, const char *what) {
    return status == 0 ? 0 : peer_fail("LMDB, %s: %s", what, mdb_strerror(status));
}

static void close_engine(peer_engine *engine) {
    if (!engine) return;
    for (int index = 0; index < DATABASES; index++)
        if (engine->cursors[index]) mdb_cursor_close(engine->cursors[index]);
    if (engine->read) mdb_txn_abort(engine->read);
    if (engine->environment) mdb_env_close(engine->environment);
    pthread_mutex_destroy(&engine->lock);
    pthread_cond_destroy(&engine->changed);
    free(engine);
}

static int open_files(peer_engine *engine, const char *directory) {
    static const char *names[DATABASES] = {"rows", "emails", "ages", "departments"};
    if (check(mdb_env_create(&engine->environment), "create")) return -1;
    if (check(mdb_env_set_mapsize(engine->environment, (size_t)1 << 34), "map size")) return -1;
    if (check(mdb_env_set_maxdbs(engine->environment, DATABASES + 1), "databases")) return -1;
    if (check(mdb_env_open(engine->environment, directory, MDB_NOTLS, 0644), "open")) return -1;
    MDB_txn *txn;
    if (check(mdb_txn_begin(engine->environment, NULL, 0, &txn), "begin")) return -1;
    int status = mdb_dbi_open(txn, "log", MDB_CREATE, &engine->log);
    for (int index = 0; status == 0 && index < DATABASES; index++)
        status = mdb_dbi_open(txn, names[index], MDB_CREATE, &engine->tables[index]);
    if (status) {
        mdb_txn_abort(txn);
        return check(status, "open a database");
    }
    return check(mdb_txn_commit(txn), "commit");
}

static peer_engine *open_engine(const char *directory) {
    peer_engine *engine = calloc(1, sizeof *engine);
    if (!engine) return NULL;
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->changed, NULL);
    if (open_files(engine, directory) == 0) return engine;
    close_engine(engine);
    return NULL;
}

// MARK: Writing

/// A write transaction and where its log stands.
typedef struct {
    MDB_txn *txn;
    uint64_t first;
    uint64_t next;
    uint64_t clock;
} write_state;

static int begin(peer_engine *engine, write_state *state) {
    if (check(mdb_txn_begin(engine->environment, NULL, 0, &state->txn), "begin")) return -1;
    MDB_cursor *cursor;
    MDB_val key, value;
    int status = mdb_cursor_open(state->txn, engine->log, &cursor);
    if (status == 0) {
        status = mdb_cursor_get(cursor, &key, &value, MDB_LAST);
        state->first = status == 0 ? peer_get_big(key.mv_data) + 1 : 1;
        if (status == MDB_NOTFOUND) status = 0;
        mdb_cursor_close(cursor);
    }
    if (status) {
        mdb_txn_abort(state->txn);
        return check(status, "find the end of the log");
    }
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    state->clock = (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
    state->next = state->first;
    return 0;
}

static int end(write_state *state, int result) {
    if (result == 0) return check(mdb_txn_commit(state->txn), "commit");
    mdb_txn_abort(state->txn);
    return result;
}

static int append(peer_engine *engine, write_state *state, const uint8_t *change, size_t count) {
    uint8_t sequence[8];
    peer_put_big(sequence, state->next++);
    MDB_val key = {8, sequence}, value = {count, (void *)change};
    return check(mdb_put(state->txn, engine->log, &key, &value, MDB_APPEND), "append");
}

static size_t row_head(uint8_t *row, uint64_t sequence) {
    memset(row, 0, ROW_HEAD);
    memcpy(row, &sequence, 8);
    return ROW_HEAD;
}

/// Index keys of a row: email, age, department.
typedef struct {
    uint8_t email[PEER_EMAIL_KEY_MAX];
    uint8_t age[24];
    uint8_t department[32];
    MDB_val keys[3];
} index_keys;

static void fill(index_keys *keys, peer_text email, int64_t age, const uint8_t *department,
                 const uint8_t *id) {
    size_t count = peer_put_email(keys->email, email);
    memcpy(keys->email + count, id, 16);
    peer_put_age(keys->age, age);
    memcpy(keys->age + 8, id, 16);
    memcpy(keys->department, department, 16);
    memcpy(keys->department + 16, id, 16);
    keys->keys[0] = (MDB_val){count + 16, keys->email};
    keys->keys[1] = (MDB_val){24, keys->age};
    keys->keys[2] = (MDB_val){32, keys->department};
}

static int insert_one(peer_engine *engine, write_state *state, const peer_contact *contact) {
    uint8_t change[PEER_CHANGE_MAX], row[ROW_HEAD + PEER_PACKED_MAX];
    peer_change_head(change, PEER_INSERT, state->first, state->clock, contact->id);
    size_t count = peer_pack(contact, change + PEER_CHANGE_PAYLOAD);
    size_t head = row_head(row, state->next);
    memcpy(row + head, change + PEER_CHANGE_PAYLOAD, count);
    if (append(engine, state, change, PEER_CHANGE_PAYLOAD + count)) return -1;
    MDB_val key = {16, (void *)contact->id}, value = {head + count, row};
    int status = mdb_put(state->txn, engine->tables[ROWS], &key, &value, MDB_NOOVERWRITE);
    if (status) return check(status, "put a row");
    index_keys keys;
    fill(&keys, contact->email, contact->age, contact->department, contact->id);
    MDB_val empty = {0, NULL};
    for (int index = 0; index < 3; index++) {
        status = mdb_put(state->txn, engine->tables[EMAILS + index], &keys.keys[index], &empty, 0);
        if (status) return check(status, "put an index entry");
    }
    return 0;
}

static int insert(peer_engine *engine, const peer_contact *contacts, size_t count) {
    write_state state;
    if (begin(engine, &state)) return -1;
    int result = 0;
    for (size_t index = 0; result == 0 && index < count; index++)
        result = insert_one(engine, &state, &contacts[index]);
    return end(&state, result);
}

static int update(peer_engine *engine, const peer_update *updates, size_t count) {
    write_state state;
    if (begin(engine, &state)) return -1;
    for (size_t index = 0; index < count; index++) {
        MDB_val key = {16, (void *)updates[index].id}, value;
        int status = mdb_get(state.txn, engine->tables[ROWS], &key, &value);
        if (status) return end(&state, check(status, "find a row"));
        uint8_t row[ROW_HEAD + PEER_PACKED_MAX], change[PEER_CHANGE_PAYLOAD + 16];
        memcpy(row, value.mv_data, value.mv_size);
        peer_change_head(change, PEER_UPDATE, state.first, state.clock, updates[index].id);
        memcpy(change + PEER_CHANGE_PAYLOAD, &updates[index].balance, 8);
        memcpy(change + PEER_CHANGE_PAYLOAD + 8, row + ROW_HEAD + PEER_PACKED_BALANCE, 8);
        memcpy(row + ROW_HEAD + PEER_PACKED_BALANCE, &updates[index].balance, 8);
        memcpy(row, &state.next, 8);
        if (append(engine, &state, change, sizeof change)) return end(&state, -1);
        value.mv_data = row;
        status = mdb_put(state.txn, engine->tables[ROWS], &key, &value, 0);
        if (status) return end(&state, check(status, "put a row"));
    }
    return end(&state, 0);
}

static int remove_rows(peer_engine *engine, const uint8_t (*ids)[16], size_t count) {
    write_state state;
    if (begin(engine, &state)) return -1;
    for (size_t index = 0; index < count; index++) {
        MDB_val key = {16, (void *)ids[index]}, value;
        int status = mdb_get(state.txn, engine->tables[ROWS], &key, &value);
        if (status) return end(&state, check(status, "find a row"));
        uint8_t change[PEER_CHANGE_MAX];
        const uint8_t *packed = change + PEER_CHANGE_PAYLOAD;
        size_t packed_count = value.mv_size - ROW_HEAD;
        peer_change_head(change, PEER_DELETE, state.first, state.clock, ids[index]);
        memcpy(change + PEER_CHANGE_PAYLOAD, (uint8_t *)value.mv_data + ROW_HEAD, packed_count);
        if (append(engine, &state, change, PEER_CHANGE_PAYLOAD + packed_count))
            return end(&state, -1);
        status = mdb_del(state.txn, engine->tables[ROWS], &key, NULL);
        index_keys keys;
        fill(&keys, peer_packed_text(packed, 2), peer_packed_age(packed), packed, ids[index]);
        for (int table = 0; status == 0 && table < 3; table++)
            status = mdb_del(state.txn, engine->tables[EMAILS + table], &keys.keys[table], NULL);
        if (status) return end(&state, check(status, "delete"));
    }
    return end(&state, 0);
}

// MARK: Shared commits

static void commit_batch(peer_engine *engine, waiting *batch) {
    write_state state;
    int result = begin(engine, &state);
    if (result == 0) {
        for (waiting *item = batch; result == 0 && item; item = item->next)
            result = insert_one(engine, &state, item->contact);
        result = end(&state, result);
    }
    for (waiting *item = batch; item; item = item->next) {
        item->result = result;
        if (result) strncpy(item->message, peer_error_message(), sizeof item->message - 1);
    }
}

/// Gives those that the last commit woke the time to bring their next save; with the lock held.
static void gather(peer_engine *engine) {
    size_t before = 0;
    while (engine->queued < engine->last_batch && engine->queued > before) {
        before = engine->queued;
        pthread_mutex_unlock(&engine->lock);
        sched_yield();
        pthread_mutex_lock(&engine->lock);
    }
}

/// The first that finds no commit under way commits for all that wait.
static int save(peer_engine *engine, const peer_contact *contact) {
    waiting mine = {.contact = contact};
    pthread_mutex_lock(&engine->lock);
    mine.next = engine->queue;
    engine->queue = &mine;
    engine->queued += 1;
    while (!mine.is_done) {
        if (engine->is_committing) {
            pthread_cond_wait(&engine->changed, &engine->lock);
            continue;
        }
        engine->is_committing = true;
        gather(engine);
        waiting *batch = engine->queue;
        engine->last_batch = engine->queued;
        engine->queue = NULL;
        engine->queued = 0;
        pthread_mutex_unlock(&engine->lock);
        commit_batch(engine, batch);
        pthread_mutex_lock(&engine->lock);
        engine->is_committing = false;
        for (waiting *item = batch, *next; item; item = next) {
            next = item->next;
            item->is_done = true;
        }
        pthread_cond_broadcast(&engine->changed);
    }
    pthread_mutex_unlock(&engine->lock);
    return mine.result ? peer_fail("%s", mine.message) : 0;
}

// MARK: Reading

static int begin_read(peer_engine *engine) {
    if (engine->read) {
        if (check(mdb_txn_renew(engine->read), "renew")) return -1;
    } else if (check(mdb_txn_begin(engine->environment, NULL, MDB_RDONLY, &engine->read),
                     "begin to read")) {
        return -1;
    }
    return 0;
}

static void end_read(peer_engine *engine) { mdb_txn_reset(engine->read); }

static MDB_cursor *cursor(peer_engine *engine, int table) {
    int status = engine->cursors[table]
        ? mdb_cursor_renew(engine->read, engine->cursors[table])
        : mdb_cursor_open(engine->read, engine->tables[table], &engine->cursors[table]);
    if (check(status, "open a cursor")) return NULL;
    return engine->cursors[table];
}

static int get(peer_engine *engine, const uint8_t id[16], peer_row *row) {
    MDB_val key = {16, (void *)id}, value;
    int status = mdb_get(engine->read, engine->tables[ROWS], &key, &value);
    if (status) return check(status, "get a row");
    return peer_unpack((uint8_t *)value.mv_data + ROW_HEAD, value.mv_size - ROW_HEAD, id, row);
}

/// Reads the rows whose index keys lie between two bounds; the id is the end of each key.
static int find(peer_engine *engine, int table, MDB_val low, MDB_val high, peer_rows *found) {
    MDB_cursor *walk = cursor(engine, table);
    if (!walk) return -1;
    MDB_val key = low, value;
    int status = mdb_cursor_get(walk, &key, &value, MDB_SET_RANGE);
    while (status == 0) {
        size_t common = key.mv_size < high.mv_size ? key.mv_size : high.mv_size;
        if (memcmp(key.mv_data, high.mv_data, common) >= 0) return 0;
        peer_row *row = peer_rows_next(found);
        if (!row || get(engine, (uint8_t *)key.mv_data + key.mv_size - 16, row)) return -1;
        status = mdb_cursor_get(walk, &key, &value, MDB_NEXT);
    }
    return status == MDB_NOTFOUND ? 0 : check(status, "walk an index");
}

static int find_email(peer_engine *engine, peer_text email, peer_rows *found) {
    uint8_t low[PEER_EMAIL_KEY_MAX], high[PEER_EMAIL_KEY_MAX];
    size_t count = peer_put_email(low, email);
    memcpy(high, low, count);
    high[count - 1] = 1;
    return find(engine, EMAILS, (MDB_val){count, low}, (MDB_val){count, high}, found);
}

static int find_ages(peer_engine *engine, int64_t low, int64_t high, peer_rows *found) {
    uint8_t first[8], last[8];
    peer_put_age(first, low);
    peer_put_age(last, high);
    return find(engine, AGES, (MDB_val){8, first}, (MDB_val){8, last}, found);
}

static int find_department(peer_engine *engine, const uint8_t department[16], peer_rows *found) {
    MDB_cursor *walk = cursor(engine, DEPARTMENTS);
    if (!walk) return -1;
    MDB_val key = {16, (void *)department}, value;
    int status = mdb_cursor_get(walk, &key, &value, MDB_SET_RANGE);
    while (status == 0 && memcmp(key.mv_data, department, 16) == 0) {
        peer_row *row = peer_rows_next(found);
        if (!row || get(engine, (uint8_t *)key.mv_data + 16, row)) return -1;
        status = mdb_cursor_get(walk, &key, &value, MDB_NEXT);
    }
    return status == 0 || status == MDB_NOTFOUND ? 0 : check(status, "walk an index");
}

static int scan_balance(peer_engine *engine, double low, peer_rows *found) {
    MDB_cursor *walk = cursor(engine, ROWS);
    if (!walk) return -1;
    MDB_val key, value;
    int status;
    while ((status = mdb_cursor_get(walk, &key, &value, MDB_NEXT)) == 0) {
        const uint8_t *packed = (uint8_t *)value.mv_data + ROW_HEAD;
        if (peer_packed_balance(packed) < low) continue;
        peer_row *row = peer_rows_next(found);
        if (!row || peer_unpack(packed, value.mv_size - ROW_HEAD, key.mv_data, row)) return -1;
    }
    return status == MDB_NOTFOUND ? 0 : check(status, "walk the rows");
}

static int sort_by_last_name(peer_engine *engine, size_t limit, peer_rows *found) {
    MDB_cursor *walk = cursor(engine, ROWS);
    peer_candidate *heap = malloc(limit * sizeof *heap);
    if (!walk || !heap) return -1;
    MDB_val key, value;
    size_t count = 0;
    int status;
    // The map does not move within a transaction, so that candidates point into it.
    while ((status = mdb_cursor_get(walk, &key, &value, MDB_NEXT)) == 0)
        peer_heap_offer(heap, &count, limit,
                        (peer_candidate){key.mv_data, (uint8_t *)value.mv_data + ROW_HEAD,
                                         value.mv_size - ROW_HEAD});
    peer_heap_sort(heap, count);
    int result = status == MDB_NOTFOUND ? 0 : check(status, "walk the rows");
    for (size_t index = 0; result == 0 && index < count; index++) {
        peer_row *row = peer_rows_next(found);
        result = row ? peer_unpack(heap[index].packed, heap[index].count, heap[index].id, row) : -1;
    }
    free(heap);
    return result;
}

static int fold(peer_engine *engine, peer_buffer *json, size_t *modifications) {
    if (begin_read(engine)) return -1;
    peer_fold *state = peer_fold_make();
    MDB_cursor *walk;
    MDB_val key, value;
    int status = mdb_cursor_open(engine->read, engine->log, &walk);
    if (!state || status) return check(status, "open the log");
    int result = 0;
    while (result == 0 && (status = mdb_cursor_get(walk, &key, &value, MDB_NEXT)) == 0)
        result = peer_fold_add(state, value.mv_data, value.mv_size);
    mdb_cursor_close(walk);
    end_read(engine);
    if (result == 0) result = peer_fold_write(state, json, modifications);
    peer_fold_free(state);
    return result;
}

static int census(peer_engine *engine, uint64_t *rows, uint64_t *changes, uint64_t *digest) {
    if (begin_read(engine)) return -1;
    MDB_stat log;
    int result = check(mdb_stat(engine->read, engine->log, &log), "count the log");
    *changes = log.ms_entries;
    *rows = *digest = 0;
    MDB_cursor *walk = cursor(engine, ROWS);
    MDB_val key, value;
    peer_row row;
    while (result == 0 && walk && mdb_cursor_get(walk, &key, &value, MDB_NEXT) == 0) {
        result = peer_unpack((uint8_t *)value.mv_data + ROW_HEAD, value.mv_size - ROW_HEAD,
                             key.mv_data, &row);
        *digest += peer_digest(&row);
        *rows += 1;
    }
    for (int table = EMAILS; result == 0 && table < DATABASES; table++) {
        MDB_stat entries;
        result = check(mdb_stat(engine->read, engine->tables[table], &entries), "count");
        if (result == 0 && entries.ms_entries != *rows)
            result = peer_fail("an index has %zu entries for %llu rows", entries.ms_entries,
                               (unsigned long long)*rows);
    }
    end_read(engine);
    return result;
}

static int settle(peer_engine *engine) {
    (void)engine;
    return 0;
}

const peer_operations *peer_lmdb(void) {
    static const peer_operations operations = {
        .name = "lmdb-c",
        .open = open_engine,
        .close = close_engine,
        .insert = insert,
        .save = save,
        .update = update,
        .remove = remove_rows,
        .begin_read = begin_read,
        .end_read = end_read,
        .get = get,
        .find_email = find_email,
        .find_ages = find_ages,
        .scan_balance = scan_balance,
        .sort_by_last_name = sort_by_last_name,
        .find_department = find_department,
        .fold = fold,
        .census = census,
        .settle = settle,
    };
    return &operations;
}
