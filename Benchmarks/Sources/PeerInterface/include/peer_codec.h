#ifndef BACKSTITCH_PEER_CODEC_H
#define BACKSTITCH_PEER_CODEC_H

// The bytes that the engines without columns store, and the change records of all.

#include <string.h>

#include "peer.h"

// Packed contact, without its id:
//   0  department (16), 16 age (8), 24 balance (8), 32 created (8), 40 active (1), 41 zero (1),
//   42 end of each of the four texts (2 each), 50 texts
#define PEER_PACKED_DEPARTMENT 0
#define PEER_PACKED_AGE 16
#define PEER_PACKED_BALANCE 24
#define PEER_PACKED_CREATED 32
#define PEER_PACKED_ACTIVE 40
#define PEER_PACKED_ENDS 42
#define PEER_PACKED_TEXTS 50
#define PEER_PACKED_MAX (PEER_PACKED_TEXTS + PEER_TEXT_MAX)

// Change record:
//   0 version (1), 1 kind (1), 2 zero (6), 8 clock (8), 16 transaction (8), 24 id (16), 40 payload
// Payload of an insert: the packed contact. Of an update: the balance after, then, where the
// engine had to read the row anyway, the one before. Of a delete: the packed contact or nothing.
#define PEER_CHANGE_KIND 1
#define PEER_CHANGE_ID 24
#define PEER_CHANGE_PAYLOAD 40
#define PEER_CHANGE_MAX (PEER_CHANGE_PAYLOAD + PEER_PACKED_MAX)

enum { PEER_INSERT = 1, PEER_UPDATE = 2, PEER_DELETE = 3 };

/// Writes a contact to `target`, which has room for `PEER_PACKED_MAX` bytes.
static inline size_t peer_pack(const peer_contact *contact, uint8_t *target) {
    memcpy(target, contact->department, 16);
    memcpy(target + PEER_PACKED_AGE, &contact->age, 8);
    memcpy(target + PEER_PACKED_BALANCE, &contact->balance, 8);
    memcpy(target + PEER_PACKED_CREATED, &contact->created_at, 8);
    target[PEER_PACKED_ACTIVE] = contact->active;
    target[PEER_PACKED_ACTIVE + 1] = 0;
    const peer_text *texts[4] = {
        &contact->first_name, &contact->last_name, &contact->email, &contact->notes};
    uint16_t end = 0;
    for (int index = 0; index < 4; index++) {
        memcpy(target + PEER_PACKED_TEXTS + end, texts[index]->bytes, texts[index]->count);
        end = (uint16_t)(end + texts[index]->count);
        memcpy(target + PEER_PACKED_ENDS + 2 * index, &end, 2);
    }
    return PEER_PACKED_TEXTS + end;
}

/// Copies every field of a packed contact.
static inline int peer_unpack(const uint8_t *bytes, size_t count, const uint8_t *id,
                              peer_row *row) {
    if (count < PEER_PACKED_TEXTS) return peer_fail("a row has %zu bytes only", count);
    memcpy(row->id, id, 16);
    memcpy(row->department, bytes, 16);
    memcpy(&row->age, bytes + PEER_PACKED_AGE, 8);
    memcpy(&row->balance, bytes + PEER_PACKED_BALANCE, 8);
    memcpy(&row->created_at, bytes + PEER_PACKED_CREATED, 8);
    row->active = bytes[PEER_PACKED_ACTIVE] != 0;
    memcpy(row->ends, bytes + PEER_PACKED_ENDS, 8);
    if (row->ends[3] > PEER_TEXT_MAX || PEER_PACKED_TEXTS + (size_t)row->ends[3] > count)
        return peer_fail("a row has text outside of it");
    memcpy(row->text, bytes + PEER_PACKED_TEXTS, row->ends[3]);
    return 0;
}

/// A text of a packed contact: 0 first name, 1 last name, 2 email, 3 notes.
static inline peer_text peer_packed_text(const uint8_t *bytes, int index) {
    uint16_t start = 0, end;
    if (index > 0) memcpy(&start, bytes + PEER_PACKED_ENDS + 2 * (index - 1), 2);
    memcpy(&end, bytes + PEER_PACKED_ENDS + 2 * index, 2);
    return (peer_text){(const char *)bytes + PEER_PACKED_TEXTS + start, (uint32_t)(end - start)};
}

static inline double peer_packed_balance(const uint8_t *bytes) {
    double balance;
    memcpy(&balance, bytes + PEER_PACKED_BALANCE, 8);
    return balance;
}

static inline int64_t peer_packed_age(const uint8_t *bytes) {
    int64_t age;
    memcpy(&age, bytes + PEER_PACKED_AGE, 8);
    return age;
}

/// Writes the head of a change record.
static inline void peer_change_head(uint8_t *target, uint8_t kind, uint64_t transaction,
                                    uint64_t clock, const uint8_t *id) {
    memset(target, 0, 8);
    target[0] = 1;
    target[PEER_CHANGE_KIND] = kind;
    memcpy(target + 8, &clock, 8);
    memcpy(target + 16, &transaction, 8);
    memcpy(target + PEER_CHANGE_ID, id, 16);
}

/// Big-endian, so that keys sort as numbers.
static inline void peer_put_big(uint8_t *target, uint64_t value) {
    value = __builtin_bswap64(value);
    memcpy(target, &value, 8);
}

static inline uint64_t peer_get_big(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, 8);
    return __builtin_bswap64(value);
}

/// An age as the head of an index key: sorted as bytes.
static inline void peer_put_age(uint8_t *target, int64_t age) {
    peer_put_big(target, (uint64_t)age ^ 0x8000000000000000u);
}

/// The head of an email's index key: the text and a zero. The id follows.
static inline size_t peer_put_email(uint8_t *target, peer_text email) {
    memcpy(target, email.bytes, email.count);
    target[email.count] = 0;
    return email.count + 1;
}

#define PEER_EMAIL_KEY_MAX (PEER_TEXT_MAX + 1 + 16)

// MARK: The first rows by last name

/// A candidate: where its row and its id are.
typedef struct {
    const uint8_t *id;
    const uint8_t *packed;
    size_t count;
} peer_candidate;

/// Whether one contact sorts before another by last name, then id.
static inline bool peer_precedes(const peer_candidate *left, const peer_candidate *right) {
    peer_text first = peer_packed_text(left->packed, 1);
    peer_text second = peer_packed_text(right->packed, 1);
    uint32_t common = first.count < second.count ? first.count : second.count;
    int order = memcmp(first.bytes, second.bytes, common);
    if (order != 0) return order < 0;
    if (first.count != second.count) return first.count < second.count;
    return memcmp(left->id, right->id, 16) < 0;
}

/// Keeps the first `limit` of all candidates in a heap whose top is the last of them.
/// Returns whether the candidate is among them; what it points to has to stay then.
bool peer_heap_offer(peer_candidate *heap, size_t *count, size_t limit, peer_candidate candidate);
/// Sorts the heap.
void peer_heap_sort(peer_candidate *heap, size_t count);

// MARK: Fold

/// Change records folded by contact, in memory.
typedef struct peer_fold peer_fold;
peer_fold *peer_fold_make(void);
/// Adds the next change record.
int peer_fold_add(peer_fold *fold, const uint8_t *change, size_t count);
/// Writes the modifications in the order of the first change of each.
int peer_fold_write(peer_fold *fold, peer_buffer *json, size_t *modifications);
void peer_fold_free(peer_fold *fold);

#endif
