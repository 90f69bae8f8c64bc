#ifndef CFAULTS_H
#define CFAULTS_H

#include <stdbool.h>
#include <sys/types.h>

/// The calls that can be made to fail.
typedef enum {
    CFaultsWrite,  ///< pwrite, writev, pwritev
    CFaultsSync,   ///< fsync, fdatasync, msync
} CFaultsCall;

/// Makes the calls of the current process fail that concern one file.
///
/// @param device The device of the file.
/// @param inode The inode of the file.
/// @param call Which calls fail.
/// @param number How many calls succeed first.
/// @param times How many calls fail after them.
/// @param reason The value of errno.
void CFaultsArm(dev_t device, ino_t inode, CFaultsCall call, int number, int times, int reason);

/// Lets all calls succeed again.
/// @return How many calls failed.
int CFaultsDisarm(void);

/// Runs a function in a forked child.
/// @return The exit status that the function returned, or 128 and the number of the signal.
int CFaultsInChild(int (*body)(void *), void *context);

/// Forks; the child runs the function and then waits to be killed.
/// @return The process id of the child.
pid_t CFaultsFork(int (*body)(void *), void *context);

#endif
