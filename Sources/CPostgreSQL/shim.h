#include <libpq-fe.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

// A descriptor by which one thread wakes another that waits for descriptors. Swift's module of the C
// library lacks these.

static inline int backstitch_bell(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline void backstitch_ring(int bell) {
    uint64_t one = 1;
    // It fails only if the bell has rung more often than it can count, and then it has rung.
    ssize_t written = write(bell, &one, sizeof one);
    (void)written;
}

static inline void backstitch_silence(int bell) {
    uint64_t count;
    ssize_t got = read(bell, &count, sizeof count);
    (void)got;
}
