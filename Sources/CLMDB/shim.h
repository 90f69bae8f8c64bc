#include <lmdb.h>
// The Glibc module lacks statfs, which tells the type of a file system.
#include <sys/statfs.h>
// Nor has it fallocate, which is declared for programs that ask for GNU extensions only.
int fallocate(int descriptor, int mode, off_t offset, off_t count);
// Swift has no way to say that memory will be read soon.
static inline void cache_prefetch(const void *address) { __builtin_prefetch(address); }
