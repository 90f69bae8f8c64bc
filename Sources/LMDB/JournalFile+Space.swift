import CLMDB
import Glibc

/// The blocks of the file.
extension JournalFile {
    /// The bytes of records' blocks that a disk with little space lets the file have.
    private static let reserveBytes = 1 << 20
    /// How long the file is while its blocks are lent: not as long as a new one.
    private static let lentBytes = recordsOffset + JournalRecord.pageBytes

    private var wholeBytes: Int { Self.recordsOffset + 2 * halfBytes }

    private var byteCount: Int {
        get throws(LMDBError) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else {
                throw LMDBError(errno: errno, "look up", path: path)
            }
            return Int(status.st_size)
        }
    }

    /// Whether the halves have all of their blocks.
    var isWhole: Bool { (try? byteCount).map { $0 >= wholeBytes } ?? false }

    /// Whether the blocks were given to what frees space, and nobody has them again yet.
    var isLent: Bool { (try? byteCount) == Self.lentBytes }

    /// Gives the halves all of their blocks if they lack them.
    func fill() throws(LMDBError) { try extend(to: wholeBytes) }

    /// Gives the file the blocks that ``lend()`` frees if it has fewer.
    func fillReserve() throws(LMDBError) {
        try extend(to: min(wholeBytes, Self.recordsOffset + Self.reserveBytes))
    }

    private func extend(to end: Int) throws(LMDBError) {
        let present = max(try byteCount, Self.recordsOffset)
        guard present < end else { return }
        let zeros = [UInt8](repeating: 0, count: end - present)
        let isWritten = zeros.withUnsafeBytes { Self.write($0, at: present, to: descriptor) }
        guard isWritten, fsync(descriptor) == 0 else {
            let reason = errno
            // Others need the blocks more. A longer file does no harm if this fails too.
            _ = ftruncate(descriptor, present)
            throw LMDBError(errno: reason, "write", path: path)
        }
    }

    /// Gives the blocks back to the file system until ``fillReserve()`` or ``fill()``. No record waits.
    ///
    /// - Returns: Whether there were any.
    func lend() -> Bool {
        guard let present = try? byteCount, present > Self.lentBytes else { return false }
        return ftruncate(descriptor, Self.lentBytes) == 0
    }

    /// Takes all blocks away, with the holes among them. No record waits.
    func empty() -> Bool { ftruncate(descriptor, Self.recordsOffset) == 0 }

    /// Gives the blocks of a half back to the file system. None of its records waits.
    func punch(half: Int) -> Bool {
        fallocate(
            descriptor, FileHoles.mode, Self.recordsOffset + half * halfBytes, halfBytes) == 0
    }

    /// The bytes that are free on the disk for this user.
    var freeBytes: Int {
        var status = statvfs()
        guard fstatvfs(descriptor, &status) == 0 else { return 0 }
        return Int(status.f_bavail) * Int(status.f_frsize)
    }
}
