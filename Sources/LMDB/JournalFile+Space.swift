import CLMDB
import Glibc

/// The blocks of the file.
extension JournalFile {
    /// The bytes of records' blocks that a disk with little space lets the file have.
    private static let reserveBytes = 1 << 20
    /// How long the file is while its blocks are lent: not as long as a new one.
    private static let lentBytes = recordsOffset + JournalRecord.pageBytes

    /// Where the second half begins.
    private var secondOffset: Int { Self.recordsOffset + halfBytes }

    private var byteCount: Int {
        get throws(LMDBError) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else {
                throw LMDBError(errno: errno, "look up", path: path)
            }
            return Int(status.st_size)
        }
    }

    /// The bytes at the beginning of each half that have blocks. Records go only there, so that each is a
    /// write of data and of nothing else.
    var usableBytes: Int {
        let page = JournalRecord.pageBytes
        return (try? byteCount).map { max(0, min(halfBytes, $0 - secondOffset)) / page * page } ?? 0
    }

    /// Whether there are as many blocks as what frees space may need.
    var hasReserve: Bool { usableBytes >= min(halfBytes, Self.reserveBytes / 2) }

    /// Whether the blocks were given to what frees space, and nobody has them again yet.
    var isLent: Bool { (try? byteCount) == Self.lentBytes }

    /// Gives the beginnings of both halves blocks, as far as they lack them. Records may wait there.
    func fill(to bytes: Int) throws(LMDBError) {
        let usable = usableBytes
        guard usable < bytes else { return }
        // A file without a second half has a part of the first one.
        let present = max(0, try byteCount - Self.recordsOffset)
        let first = usable > 0 ? usable : min(bytes, present)
        try extend(with: [
            Self.recordsOffset + first..<Self.recordsOffset + bytes,
            secondOffset + usable..<secondOffset + bytes,
        ])
    }

    /// Gives the file the blocks that ``lend()`` frees if it has fewer.
    func fillReserve() throws(LMDBError) {
        if usableBytes > 0 {
            return try fill(to: min(halfBytes, Self.reserveBytes / 2))
        }
        let present = max(try byteCount, Self.recordsOffset)
        let end = Self.recordsOffset + min(2 * halfBytes, Self.reserveBytes)
        if present < end { try extend(with: [present..<end]) }
    }

    /// Writes zeros, and puts them on disk. If that fails, the file is as long as before.
    private func extend(with ranges: [Range<Int>]) throws(LMDBError) {
        let present = max(try byteCount, Self.recordsOffset)
        let isWritten = ranges.allSatisfy { range in
            [UInt8](repeating: 0, count: range.count).withUnsafeBytes {
                Self.write($0, at: range.lowerBound, to: descriptor)
            }
        }
        guard isWritten, fsync(descriptor) == 0 else {
            let reason = errno
            // Others need the blocks more. A longer file does no harm if this fails too.
            _ = ftruncate(descriptor, present)
            throw LMDBError(errno: reason, "write", path: path)
        }
    }

    /// Gives the blocks back to the file system until ``fillReserve()`` or ``fill(to:)``. No record waits.
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
