#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "peer_codec.h"
#include "peer_rocksdb.h"

enum { ROWS, EMAILS, AGES, DEPARTMENTS, OUTBOX, FAMILIES };

struct peer_engine {
    rocksdb_t *database;
    rocksdb_options_t *options;
    rocksdb_cache_t *cache;
    rocksdb_column_family_handle_t *families[FAMILIES];
    rocksdb_writeoptions_t *writing;
    rocksdb_readoptions_t *reading;
    /// Iterators of the snapshot that is being read.
    rocksdb_iterator_t *iterators[FAMILIES];
    atomic_ullong sequence;
};

/// Takes an error of the library over; 0 where there is none.
static int check(char *error, const char *what) {
    if (!error) return 0;
    peer_fail("RocksDB, %s: %s", what, error);
    rocksdb_free(error);
    return -1;
}

static void end_read(peer_engine *engine) {
    for (int index = 0; index < FAMILIES; index++) {
        if (engine->iterators[index]) rocksdb_iter_destroy(engine->iterators[index]);
        engine->iterators[index] = NULL;
    }
}

static void close_engine(peer_engine *engine) {
    if (!engine) return;
    end_read(engine);
    for (int index = 0; index < FAMILIES; index++)
        if (engine->families[index]) rocksdb_column_family_handle_destroy(engine->families[index]);
    if (engine->database) rocksdb_close(engine->database);
    if (engine->writing) rocksdb_writeoptions_destroy(engine->writing);
    if (engine->reading) rocksdb_readoptions_destroy(engine->reading);
    if (engine->options) rocksdb_options_destroy(engine->options);
    if (engine->cache) rocksdb_cache_destroy(engine->cache);
    free(engine);
}

static peer_engine *open_engine(const char *directory) {
    static const char *names[FAMILIES] = {"default", "emails", "ages", "departments", "outbox"};
    peer_engine *engine = calloc(1, sizeof *engine);
    if (!engine) return NULL;
    engine->options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(engine->options, 1);
    rocksdb_options_set_create_missing_column_families(engine->options, 1);
    rocksdb_options_increase_parallelism(engine->options, 2);
    engine->cache = rocksdb_cache_create_lru(64 << 20);
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(table, engine->cache);
    rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom(10));
    rocksdb_options_set_block_based_table_factory(engine->options, table);
    rocksdb_block_based_options_destroy(table);
    engine->writing = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(engine->writing, 1);
    engine->reading = rocksdb_readoptions_create();
    const rocksdb_options_t *options[FAMILIES];
    for (int index = 0; index < FAMILIES; index++) options[index] = engine->options;
    char *error = NULL;
    engine->database = rocksdb_open_column_families(
        engine->options, directory, FAMILIES, names, options, engine->families, &error);
    if (check(error, "open") == 0) return engine;
    close_engine(engine);
    return NULL;
}

// MARK: Writing

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static void put(peer_engine *engine, rocksdb_writebatch_t *batch, int family, const void *key,
                size_t key_count, const void *value, size_t value_count) {
    rocksdb_writebatch_put_cf(batch, engine->families[family], key, key_count, value, value_count);
}

static void note(peer_engine *engine, rocksdb_writebatch_t *batch, uint64_t sequence,
                 const uint8_t *change, size_t count) {
    uint8_t key[8];
    peer_put_big(key, sequence);
    put(engine, batch, OUTBOX, key, 8, change, count);
}

static size_t email_key(uint8_t *key, peer_text email, const uint8_t *id) {
    size_t count = peer_put_email(key, email);
    memcpy(key + count, id, 16);
    return count + 16;
}

static void age_key(uint8_t *key, int64_t age, const uint8_t *id) {
    peer_put_age(key, age);
    memcpy(key + 8, id, 16);
}

static void department_key(uint8_t *key, const uint8_t *department, const uint8_t *id) {
    memcpy(key, department, 16);
    memcpy(key + 16, id, 16);
}

/// Writes a batch and takes it back.
static int commit(peer_engine *engine, rocksdb_writebatch_t *batch, int result) {
    char *error = NULL;
    if (result == 0) {
        rocksdb_write(engine->database, engine->writing, batch, &error);
        result = check(error, "write");
    }
    rocksdb_writebatch_destroy(batch);
    return result;
}

static int insert(peer_engine *engine, const peer_contact *contacts, size_t count) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    uint64_t clock = now();
    uint64_t first = atomic_fetch_add(&engine->sequence, count) + 1;
    for (size_t index = 0; index < count; index++) {
        const peer_contact *contact = &contacts[index];
        uint8_t change[PEER_CHANGE_MAX], email[PEER_EMAIL_KEY_MAX], age[24], department[32];
        peer_change_head(change, PEER_INSERT, first, clock, contact->id);
        size_t packed = peer_pack(contact, change + PEER_CHANGE_PAYLOAD);
        note(engine, batch, first + index, change, PEER_CHANGE_PAYLOAD + packed);
        put(engine, batch, ROWS, contact->id, 16, change + PEER_CHANGE_PAYLOAD, packed);
        put(engine, batch, EMAILS, email, email_key(email, contact->email, contact->id), "", 0);
        age_key(age, contact->age, contact->id);
        put(engine, batch, AGES, age, 24, "", 0);
        department_key(department, contact->department, contact->id);
        put(engine, batch, DEPARTMENTS, department, 32, "", 0);
    }
    return commit(engine, batch, 0);
}

static int save(peer_engine *engine, const peer_contact *contact) {
    return insert(engine, contact, 1);
}

/// Copies a packed row; its size, or -1.
static long read_packed(peer_engine *engine, const uint8_t *id, uint8_t *packed) {
    char *error = NULL;
    rocksdb_pinnableslice_t *slice = rocksdb_get_pinned_cf(
        engine->database, engine->reading, engine->families[ROWS], (const char *)id, 16, &error);
    if (check(error, "get")) return -1;
    if (!slice) return peer_fail("RocksDB: there is no such row");
    size_t count;
    const char *bytes = rocksdb_pinnableslice_value(slice, &count);
    if (count > PEER_PACKED_MAX) count = PEER_PACKED_MAX;
    memcpy(packed, bytes, count);
    rocksdb_pinnableslice_destroy(slice);
    return (long)count;
}

static int update(peer_engine *engine, const peer_update *updates, size_t count) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    uint64_t clock = now();
    uint64_t first = atomic_fetch_add(&engine->sequence, count) + 1;
    int result = 0;
    for (size_t index = 0; result == 0 && index < count; index++) {
        uint8_t packed[PEER_PACKED_MAX], change[PEER_CHANGE_PAYLOAD + 16];
        long packed_count = read_packed(engine, updates[index].id, packed);
        if (packed_count < 0) result = -1;
        if (result) break;
        peer_change_head(change, PEER_UPDATE, first, clock, updates[index].id);
        memcpy(change + PEER_CHANGE_PAYLOAD, &updates[index].balance, 8);
        memcpy(change + PEER_CHANGE_PAYLOAD + 8, packed + PEER_PACKED_BALANCE, 8);
        memcpy(packed + PEER_PACKED_BALANCE, &updates[index].balance, 8);
        note(engine, batch, first + index, change, sizeof change);
        put(engine, batch, ROWS, updates[index].id, 16, packed, (size_t)packed_count);
    }
    return commit(engine, batch, result);
}

static void drop(peer_engine *engine, rocksdb_writebatch_t *batch, int family, const void *key,
                 size_t count) {
    rocksdb_writebatch_delete_cf(batch, engine->families[family], key, count);
}

static int remove_rows(peer_engine *engine, const uint8_t (*ids)[16], size_t count) {
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    uint64_t clock = now();
    uint64_t first = atomic_fetch_add(&engine->sequence, count) + 1;
    int result = 0;
    for (size_t index = 0; index < count; index++) {
        uint8_t change[PEER_CHANGE_MAX], email[PEER_EMAIL_KEY_MAX], age[24], department[32];
        uint8_t *packed = change + PEER_CHANGE_PAYLOAD;
        long packed_count = read_packed(engine, ids[index], packed);
        if (packed_count < 0) result = -1;
        if (result) break;
        peer_change_head(change, PEER_DELETE, first, clock, ids[index]);
        note(engine, batch, first + index, change, PEER_CHANGE_PAYLOAD + (size_t)packed_count);
        drop(engine, batch, ROWS, ids[index], 16);
        drop(engine, batch, EMAILS, email, email_key(email, peer_packed_text(packed, 2), ids[index]));
        age_key(age, peer_packed_age(packed), ids[index]);
        drop(engine, batch, AGES, age, 24);
        department_key(department, packed, ids[index]);
        drop(engine, batch, DEPARTMENTS, department, 32);
    }
    return commit(engine, batch, result);
}

// MARK: Reading

static int begin_read(peer_engine *engine) {
    end_read(engine);
    return 0;
}

static rocksdb_iterator_t *iterator(peer_engine *engine, int family) {
    if (!engine->iterators[family])
        engine->iterators[family] = rocksdb_create_iterator_cf(
            engine->database, engine->reading, engine->families[family]);
    return engine->iterators[family];
}

static int finished(rocksdb_iterator_t *walk) {
    char *error = NULL;
    rocksdb_iter_get_error(walk, &error);
    return check(error, "iterate");
}

static int get(peer_engine *engine, const uint8_t id[16], peer_row *row) {
    char *error = NULL;
    rocksdb_pinnableslice_t *slice = rocksdb_get_pinned_cf(
        engine->database, engine->reading, engine->families[ROWS], (const char *)id, 16, &error);
    if (check(error, "get")) return -1;
    if (!slice) return peer_fail("RocksDB: there is no such row");
    size_t count;
    const char *bytes = rocksdb_pinnableslice_value(slice, &count);
    int result = peer_unpack((const uint8_t *)bytes, count, id, row);
    rocksdb_pinnableslice_destroy(slice);
    return result;
}

/// Reads the rows whose index keys lie between two bounds; the id is the end of each key.
static int find(peer_engine *engine, int family, const uint8_t *low, const uint8_t *high,
                size_t count, bool includes_high, peer_rows *found) {
    rocksdb_iterator_t *walk = iterator(engine, family);
    for (rocksdb_iter_seek(walk, (const char *)low, count); rocksdb_iter_valid(walk);
         rocksdb_iter_next(walk)) {
        size_t key_count;
        const uint8_t *key = (const uint8_t *)rocksdb_iter_key(walk, &key_count);
        int order = memcmp(key, high, key_count < count ? key_count : count);
        if (order > 0 || (order == 0 && !includes_high)) return 0;
        peer_row *row = peer_rows_next(found);
        if (!row || get(engine, key + key_count - 16, row)) return -1;
    }
    return finished(walk);
}

static int find_email(peer_engine *engine, peer_text email, peer_rows *found) {
    uint8_t key[PEER_EMAIL_KEY_MAX];
    size_t count = peer_put_email(key, email);
    return find(engine, EMAILS, key, key, count, true, found);
}

static int find_ages(peer_engine *engine, int64_t low, int64_t high, peer_rows *found) {
    uint8_t first[8], last[8];
    peer_put_age(first, low);
    peer_put_age(last, high);
    return find(engine, AGES, first, last, 8, false, found);
}

static int find_department(peer_engine *engine, const uint8_t department[16], peer_rows *found) {
    return find(engine, DEPARTMENTS, department, department, 16, true, found);
}

/// The row that an iterator stands at.
static const uint8_t *current(rocksdb_iterator_t *walk, const uint8_t **id, size_t *count) {
    size_t id_count;
    *id = (const uint8_t *)rocksdb_iter_key(walk, &id_count);
    return (const uint8_t *)rocksdb_iter_value(walk, count);
}

static int scan_balance(peer_engine *engine, double low, peer_rows *found) {
    rocksdb_iterator_t *walk = iterator(engine, ROWS);
    for (rocksdb_iter_seek_to_first(walk); rocksdb_iter_valid(walk); rocksdb_iter_next(walk)) {
        const uint8_t *id;
        size_t count;
        const uint8_t *packed = current(walk, &id, &count);
        if (peer_packed_balance(packed) < low) continue;
        peer_row *row = peer_rows_next(found);
        if (!row || peer_unpack(packed, count, id, row)) return -1;
    }
    return finished(walk);
}

/// What a candidate points to is copied: the iterator's bytes change when it moves on.
typedef struct {
    uint8_t id[16];
    uint8_t packed[PEER_PACKED_MAX];
} kept_row;

static int sort_by_last_name(peer_engine *engine, size_t limit, peer_rows *found) {
    rocksdb_iterator_t *walk = iterator(engine, ROWS);
    peer_candidate *heap = malloc((limit + 1) * sizeof *heap);
    kept_row *kept = malloc((limit + 1) * sizeof *kept);
    if (!heap || !kept || limit == 0) return peer_fail("out of memory");
    size_t count = 0;
    // Always one place more than candidates, for the next one.
    kept_row *spare = &kept[limit];
    for (rocksdb_iter_seek_to_first(walk); rocksdb_iter_valid(walk); rocksdb_iter_next(walk)) {
        peer_candidate candidate;
        candidate.packed = current(walk, &candidate.id, &candidate.count);
        if (count == limit && !peer_precedes(&candidate, &heap[0])) continue;
        kept_row *place = count < limit ? &kept[count] : spare;
        if (count == limit) spare = (kept_row *)heap[0].id;
        memcpy(place->id, candidate.id, 16);
        memcpy(place->packed, candidate.packed, candidate.count);
        peer_heap_offer(heap, &count, limit,
                        (peer_candidate){place->id, place->packed, candidate.count});
    }
    int result = finished(walk);
    peer_heap_sort(heap, count);
    for (size_t index = 0; result == 0 && index < count; index++) {
        peer_row *row = peer_rows_next(found);
        result = row ? peer_unpack(heap[index].packed, heap[index].count, heap[index].id, row) : -1;
    }
    free(kept);
    free(heap);
    return result;
}

static int fold(peer_engine *engine, peer_buffer *json, size_t *modifications) {
    peer_fold *state = peer_fold_make();
    if (!state) return peer_fail("out of memory");
    begin_read(engine);
    rocksdb_iterator_t *walk = iterator(engine, OUTBOX);
    int result = 0;
    for (rocksdb_iter_seek_to_first(walk); result == 0 && rocksdb_iter_valid(walk);
         rocksdb_iter_next(walk)) {
        size_t count;
        const char *change = rocksdb_iter_value(walk, &count);
        result = peer_fold_add(state, (const uint8_t *)change, count);
    }
    if (result == 0) result = finished(walk);
    end_read(engine);
    if (result == 0) result = peer_fold_write(state, json, modifications);
    peer_fold_free(state);
    return result;
}

static int count_family(peer_engine *engine, int family, uint64_t *count) {
    rocksdb_iterator_t *walk = iterator(engine, family);
    *count = 0;
    for (rocksdb_iter_seek_to_first(walk); rocksdb_iter_valid(walk); rocksdb_iter_next(walk))
        *count += 1;
    return finished(walk);
}

static int census(peer_engine *engine, uint64_t *rows, uint64_t *changes, uint64_t *digest) {
    begin_read(engine);
    int result = count_family(engine, ROWS, rows);
    if (result == 0) result = count_family(engine, OUTBOX, changes);
    for (int family = EMAILS; result == 0 && family <= DEPARTMENTS; family++) {
        uint64_t entries;
        result = count_family(engine, family, &entries);
        if (result == 0 && entries != *rows)
            result = peer_fail("an index has %llu entries for %llu rows",
                               (unsigned long long)entries, (unsigned long long)*rows);
    }
    rocksdb_iterator_t *walk = iterator(engine, ROWS);
    *digest = 0;
    for (rocksdb_iter_seek_to_first(walk); result == 0 && rocksdb_iter_valid(walk);
         rocksdb_iter_next(walk)) {
        const uint8_t *id;
        size_t count;
        peer_row row;
        const uint8_t *packed = current(walk, &id, &count);
        result = peer_unpack(packed, count, id, &row);
        *digest += peer_digest(&row);
    }
    end_read(engine);
    return result;
}

/// Whether something goes on in the background.
static bool is_busy(peer_engine *engine) {
    static const char *properties[] = {
        "rocksdb.compaction-pending", "rocksdb.num-running-compactions",
        "rocksdb.num-running-flushes", "rocksdb.mem-table-flush-pending"};
    for (int family = 0; family < FAMILIES; family++)
        for (size_t index = 0; index < sizeof properties / sizeof *properties; index++) {
            uint64_t value = 0;
            rocksdb_property_int_cf(engine->database, engine->families[family], properties[index],
                                    &value);
            if (value) return true;
        }
    return false;
}

/// Writes what is in memory to its files and waits for compactions.
static int settle(peer_engine *engine) {
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(options, 1);
    int result = 0;
    for (int family = 0; result == 0 && family < FAMILIES; family++) {
        char *error = NULL;
        rocksdb_flush_cf(engine->database, options, engine->families[family], &error);
        result = check(error, "flush");
    }
    rocksdb_flushoptions_destroy(options);
    while (result == 0 && is_busy(engine)) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    return result;
}

const peer_operations *peer_rocksdb(void) {
    static const peer_operations operations = {
        .name = "rocksdb-c",
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
