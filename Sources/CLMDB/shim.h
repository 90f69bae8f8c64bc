#include <lmdb.h>
// The Glibc module lacks statfs, which tells the type of a file system.
#include <sys/statfs.h>
