#define _GNU_SOURCE  // For syncfs.

#include "peer.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static _Thread_local char message[512];

const char *peer_error_message(void) { return message; }

int peer_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return -1;
}

int64_t peer_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

uint64_t peer_heap_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

bool peer_is_in_memory(const char *path) {
    struct statfs status;
    // The numbers of tmpfs and ramfs in statfs(2).
    return statfs(path, &status) == 0 && (status.f_type == 0x01021994 || status.f_type == 0x858458f6);
}

int peer_sync_file_system(const char *path) {
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return peer_fail("%s can't be opened", path);
    int status = syncfs(descriptor);
    close(descriptor);
    return status == 0 ? 0 : peer_fail("%s can't be synced", path);
}

// MARK: Buffers and rows

int peer_buffer_reserve(peer_buffer *buffer, size_t count) {
    if (buffer->capacity - buffer->count >= count) return 0;
    size_t capacity = buffer->capacity ? buffer->capacity : 4096;
    while (capacity - buffer->count < count) capacity *= 2;
    char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes) return peer_fail("out of memory");
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return 0;
}

int peer_rows_make(peer_rows *rows, size_t capacity) {
    rows->rows = malloc(capacity * sizeof(peer_row));
    rows->count = 0;
    rows->capacity = capacity;
    return rows->rows ? 0 : peer_fail("out of memory");
}

void peer_rows_free(peer_rows *rows) {
    free(rows->rows);
    rows->rows = NULL;
    rows->count = rows->capacity = 0;
}

peer_row *peer_rows_next(peer_rows *rows) {
    if (rows->count == rows->capacity) {
        peer_fail("a query found more than %zu rows", rows->capacity);
        return NULL;
    }
    return &rows->rows[rows->count++];
}

int peer_row_fill(peer_row *row, const peer_contact *contact) {
    memcpy(row->id, contact->id, 16);
    memcpy(row->department, contact->department, 16);
    row->age = contact->age;
    row->balance = contact->balance;
    row->created_at = contact->created_at;
    row->active = contact->active;
    const peer_text *texts[4] = {
        &contact->first_name, &contact->last_name, &contact->email, &contact->notes};
    uint32_t end = 0;
    for (int index = 0; index < 4; index++) {
        if (end + texts[index]->count > PEER_TEXT_MAX) return peer_fail("the texts are too long");
        memcpy(row->text + end, texts[index]->bytes, texts[index]->count);
        end += texts[index]->count;
        row->ends[index] = (uint16_t)end;
    }
    return 0;
}

// MARK: Digests

static uint64_t mix(uint64_t digest, uint64_t word) {
    digest = (digest ^ word) * 0x9E3779B97F4A7C15u;
    return digest ^ (digest >> 29);
}

static uint64_t mix_bytes(uint64_t digest, const void *bytes, size_t count) {
    const uint8_t *next = bytes;
    digest = mix(digest, count);
    for (size_t index = 0; index < count; index++) digest = mix(digest, next[index]);
    return digest;
}

uint64_t peer_digest(const peer_row *row) {
    uint64_t digest = mix_bytes(0, row->id, 16);
    digest = mix_bytes(digest, row->department, 16);
    digest = mix(digest, (uint64_t)row->age);
    uint64_t bits;
    memcpy(&bits, &row->balance, 8);
    digest = mix(digest, bits);
    digest = mix(digest, (uint64_t)row->created_at);
    digest = mix(digest, row->active);
    uint16_t start = 0;
    for (int index = 0; index < 4; index++) {
        digest = mix_bytes(digest, row->text + start, row->ends[index] - start);
        start = row->ends[index];
    }
    return digest;
}

uint64_t peer_touch(uint64_t sum, const peer_row *rows, size_t count) {
    for (size_t index = 0; index < count; index++) {
        const peer_row *row = &rows[index];
        uint64_t bits;
        memcpy(&bits, &row->balance, 8);
        uint64_t part = bits + (uint64_t)row->age + (uint64_t)row->created_at + row->active;
        part += row->ends[0] + 2 * (uint64_t)(row->ends[1] - row->ends[0])
                + 3 * (uint64_t)(row->ends[2] - row->ends[1])
                + 4 * (uint64_t)(row->ends[3] - row->ends[2]);
        sum += part + row->id[15] + row->department[15];
    }
    return sum;
}

// MARK: Concurrent writers

typedef struct {
    const peer_operations *operations;
    peer_engine *engine;
    const peer_contact *contacts;
    size_t count;
    size_t first;
    size_t writers;
    pthread_barrier_t *barrier;
    int failed;
    char message[512];
} save_job;

static void *save_some(void *argument) {
    save_job *job = argument;
    pthread_barrier_wait(job->barrier);
    for (size_t index = job->first; index < job->count; index += job->writers) {
        if (job->operations->save(job->engine, &job->contacts[index]) == 0) continue;
        job->failed = 1;
        memcpy(job->message, message, sizeof message);
        break;
    }
    return NULL;
}

int64_t peer_save_concurrently(const peer_operations *operations, peer_engine *engine,
                               const peer_contact *contacts, size_t count, size_t writers) {
    save_job *jobs = calloc(writers, sizeof *jobs);
    pthread_t *threads = calloc(writers, sizeof *threads);
    pthread_barrier_t barrier;
    if (!jobs || !threads || pthread_barrier_init(&barrier, NULL, (unsigned)writers + 1) != 0)
        return peer_fail("no memory for %zu writers", writers);
    for (size_t index = 0; index < writers; index++) {
        jobs[index] = (save_job){operations, engine, contacts, count, index, writers, &barrier, 0, ""};
        if (pthread_create(&threads[index], NULL, save_some, &jobs[index]) != 0) {
            // The others wait at the barrier for good, so that there is no way on.
            perror("pthread_create");
            abort();
        }
    }
    pthread_barrier_wait(&barrier);
    int64_t start = peer_nanoseconds();
    int64_t result = 0;
    for (size_t index = 0; index < writers; index++) {
        pthread_join(threads[index], NULL);
        if (jobs[index].failed) result = peer_fail("%s", jobs[index].message);
    }
    int64_t end = peer_nanoseconds();
    pthread_barrier_destroy(&barrier);
    free(jobs);
    free(threads);
    return result < 0 ? result : end - start;
}
