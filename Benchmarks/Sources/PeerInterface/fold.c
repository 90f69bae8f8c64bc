#include <stdio.h>
#include <stdlib.h>

#include "peer_codec.h"

/// What the changes of one contact add up to.
typedef struct {
    uint8_t id[16];
    /// Where the packed contact of an insert is in `bytes`.
    size_t packed;
    uint32_t packed_count;
    bool existed;
    bool exists;
    bool has_balance;
    double balance;
} entry;

struct peer_fold {
    entry *entries;
    size_t count;
    size_t capacity;
    /// Numbers of entries plus one, by hash of the id; zero is free.
    uint32_t *slots;
    size_t slot_count;
    peer_buffer bytes;
};

peer_fold *peer_fold_make(void) { return calloc(1, sizeof(peer_fold)); }

void peer_fold_free(peer_fold *fold) {
    if (!fold) return;
    free(fold->entries);
    free(fold->slots);
    free(fold->bytes.bytes);
    free(fold);
}

static size_t slot_of(const peer_fold *fold, const uint8_t *id) {
    uint64_t high, low;
    memcpy(&high, id, 8);
    memcpy(&low, id + 8, 8);
    return ((high ^ low) * 0x9E3779B97F4A7C15u >> 20) & (fold->slot_count - 1);
}

static void place(peer_fold *fold, uint32_t number) {
    size_t slot = slot_of(fold, fold->entries[number].id);
    while (fold->slots[slot]) slot = (slot + 1) & (fold->slot_count - 1);
    fold->slots[slot] = number + 1;
}

static int grow(peer_fold *fold) {
    size_t capacity = fold->capacity ? fold->capacity * 2 : 1024;
    entry *entries = realloc(fold->entries, capacity * sizeof *entries);
    uint32_t *slots = calloc(capacity * 2, sizeof *slots);
    if (entries) fold->entries = entries;
    if (!entries || !slots) {
        free(slots);
        return peer_fail("out of memory");
    }
    free(fold->slots);
    fold->slots = slots;
    fold->slot_count = capacity * 2;
    fold->capacity = capacity;
    for (size_t number = 0; number < fold->count; number++) place(fold, (uint32_t)number);
    return 0;
}

static entry *find(peer_fold *fold, const uint8_t *id, bool existed) {
    if (fold->count == fold->capacity && grow(fold) != 0) return NULL;
    size_t slot = slot_of(fold, id);
    while (fold->slots[slot]) {
        entry *known = &fold->entries[fold->slots[slot] - 1];
        if (memcmp(known->id, id, 16) == 0) return known;
        slot = (slot + 1) & (fold->slot_count - 1);
    }
    entry *added = &fold->entries[fold->count];
    *added = (entry){.existed = existed};
    memcpy(added->id, id, 16);
    fold->slots[slot] = (uint32_t)++fold->count;
    return added;
}

int peer_fold_add(peer_fold *fold, const uint8_t *change, size_t count) {
    if (count < PEER_CHANGE_PAYLOAD) return peer_fail("a change record has %zu bytes only", count);
    uint8_t kind = change[PEER_CHANGE_KIND];
    const uint8_t *payload = change + PEER_CHANGE_PAYLOAD;
    size_t payload_count = count - PEER_CHANGE_PAYLOAD;
    entry *known = find(fold, change + PEER_CHANGE_ID, kind != PEER_INSERT);
    if (!known) return -1;
    switch (kind) {
    case PEER_INSERT:
        if (peer_buffer_reserve(&fold->bytes, payload_count) != 0) return -1;
        known->packed = fold->bytes.count;
        known->packed_count = (uint32_t)payload_count;
        memcpy(fold->bytes.bytes + fold->bytes.count, payload, payload_count);
        fold->bytes.count += payload_count;
        known->exists = true;
        known->has_balance = false;
        return 0;
    case PEER_UPDATE:
        if (payload_count < 8) return peer_fail("an update without a value");
        memcpy(&known->balance, payload, 8);
        known->has_balance = known->exists = true;
        return 0;
    case PEER_DELETE:
        known->exists = false;
        return 0;
    default:
        return peer_fail("a change record of an unknown kind, %d", kind);
    }
}

// MARK: JSON

static void put(peer_buffer *json, const char *text) {
    size_t count = strlen(text);
    memcpy(json->bytes + json->count, text, count);
    json->count += count;
}

static void put_name(peer_buffer *json, const uint8_t *id) {
    static const char digits[] = "0123456789ABCDEF";
    for (int index = 0; index < 16; index++) {
        if (index == 4 || index == 6 || index == 8 || index == 10)
            json->bytes[json->count++] = '-';
        json->bytes[json->count++] = digits[id[index] >> 4];
        json->bytes[json->count++] = digits[id[index] & 15];
    }
}

static void put_text(peer_buffer *json, peer_text text) {
    json->bytes[json->count++] = '"';
    for (uint32_t index = 0; index < text.count; index++) {
        unsigned char byte = (unsigned char)text.bytes[index];
        if (byte == '"' || byte == '\\') {
            json->bytes[json->count++] = '\\';
            json->bytes[json->count++] = (char)byte;
        } else if (byte < 0x20) {
            json->count += (size_t)sprintf(json->bytes + json->count, "\\u%04x", byte);
        } else {
            json->bytes[json->count++] = (char)byte;
        }
    }
    json->bytes[json->count++] = '"';
}

static void put_balance(peer_buffer *json, double balance) {
    json->count += (size_t)sprintf(json->bytes + json->count, "%.17g", balance);
}

static void put_fields(peer_buffer *json, const uint8_t *packed, double balance) {
    static const char *names[4] = {"firstName", "lastName", "email", "notes"};
    for (int index = 0; index < 4; index++) {
        put(json, "\"");
        put(json, names[index]);
        put(json, "\":{\"value\":");
        put_text(json, peer_packed_text(packed, index));
        put(json, "},");
    }
    int64_t age = peer_packed_age(packed), created;
    memcpy(&created, packed + PEER_PACKED_CREATED, 8);
    json->count += (size_t)sprintf(
        json->bytes + json->count,
        "\"age\":{\"value\":%lld},\"active\":{\"value\":%d},\"createdAt\":{\"value\":%lld},"
        "\"balance\":{\"value\":",
        (long long)age, packed[PEER_PACKED_ACTIVE], (long long)created);
    put_balance(json, balance);
    put(json, "},\"department\":{\"value\":{\"recordName\":\"");
    put_name(json, packed + PEER_PACKED_DEPARTMENT);
    put(json, "\",\"action\":\"NONE\"}}");
}

int peer_fold_write(peer_fold *fold, peer_buffer *json, size_t *modifications) {
    *modifications = 0;
    for (size_t number = 0; number < fold->count; number++) {
        const entry *item = &fold->entries[number];
        if (!item->existed && !item->exists) continue;
        // Every byte of text may become six.
        if (peer_buffer_reserve(json, 1024 + 6 * PEER_PACKED_MAX) != 0) return -1;
        put(json, *modifications ? ",\n" : "[");
        *modifications += 1;
        const char *kind = !item->exists ? "delete" : item->existed ? "update" : "create";
        put(json, "{\"operationType\":\"");
        put(json, kind);
        put(json, "\",\"record\":{\"recordName\":\"");
        put_name(json, item->id);
        put(json, "\"");
        if (item->exists) {
            put(json, ",\"recordType\":\"Contact\",\"fields\":{");
            if (item->existed) {
                put(json, "\"balance\":{\"value\":");
                put_balance(json, item->balance);
                put(json, "}");
            } else {
                const uint8_t *packed = (const uint8_t *)fold->bytes.bytes + item->packed;
                put_fields(json, packed,
                           item->has_balance ? item->balance : peer_packed_balance(packed));
            }
            put(json, "}");
        }
        put(json, "}}");
    }
    if (peer_buffer_reserve(json, 2) != 0) return -1;
    put(json, *modifications ? "]" : "[]");
    return 0;
}
