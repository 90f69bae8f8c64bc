#define _GNU_SOURCE
#include "CFaults.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

// Symbols of the executable come before those of liblmdb's other libraries, so that these
// definitions are the ones it calls.

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool armed;
static dev_t armedDevice;
static ino_t armedInode;
static CFaultsCall armedCall;
static int successes, failures, failed, armedReason;

void CFaultsArm(dev_t device, ino_t inode, CFaultsCall call, int number, int times, int reason) {
    pthread_mutex_lock(&lock);
    __atomic_store_n(&armed, true, __ATOMIC_RELAXED);
    armedDevice = device;
    armedInode = inode;
    armedCall = call;
    successes = number;
    failures = times;
    failed = 0;
    armedReason = reason;
    pthread_mutex_unlock(&lock);
}

int CFaultsDisarm(void) {
    pthread_mutex_lock(&lock);
    __atomic_store_n(&armed, false, __ATOMIC_RELAXED);
    int result = failed;
    pthread_mutex_unlock(&lock);
    return result;
}

// Counting. All calls are told by the path of what they concern.

/// Ends the process where two tests use one facility at a time.
static void claim(bool isTaken) {
    if (!isTaken) return;
    fputs("Two tests count or record calls at the same time.\n", stderr);
    abort();
}

/// What becomes of a call.
typedef enum { Passes, Fails, PassesInPart } Fate;

static bool counts, cutsShort, fillsBehind, hasCut;
static char countedFolder[PATH_MAX];
static int callCount, firstFailing, lastFailing, countedFailures, countedReason;
static char *calls;
static size_t callsLength;
static FILE *callsStream;

static void startCounting(const char *directory, int first, int last, int reason, bool isShort,
                          bool thenFull) {
    pthread_mutex_lock(&lock);
    claim(counts);
    snprintf(countedFolder, sizeof countedFolder, "%s", directory);
    callCount = countedFailures = 0;
    callsStream = open_memstream(&calls, &callsLength);
    firstFailing = first;
    lastFailing = last;
    countedReason = reason;
    cutsShort = isShort;
    fillsBehind = thenFull;
    hasCut = false;
    __atomic_store_n(&counts, true, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

void CFaultsCount(const char *directory, int number, int times, int reason) {
    int last = times > INT_MAX - number ? INT_MAX : number + times;
    startCounting(directory, number, last, reason, false, false);
}

void CFaultsCountShort(const char *directory, int number, bool thenFull) {
    startCounting(directory, number, number, ENOSPC, true, thenFull);
}

char *CFaultsCounted(int *failed) {
    pthread_mutex_lock(&lock);
    __atomic_store_n(&counts, false, __ATOMIC_RELAXED);
    *failed = countedFailures;
    fclose(callsStream);
    char *result = calls;
    calls = NULL;
    pthread_mutex_unlock(&lock);
    return result;
}

/// The fate of the call that comes next.
/// @param count How many bytes it reads or writes; 0 if it does neither.
static Fate nextFate(size_t count, bool writes) {
    if (!cutsShort) {
        return callCount >= firstFailing && callCount < lastFailing ? Fails : Passes;
    }
    if (callCount == firstFailing && count > 1) {
        hasCut = writes;
        return PassesInPart;
    }
    return hasCut && fillsBehind && writes ? Fails : Passes;
}

static Fate fateAt(const char *path, const char *name, size_t count, bool writes) {
    if (!__atomic_load_n(&counts, __ATOMIC_RELAXED)) return Passes;
    Fate result = Passes;
    pthread_mutex_lock(&lock);
    if (counts && strncmp(path, countedFolder, strlen(countedFolder)) == 0) {
        result = nextFate(count, writes);
        if (result != Passes) countedFailures++;
        callCount++;
        fprintf(callsStream, "%s %s", name, path + strlen(countedFolder));
        if (result == Fails) fputs(" failed", callsStream);
        if (result == PassesInPart) fprintf(callsStream, " short of %zu", count);
        fputc('\n', callsStream);
    }
    int reason = countedReason;
    pthread_mutex_unlock(&lock);
    if (result == Fails) errno = reason;
    return result;
}

static bool failsAt(const char *path, const char *name) {
    return fateAt(path, name, 0, false) == Fails;
}

// Where the path can't be told, nothing fails.
static Fate fateOn(int descriptor, const char *name, size_t count, bool writes) {
    if (!__atomic_load_n(&counts, __ATOMIC_RELAXED)) return Passes;
    int reason = errno;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = reason;
    if (length < 0) return Passes;
    path[length] = 0;
    return fateAt(path, name, count, writes);
}

static bool failsOn(int descriptor, const char *name) {
    return fateOn(descriptor, name, 0, false) == Fails;
}

/// @param count How many bytes are written; 0 for another call.
static Fate fate(int descriptor, CFaultsCall call, size_t count) {
    static const char *const names[] = {"write", "sync", "punch"};
    Fate counted = fateOn(descriptor, names[call], count, call == CFaultsWrite);
    if (counted != Passes) return counted;
    if (!__atomic_load_n(&armed, __ATOMIC_RELAXED)) return Passes;
    int before = errno;
    struct stat status;
    if (fstat(descriptor, &status) != 0) return Passes;
    Fate result = Passes;
    pthread_mutex_lock(&lock);
    if (armed && call == armedCall && status.st_dev == armedDevice &&
        status.st_ino == armedInode) {
        if (successes > 0) {
            successes--;
        } else if (failures > 0 && (armedReason != 0 || count > 1)) {
            failures--;
            failed++;
            result = armedReason != 0 ? Fails : PassesInPart;
        }
    }
    errno = result == Fails ? armedReason : before;
    pthread_mutex_unlock(&lock);
    return result;
}

static bool fails(int descriptor, CFaultsCall call) { return fate(descriptor, call, 0) == Fails; }

/// As many bytes as a full disk takes of some: whole pages, where there are several.
static size_t part(size_t count) {
    return count / 2 >= 4096 ? count / 2 / 4096 * 4096 : count / 2;
}

// Two threads may look a function up at the same time; both find the same.
#define REAL(name)                                                         \
    static __typeof__(&name) found;                                        \
    __typeof__(&name) real = __atomic_load_n(&found, __ATOMIC_RELAXED);    \
    if (!real) {                                                           \
        real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                 \
        __atomic_store_n(&found, real, __ATOMIC_RELAXED);                  \
    }

// Recording. Descriptors are told by their path, so that files made meanwhile are recorded too.

static bool records;
static char recordedFolder[PATH_MAX];
static char recordedNames[4][64];
static int recordedCount;
static CFaultsEvent *events;
static size_t eventCount, eventRoom;
static int syncCount;

void CFaultsRecord(const char *directory, const char *const *names, int count) {
    pthread_mutex_lock(&lock);
    claim(records);
    if (!realpath(directory, recordedFolder)) recordedFolder[0] = 0;
    recordedCount = count < 4 ? count : 4;
    for (int i = 0; i < recordedCount; i++) {
        snprintf(recordedNames[i], sizeof recordedNames[i], "%s", names[i]);
    }
    __atomic_store_n(&records, true, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

static int recordedFile(int descriptor) {
    if (!__atomic_load_n(&records, __ATOMIC_RELAXED)) return -1;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return -1;
    path[length] = 0;
    size_t folder = strlen(recordedFolder);
    if (strncmp(path, recordedFolder, folder) != 0 || path[folder] != '/') return -1;
    for (int i = 0; i < recordedCount; i++) {
        if (strcmp(path + folder + 1, recordedNames[i]) == 0) return i;
    }
    return -1;
}

static void add(CFaultsEvent event) {
    if (eventCount == eventRoom) {
        eventRoom = eventRoom ? eventRoom * 2 : 256;
        events = realloc(events, eventRoom * sizeof *events);
    }
    events[eventCount++] = event;
}

static void recordWrite(int descriptor, const struct iovec *parts, int count, off_t offset,
                        ssize_t written) {
    int file = written > 0 ? recordedFile(descriptor) : -1;
    if (file < 0) return;
    char *bytes = malloc((size_t)written);
    size_t done = 0;
    for (int i = 0; i < count && done < (size_t)written; i++) {
        size_t part = parts[i].iov_len;
        if (part > (size_t)written - done) part = (size_t)written - done;
        memcpy(bytes + done, parts[i].iov_base, part);
        done += part;
    }
    bool isSynced = fcntl(descriptor, F_GETFL) & O_DSYNC;
    pthread_mutex_lock(&lock);
    add((CFaultsEvent){isSynced ? CFaultsEventWriteSynced : CFaultsEventWrite, file, 0, offset,
                       (size_t)written, bytes});
    pthread_mutex_unlock(&lock);
}

static int recordSyncBegin(int descriptor, int *file) {
    *file = recordedFile(descriptor);
    if (*file < 0) return 0;
    pthread_mutex_lock(&lock);
    int number = ++syncCount;
    add((CFaultsEvent){.kind = CFaultsEventSyncBegin, .file = *file, .number = number});
    pthread_mutex_unlock(&lock);
    return number;
}

static void recordSyncEnd(int file, int number, int status) {
    if (file < 0 || status != 0) return;
    pthread_mutex_lock(&lock);
    add((CFaultsEvent){.kind = CFaultsEventSyncEnd, .file = file, .number = number});
    pthread_mutex_unlock(&lock);
}

void CFaultsMark(int number) {
    pthread_mutex_lock(&lock);
    if (records) add((CFaultsEvent){.kind = CFaultsEventMark, .number = number});
    pthread_mutex_unlock(&lock);
}

CFaultsEvent *CFaultsRecorded(size_t *count) {
    pthread_mutex_lock(&lock);
    __atomic_store_n(&records, false, __ATOMIC_RELAXED);
    CFaultsEvent *result = events;
    *count = eventCount;
    events = NULL;
    eventCount = eventRoom = 0;
    pthread_mutex_unlock(&lock);
    return result;
}

void CFaultsFree(CFaultsEvent *list, size_t count) {
    for (size_t i = 0; i < count; i++) free(list[i].bytes);
    free(list);
}

static ssize_t recorded(int descriptor, const struct iovec *parts, int count, off_t offset,
                        ssize_t written) {
    int reason = errno;
    recordWrite(descriptor, parts, count, offset, written);
    errno = reason;
    return written;
}

#define WRITING(name, offset_t_, real_call)                                                \
    {                                                                                      \
        REAL(name);                                                                        \
        Fate fated = fate(descriptor, CFaultsWrite, count);                                \
        if (fated == Fails) return -1;                                                     \
        if (fated == PassesInPart) count = part(count);                                    \
        struct iovec whole = {(void *)bytes, count};                                       \
        offset_t_;                                                                         \
        return recorded(descriptor, &whole, 1, offset, real_call);                         \
    }

ssize_t write(int descriptor, const void *bytes, size_t count)
WRITING(write, off_t offset = lseek(descriptor, 0, SEEK_CUR), real(descriptor, bytes, count))

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset)
WRITING(pwrite, , real(descriptor, bytes, count, offset))

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off_t offset)
WRITING(pwrite64, , real(descriptor, bytes, count, offset))

/// Cuts a vector, which has a few dozen parts at most, down to a number of bytes.
static int cut(const struct iovec *parts, int count, size_t bytes, struct iovec *cut) {
    int kept = 0;
    for (; kept < count && bytes > 0; kept++) {
        cut[kept] = parts[kept];
        if (cut[kept].iov_len > bytes) cut[kept].iov_len = bytes;
        bytes -= cut[kept].iov_len;
    }
    return kept;
}

#define WRITING_PARTS(name, find_offset, real_call)                                        \
    {                                                                                      \
        REAL(name);                                                                        \
        size_t bytes = 0;                                                                  \
        for (int i = 0; i < count; i++) bytes += parts[i].iov_len;                         \
        Fate fated = fate(descriptor, CFaultsWrite, bytes);                                \
        if (fated == Fails) return -1;                                                     \
        struct iovec some[IOV_MAX];                                                        \
        if (fated == PassesInPart) {                                                       \
            count = cut(parts, count, part(bytes), some);                                  \
            parts = some;                                                                  \
        }                                                                                  \
        find_offset;                                                                       \
        return recorded(descriptor, parts, count, offset, real_call);                      \
    }

ssize_t writev(int descriptor, const struct iovec *parts, int count)
WRITING_PARTS(writev, off_t offset = lseek(descriptor, 0, SEEK_CUR),
              real(descriptor, parts, count))

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset)
WRITING_PARTS(pwritev, , real(descriptor, parts, count, offset))

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off_t offset)
WRITING_PARTS(pwritev64, , real(descriptor, parts, count, offset))

#define READING(name, real_call)                                                           \
    {                                                                                      \
        REAL(name);                                                                        \
        Fate fated = fateOn(descriptor, #name, count, false);                              \
        if (fated == Fails) return -1;                                                     \
        if (fated == PassesInPart) count = part(count);                                    \
        return real_call;                                                                  \
    }

ssize_t read(int descriptor, void *bytes, size_t count)
READING(read, real(descriptor, bytes, count))

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset)
READING(pread, real(descriptor, bytes, count, offset))

ssize_t pread64(int descriptor, void *bytes, size_t count, off_t offset)
READING(pread64, real(descriptor, bytes, count, offset))

// The thread sanitizer has to see descriptors end.
#if !__has_feature(thread_sanitizer)
/// Ends the process where a descriptor is closed twice. Elsewhere the second time closes what another
/// thread has opened meanwhile, which then fails for no reason of its own.
int close(int descriptor) {
    REAL(close);
    int status = real(descriptor), reason = errno;
    if (status != 0 && reason == EBADF && descriptor >= 0) {
        fprintf(stderr, "The descriptor %d was closed twice, the second time here:\n", descriptor);
        void *callers[32];
        backtrace_symbols_fd(callers, backtrace(callers, 32), STDERR_FILENO);
        abort();
    }
    errno = reason;
    return status;
}
#endif

int fsync(int descriptor) {
    REAL(fsync);
    if (fails(descriptor, CFaultsSync)) return -1;
    int file, number = recordSyncBegin(descriptor, &file), status = real(descriptor);
    recordSyncEnd(file, number, status);
    return status;
}

int fdatasync(int descriptor) {
    REAL(fdatasync);
    if (fails(descriptor, CFaultsSync)) return -1;
    int file, number = recordSyncBegin(descriptor, &file), status = real(descriptor);
    recordSyncEnd(file, number, status);
    return status;
}

// With _GNU_SOURCE the header declares it.
int fallocate(int descriptor, int mode, off_t offset, off_t count) {
    REAL(fallocate);
    if (fails(descriptor, CFaultsPunch)) return -1;
    int status = real(descriptor, mode, offset, count), reason = errno;
    int file = status == 0 && (mode & FALLOC_FL_PUNCH_HOLE) ? recordedFile(descriptor) : -1;
    if (file >= 0) {
        pthread_mutex_lock(&lock);
        add((CFaultsEvent){.kind = CFaultsEventPunch, .file = file, .offset = offset,
                           .count = (size_t)count});
        pthread_mutex_unlock(&lock);
    }
    errno = reason;
    return status;
}

// The calls that only fail, and are not recorded.

#define FAILING(result, name, parameters, arguments, condition, failure)  \
    result name parameters {                                               \
        REAL(name);                                                        \
        if (condition) return failure;                                     \
        return real arguments;                                             \
    }

FAILING(int, ftruncate, (int descriptor, off_t count), (descriptor, count),
        failsOn(descriptor, "ftruncate"), -1)
FAILING(int, ftruncate64, (int descriptor, off_t count), (descriptor, count),
        failsOn(descriptor, "ftruncate"), -1)
FAILING(void *, mmap,
        (void *address, size_t count, int protection, int flags, int descriptor, off_t offset),
        (address, count, protection, flags, descriptor, offset),
        descriptor >= 0 && failsOn(descriptor, "mmap"), MAP_FAILED)
FAILING(void *, mmap64,
        (void *address, size_t count, int protection, int flags, int descriptor, off_t offset),
        (address, count, protection, flags, descriptor, offset),
        descriptor >= 0 && failsOn(descriptor, "mmap"), MAP_FAILED)
FAILING(int, mkdir, (const char *path, mode_t mode), (path, mode), failsAt(path, "mkdir"), -1)
FAILING(char *, mkdtemp, (char *template), (template), failsAt(template, "mkdtemp"), NULL)
FAILING(int, rename, (const char *from, const char *to), (from, to), failsAt(to, "rename"), -1)
FAILING(int, link, (const char *from, const char *to), (from, to), failsAt(to, "link"), -1)
FAILING(int, unlink, (const char *path), (path), failsAt(path, "unlink"), -1)
FAILING(int, rmdir, (const char *path), (path), failsAt(path, "rmdir"), -1)

#define OPENING(name)                                                      \
    int name(const char *path, int flags, ...) {                           \
        REAL(name);                                                        \
        mode_t mode = 0;                                                   \
        if (flags & (O_CREAT | O_TMPFILE)) {                               \
            va_list rest;                                                  \
            va_start(rest, flags);                                         \
            mode = va_arg(rest, mode_t);                                   \
            va_end(rest);                                                  \
        }                                                                  \
        if (failsAt(path, "open")) return -1;                              \
        return real(path, flags, mode);                                    \
    }

OPENING(open)
OPENING(open64)

int CFaultsInChild(int (*body)(void *), void *context) {
    pid_t child = fork();
    if (child == 0) _exit(body(context));
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int begin(const char *directory, size_t mapBytes, bool writes, MDB_txn **txn) {
    MDB_env *env;
    int status = mdb_env_create(&env);
    if (!status) status = mdb_env_set_maxdbs(env, 2);
    if (!status) status = mdb_env_set_mapsize(env, mapBytes);
    if (!status) status = mdb_env_open(env, directory, 0, 0600);
    if (!status) status = mdb_txn_begin(env, NULL, writes ? 0 : MDB_RDONLY, txn);
    return status;
}

static int put(MDB_txn *txn, int count, size_t valueBytes) {
    MDB_dbi one;
    int status = mdb_dbi_open(txn, "one", 0, &one);
    char *bytes = calloc(1, valueBytes);
    for (int i = 0; i < count && !status; i++) {
        char name[16];
        MDB_val key = {(size_t)snprintf(name, sizeof name, "key%d", i), name};
        MDB_val value = {valueBytes, bytes};
        status = mdb_put(txn, one, &key, &value, 0);
    }
    free(bytes);
    return status;
}

int CFaultsWriteInChild(const char *directory, size_t mapBytes, int count, size_t valueBytes) {
    pid_t child = fork();
    if (child == 0) {
        MDB_txn *txn;
        int status = begin(directory, mapBytes, true, &txn);
        if (!status) status = put(txn, count, valueBytes);
        if (!status) status = mdb_txn_commit(txn);
        _exit(status ? 1 : 0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

pid_t CFaultsHangInChild(const char *directory, size_t mapBytes, bool writes) {
    int ready[2];
    if (pipe(ready) != 0) return -1;
    pid_t child = fork();
    if (child == 0) {
        MDB_txn *txn;
        int status = begin(directory, mapBytes, writes, &txn);
        if (!status && writes) status = put(txn, 1, 10);
        char byte = status ? 1 : 0;
        if (write(ready[1], &byte, 1) != 1) _exit(1);
        for (;;) pause();
    }
    char byte = 1;
    close(ready[1]);
    ssize_t got = read(ready[0], &byte, 1);
    close(ready[0]);
    if (got == 1 && byte == 0) return child;
    CFaultsKill(child);
    return -1;
}

// The sum of all bytes of a database, each weighted by its place.
static int sum(MDB_txn *txn, const char *name, unsigned long *result) {
    MDB_dbi dbi;
    MDB_cursor *cursor;
    int status = mdb_dbi_open(txn, name, 0, &dbi);
    if (!status) status = mdb_cursor_open(txn, dbi, &cursor);
    if (status) return status;
    MDB_val key, value;
    unsigned long total = 0;
    while (!(status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        MDB_val parts[2] = {key, value};
        for (int part = 0; part < 2; part++) {
            const unsigned char *bytes = parts[part].mv_data;
            for (size_t i = 0; i < parts[part].mv_size; i++) total = total * 31 + bytes[i] + 1;
        }
    }
    mdb_cursor_close(cursor);
    *result = total;
    return status == MDB_NOTFOUND ? 0 : status;
}

pid_t CFaultsReadInChild(const char *directory, size_t mapBytes, int *wake) {
    int ready[2], go[2];
    if (pipe(ready) != 0 || pipe(go) != 0) return -1;
    pid_t child = fork();
    if (child == 0) {
        MDB_txn *txn;
        unsigned long before = 0, after = 1;
        close(go[1]);
        int status = begin(directory, mapBytes, false, &txn);
        if (!status) status = sum(txn, "one", &before);
        char byte = status ? 1 : 0;
        if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1) _exit(1);
        if (!status) status = sum(txn, "one", &after);
        _exit(status || before != after);
    }
    char byte = 1;
    close(ready[1]);
    close(go[0]);
    ssize_t got = read(ready[0], &byte, 1);
    close(ready[0]);
    *wake = go[1];
    if (got == 1 && byte == 0) return child;
    close(go[1]);
    CFaultsKill(child);
    return -1;
}

int CFaultsEndReading(pid_t child, int wake) {
    char byte = 0;
    int status = 0;
    // A signal to -1 is one to everybody.
    if (child <= 0) return -1;
    if (write(wake, &byte, 1) != 1) kill(child, SIGKILL);
    close(wake);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

void CFaultsKill(pid_t child) {
    if (child <= 0) return;
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

int CFaultsActAs(int user) {
    return setfsuid((uid_t)user);
}
