#ifndef CFAULTS_H
#define CFAULTS_H

#include <stdbool.h>
#include <sys/types.h>

/// The calls that can be made to fail.
typedef enum {
    CFaultsWrite,  ///< write, pwrite, writev, pwritev
    CFaultsSync,   ///< fsync, fdatasync, msync
    CFaultsPunch,  ///< fallocate
} CFaultsCall;

/// Makes the calls of the current process fail that concern one file.
///
/// @param device The device of the file.
/// @param inode The inode of the file.
/// @param call Which calls fail.
/// @param number How many calls succeed first.
/// @param times How many calls fail after them.
/// @param reason The value of errno; 0 lets writes write a part, and no call fails.
void CFaultsArm(dev_t device, ino_t inode, CFaultsCall call, int number, int times, int reason);

/// Lets all calls succeed again.
/// @return How many calls failed.
int CFaultsDisarm(void);

/// Counts the calls of the process that concern a folder and everything in it, and makes some of
/// them fail: those of CFaultsCall, and open, read, pread, mmap, ftruncate, mkdir, mkdtemp, rename,
/// link, unlink and rmdir.
///
/// @param directory The start of the absolute paths that count, without symbolic links.
/// @param number How many calls succeed first.
/// @param times How many calls fail after them.
/// @param reason The value of errno.
void CFaultsCount(const char *directory, int number, int times, int reason);

/// As CFaultsCount, but makes one call read or write a part of the bytes, if it is one of those.
///
/// @param number How many calls come before.
/// @param thenFull Whether all writes fail behind it because the disk is full.
void CFaultsCountShort(const char *directory, int number, bool thenFull);

/// Ends counting.
/// @param failed Gets how many calls failed or were cut short.
/// @return A line for each call, to be freed: its name, the path after that of the folder, and
/// " failed" or " short of " and how many bytes were asked for.
char *CFaultsCounted(int *failed);

/// What a recorded event was.
typedef enum {
    CFaultsEventWrite,        ///< bytes were written to a file, not synced
    CFaultsEventWriteSynced,  ///< bytes were written to a file that syncs each write
    CFaultsEventSyncBegin,    ///< a sync of a file began
    CFaultsEventSyncEnd,      ///< a sync of a file ended
    CFaultsEventMark,         ///< the test noted something
    CFaultsEventPunch,        ///< a hole was made in a file
} CFaultsEventKind;

/// Something that happened to a file while recording.
typedef struct {
    CFaultsEventKind kind;
    int file;        ///< index into the names given to CFaultsRecord
    int number;      ///< of a mark: the given number; of a sync: its own
    off_t offset;    ///< of a write or a hole: where
    size_t count;    ///< of a write or a hole: how many bytes
    void *bytes;     ///< of a write: the bytes
} CFaultsEvent;

/// Records what the process writes and syncs in one folder from now on.
///
/// @param directory The absolute path of the folder.
/// @param names The names of the files to record.
/// @param count How many names.
void CFaultsRecord(const char *directory, const char *const *names, int count);

/// Adds a mark to the record.
void CFaultsMark(int number);

/// Ends recording.
/// @param count Gets the number of events.
/// @return The events; free with CFaultsFree.
CFaultsEvent *CFaultsRecorded(size_t *count);

/// Frees recorded events.
void CFaultsFree(CFaultsEvent *events, size_t count);

/// Runs a function in a forked child.
/// @return The exit status that the function returned, or 128 and the number of the signal.
int CFaultsInChild(int (*body)(void *), void *context);

/// Lets a child process write entries "key0", "key1" ... to the database "one", with plain LMDB.
/// @return 0, or the error of LMDB.
int CFaultsWriteInChild(const char *directory, size_t mapBytes, int count, size_t valueBytes);

/// Starts a child process that opens a directory and hangs in the middle of a transaction.
/// @param writes Whether it is a write with an uncommitted entry in the database "one".
/// @return The process id, once the child has got that far, or -1.
pid_t CFaultsHangInChild(const char *directory, size_t mapBytes, bool writes);

/// Starts a child process that reads all of the database "one", and keeps its snapshot.
/// @param wake Gets what to give to CFaultsEndReading.
/// @return The process id, once the child has read, or -1.
pid_t CFaultsReadInChild(const char *directory, size_t mapBytes, int *wake);

/// Lets such a child read its snapshot again, and waits for its end.
/// @return 0 if it read the same as before.
int CFaultsEndReading(pid_t child, int wake);

/// Kills a child process and waits for its end.
void CFaultsKill(pid_t child);

/// Lets the calling thread act on files as another user.
/// @return The user before.
int CFaultsActAs(int user);

#endif
