import Glibc

/// How many files and connections the process may have open.
public enum ProcessDescriptors {
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    /// How many, as the system has it now.
    static var limit: Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 0 }
        return Int(clamping: limit.rlim_cur)
    }

    /// Raises the limit as far as the process itself may.
    ///
    /// Many systems start a process with 1,024, because of programs that call `select`, and allow
    /// many more. Call it once, before threads begin.
    ///
    /// - Returns: The limit from now on.
    public static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 0 }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
        return self.limit
    }
}
