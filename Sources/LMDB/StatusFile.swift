import Glibc

/// A small file in which a process tells others what it does, until it tells something else.
///
/// It is no part of the data: it is never synced, and what can't be written is left out. Readers see one
/// whole version.
package struct StatusFile: Sendable {
    /// The most bytes of a text.
    private static let byteCountMax = 1 << 20

    private let path: String

    /// - Parameter path: The path of the file, which may not be there. Beside it, its name with `.new`
    ///   belongs to it too.
    package init(_ path: String) { self.path = path }

    /// Puts a text in place of what is there. One process writes at a time.
    package func write(_ text: [UInt8]) {
        let draft = path + ".new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        let count = text.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        guard count == text.count, rename(draft, path) == 0 else {
            unlink(draft)
            return
        }
    }

    /// What was written last; nil if nothing was.
    package func read() -> [UInt8]? { SmallFile.bytes(path, max: Self.byteCountMax) }

    /// Another number for each version, below 2^53; 0 if there is no file.
    package var version: UInt64 {
        var status = stat()
        guard stat(path, &status) == 0 else { return 0 }
        let seconds = UInt64(truncatingIfNeeded: status.st_mtim.tv_sec)
        let nanoseconds = UInt64(truncatingIfNeeded: status.st_mtim.tv_nsec)
        return (seconds &* 1_000_000_000 &+ nanoseconds) & (1 << 53 - 1)
    }
}

/// Reads files of the system and others that are small.
enum SmallFile {
    /// The content of a file; nil if it can't be read or is larger than a limit.
    static func bytes(_ path: String, max: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = Glibc.read(descriptor, &part, part.count)
            if count == 0 { return bytes }
            guard count > 0, bytes.count + count <= max else { return nil }
            bytes += part[..<count]
        }
    }
}
