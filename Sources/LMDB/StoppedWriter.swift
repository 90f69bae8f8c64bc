import Glibc

/// A process that stands still in the middle of a write, and so keeps all others from writing.
///
/// LMDB's writers take a lock in the lock file that has no time limit. The system frees it when its
/// owner ends, but not while the owner is stopped, as by SIGSTOP or a debugger. Nobody can take it away
/// then: the owner may go on at any moment.
package struct StoppedWriter: Hashable, Sendable {
    /// The process to continue or to end.
    package let process: Int32

    /// Where the lock file of LMDB 0.9 on x86-64 and arm64 (64 bits, cache lines of 64 bytes) has the
    /// magic number, and where the thread that owns the writers' lock.
    private enum Layout {
        static let magic = 0
        static let writer = 64 + 8
        static let byteCount = 128
    }

    /// Looks for it; `nil` if there is none, or if that can't be told.
    ///
    /// - Parameter lockPath: The lock file, which this process must not have open: closing a file gives
    ///   all locks of the process on it back.
    init?(lockPath: String) {
        let descriptor = open(lockPath, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Layout.byteCount)
        guard pread(descriptor, &bytes, bytes.count, 0) == bytes.count else { return nil }
        let magic = bytes[...].integer(at: Layout.magic, as: UInt32.self)
        let thread = Int32(
            bitPattern: bytes[...].integer(at: Layout.writer, as: UInt32.self))
        guard magic == DataFile.magic, thread > 0 else { return nil }
        // The number may be old, and another process have it now: one that doesn't use the file.
        var status = stat()
        guard fstat(descriptor, &status) == 0,
            Self.text("/proc/\(thread)/maps")?.contains(" \(status.st_ino) ") == true
        else { return nil }
        var fields: [Substring: Substring] = [:]
        for line in Self.text("/proc/\(thread)/status")?.split(separator: "\n") ?? [] {
            let parts = line.split(separator: "\t", maxSplits: 1)
            if parts.count == 2 { fields[parts[0]] = parts[1] }
        }
        guard let state = fields["State:"]?.first?.lowercased(), state == "t",
            let process = fields["Tgid:"].flatMap({ Int32($0) })
        else { return nil }
        self.process = process
    }

    private static func text(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(descriptor, &part, part.count)
            guard count > 0 else { break }
            text += part[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }
}
