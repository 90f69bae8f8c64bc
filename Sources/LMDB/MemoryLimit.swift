import Glibc

/// How much memory the system lets this process have, files' pages included.
enum MemoryLimit {
    /// The memory of the machine in bytes, or less if a control group of the process, or one above it, has a
    /// limit (`memory.max` of cgroup v2, `memory.limit_in_bytes` of v1).
    static func current() -> Int {
        let machine = sysconf(Int32(_SC_PHYS_PAGES)) * Int(getpagesize())
        let groups = text("/proc/self/cgroup").map(files(ofGroups:)) ?? []
        let limits = groups.compactMap { text($0) }.compactMap(limit)
        return limits.reduce(machine > 0 ? machine : .max, min)
    }

    /// The files with the limits of the groups that `/proc/self/cgroup` lists, and of those above.
    static func files(ofGroups text: String) -> [String] {
        text.split(separator: "\n").flatMap { line -> [String] in
            // number:controllers:path
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { return [] }
            let root: String
            let name: String
            if parts[1].isEmpty {
                (root, name) = ("/sys/fs/cgroup", "memory.max")
            } else if parts[1].split(separator: ",").contains("memory") {
                (root, name) = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            } else {
                return []
            }
            let folders = parts[2].split(separator: "/")
            return (0...folders.count).map { count in
                ([Substring(root)] + folders.prefix(count) + [Substring(name)])
                    .joined(separator: "/")
            }
        }
    }

    /// The number in a file of a limit; nil if it has none.
    static func limit(_ text: String) -> Int? {
        Int(text.prefix { !$0.isWhitespace }).flatMap { $0 > 0 ? $0 : nil }
    }

    private static func text(_ path: String) -> String? {
        SmallFile.bytes(path, max: 1 << 16).map { String(decoding: $0, as: UTF8.self) }
    }
}
