import Glibc

/// How a file gets a name that another process may be giving to one too.
package enum FileName {
    /// Gives a file another name, unless there is a file of that name. It has both for a moment.
    ///
    /// - Returns: Whether it has the new name alone. If not, `errno` has the reason: `EEXIST` if there is
    ///   another file, which stays what it is.
    package static func renameIfFree(_ old: String, to new: String) -> Bool {
        if link(old, new) == 0 { return unlink(old) == 0 }
        // Not all file systems can give a file two names.
        guard [EPERM, EOPNOTSUPP, EMLINK].contains(errno) else { return false }
        if access(new, F_OK) == 0 {
            errno = EEXIST
            return false
        }
        return rename(old, new) == 0
    }
}
