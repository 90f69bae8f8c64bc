#define _GNU_SOURCE
#include "CFaults.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
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
    armed = true;
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
    armed = false;
    int result = failed;
    pthread_mutex_unlock(&lock);
    return result;
}

static bool fails(int descriptor, CFaultsCall call) {
    if (!__atomic_load_n(&armed, __ATOMIC_RELAXED)) return false;
    struct stat status;
    if (fstat(descriptor, &status) != 0) return false;
    bool result = false;
    pthread_mutex_lock(&lock);
    if (armed && call == armedCall && status.st_dev == armedDevice &&
        status.st_ino == armedInode) {
        if (successes > 0) {
            successes--;
        } else if (failures > 0) {
            failures--;
            failed++;
            result = true;
        }
    }
    int reason = armedReason;
    pthread_mutex_unlock(&lock);
    if (result) errno = reason;
    return result;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    REAL(pwrite);
    return fails(descriptor, CFaultsWrite) ? -1 : real(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off_t offset) {
    REAL(pwrite64);
    return fails(descriptor, CFaultsWrite) ? -1 : real(descriptor, bytes, count, offset);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    REAL(writev);
    return fails(descriptor, CFaultsWrite) ? -1 : real(descriptor, parts, count);
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    REAL(pwritev);
    return fails(descriptor, CFaultsWrite) ? -1 : real(descriptor, parts, count, offset);
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off_t offset) {
    REAL(pwritev64);
    return fails(descriptor, CFaultsWrite) ? -1 : real(descriptor, parts, count, offset);
}

int fsync(int descriptor) {
    REAL(fsync);
    return fails(descriptor, CFaultsSync) ? -1 : real(descriptor);
}

int fdatasync(int descriptor) {
    REAL(fdatasync);
    return fails(descriptor, CFaultsSync) ? -1 : real(descriptor);
}

pid_t CFaultsFork(int (*body)(void *), void *context) {
    pid_t child = fork();
    if (child == 0) {
        body(context);
        for (;;) pause();
    }
    return child;
}

int CFaultsInChild(int (*body)(void *), void *context) {
    pid_t child = fork();
    if (child == 0) _exit(body(context));
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
