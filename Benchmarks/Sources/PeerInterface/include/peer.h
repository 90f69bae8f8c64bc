#ifndef BACKSTITCH_PEER_H
#define BACKSTITCH_PEER_H

// What every engine written in C offers to the benchmark, and the values that go in and out.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Bytes of UTF-8 that somebody else owns; not ended by a zero.
typedef struct {
    const char *bytes;
    uint32_t count;
} peer_text;

/// A contact to store. The texts belong to the caller and outlive the call.
typedef struct {
    uint8_t id[16];
    uint8_t department[16];
    peer_text first_name;
    peer_text last_name;
    peer_text email;
    peer_text notes;
    int64_t age;
    double balance;
    /// Milliseconds since 1970.
    int64_t created_at;
    bool active;
} peer_contact;

/// The most bytes that the four texts of a contact have together.
#define PEER_TEXT_MAX 320

/// A contact that was read: owns a copy of every field.
typedef struct {
    uint8_t id[16];
    uint8_t department[16];
    int64_t age;
    double balance;
    int64_t created_at;
    /// Where each text ends in `text`: first name, last name, email, notes.
    uint16_t ends[4];
    bool active;
    char text[PEER_TEXT_MAX];
} peer_row;

/// Rows that a query found, with room for `capacity`.
typedef struct {
    peer_row *rows;
    size_t count;
    size_t capacity;
} peer_rows;

/// A new balance for a contact.
typedef struct {
    uint8_t id[16];
    double balance;
} peer_update;

/// Bytes that grow.
typedef struct {
    char *bytes;
    size_t count;
    size_t capacity;
} peer_buffer;

typedef struct peer_engine peer_engine;

/// The operations of an engine. They return 0, or -1 with a message in `peer_error_message`.
/// Everything that was written is on disk when a call returns.
typedef struct {
    const char *name;
    peer_engine *(*open)(const char *directory);
    void (*close)(peer_engine *engine);
    /// Inserts contacts in one transaction; with a change record for each.
    int (*insert)(peer_engine *engine, const peer_contact *contacts, size_t count);
    /// Inserts one contact in a transaction of its own. May be called by many threads at once.
    int (*save)(peer_engine *engine, const peer_contact *contact);
    /// Changes balances in one transaction; with a change record for each.
    int (*update)(peer_engine *engine, const peer_update *updates, size_t count);
    /// Deletes contacts in one transaction; with a change record for each.
    int (*remove)(peer_engine *engine, const uint8_t (*ids)[16], size_t count);
    /// Begins and ends a snapshot that the reads between them see.
    int (*begin_read)(peer_engine *engine);
    void (*end_read)(peer_engine *engine);
    int (*get)(peer_engine *engine, const uint8_t id[16], peer_row *row);
    int (*find_email)(peer_engine *engine, peer_text email, peer_rows *found);
    /// Contacts with an age from `low` up to, but not with, `high`.
    int (*find_ages)(peer_engine *engine, int64_t low, int64_t high, peer_rows *found);
    /// Contacts with a balance from `low` on, which is not indexed.
    int (*scan_balance)(peer_engine *engine, double low, peer_rows *found);
    /// The first contacts by last name, then id; the last name is not indexed.
    int (*sort_by_last_name)(peer_engine *engine, size_t limit, peer_rows *found);
    int (*find_department)(peer_engine *engine, const uint8_t department[16], peer_rows *found);
    /// Folds all change records to one modification for each contact, and writes them as a list in
    /// JSON.
    int (*fold)(peer_engine *engine, peer_buffer *json, size_t *modifications);
    /// Counts rows and change records, and adds up the full digests of the rows.
    int (*census)(peer_engine *engine, uint64_t *rows, uint64_t *changes, uint64_t *digest);
    /// Ends what goes on in the background and brings everything to its place in the files.
    int (*settle)(peer_engine *engine);
} peer_operations;

/// The last failure of this thread.
const char *peer_error_message(void);
/// Notes a failure and returns -1.
int peer_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Saves contacts one by one from `writers` threads.
/// Returns the nanoseconds from the moment all were ready to the last commit, or -1.
int64_t peer_save_concurrently(const peer_operations *operations, peer_engine *engine,
                               const peer_contact *contacts, size_t count, size_t writers);

/// A monotonic time in nanoseconds.
int64_t peer_nanoseconds(void);

/// Bytes that are allocated from the heap of this process.
uint64_t peer_heap_bytes(void);

/// Whether a folder is on a file system that is kept in memory.
bool peer_is_in_memory(const char *path);

/// Writes down all that the file system of a folder still has in memory.
int peer_sync_file_system(const char *path);

/// Makes room for `count` more bytes.
int peer_buffer_reserve(peer_buffer *buffer, size_t count);

/// Makes rows of a capacity; `peer_rows_free` takes them back.
int peer_rows_make(peer_rows *rows, size_t capacity);
void peer_rows_free(peer_rows *rows);
/// The next free row, or NULL where there is no room.
peer_row *peer_rows_next(peer_rows *rows);

// MARK: Digests, which the harness computes of its own records too.

/// A digest over every byte of a contact.
uint64_t peer_digest(const peer_row *row);
/// Adds contacts that were read to a sum that costs next to nothing: for the measured part.
uint64_t peer_touch(uint64_t sum, const peer_row *rows, size_t count);
/// Copies a contact as a read of it has to return it.
int peer_row_fill(peer_row *row, const peer_contact *contact);

#endif
