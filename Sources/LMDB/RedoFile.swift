import Glibc

/// A redo file: two headers and two halves of records. Plain reading, writing and locking.
///
/// | offset | bytes  | content                                       |
/// |--------|--------|-----------------------------------------------|
/// | 0      | 512    | header                                        |
/// | 4096   | 512    | header                                        |
/// | 8192   | 512 Ki | records of even epochs                        |
/// |        | 512 Ki | records of odd epochs                         |
///
/// All of it is written once when the file is made, so that a sync later waits for data only.
final class RedoFile: Sendable {
    static let halfBytes = 512 << 10
    private static let recordsOffset = 8192
    private static let byteCount = recordsOffset + 2 * halfBytes

    private let descriptor: Int32
    private let path: String

    /// Opens the redo file of a folder; `nil` if there is none.
    init?(in folder: Folder, forWriting: Bool = true) throws(LMDBError) {
        path = folder.redoPath
        descriptor = open(path, (forWriting ? O_RDWR : O_RDONLY) | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw LMDBError(errno: errno, "open", path: path)
        }
    }

    /// Makes a redo file with no records, or opens the one that another process made meanwhile.
    ///
    /// A file that a crash left unfinished reads as a clean one, and is finished here.
    init(makingIn folder: Folder) throws(LMDBError) {
        path = folder.redoPath
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw LMDBError(errno: errno, "create", path: path) }
        try finish()
        try Folder.sync(folder.path)
    }

    /// Gives a file that is too short all of its blocks, or leaves it as it was.
    func finish() throws(LMDBError) {
        guard try byteCount < Self.byteCount else { return }
        try locked { () throws(LMDBError) in
            let present = try byteCount
            guard present < Self.byteCount else { return }
            do throws(LMDBError) {
                try write([UInt8](repeating: 0, count: Self.byteCount - present), at: present)
            } catch {
                // Others need the blocks more. A longer file does no harm if this fails too.
                _ = ftruncate(descriptor, present)
                throw error
            }
            guard fsync(descriptor) == 0 else { throw LMDBError(errno: errno, "sync", path: path) }
        }
    }

    /// Gives the blocks of the records back; they come back with ``finish()``.
    ///
    /// - Returns: Whether there were any. A file that is in use keeps them.
    func shrink() throws(LMDBError) -> Bool {
        try locked { () throws(LMDBError) in
            guard try byteCount > Self.recordsOffset, try header().state == .clean else {
                return false
            }
            guard ftruncate(descriptor, Self.recordsOffset) == 0 else {
                throw LMDBError(errno: errno, "shorten", path: path)
            }
            return true
        }
    }

    /// Whether the blocks of the records were given back, and nobody has them again yet.
    var isLent: Bool {
        get throws(LMDBError) { try byteCount == Self.recordsOffset }
    }

    private var byteCount: Int {
        get throws(LMDBError) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else {
                throw LMDBError(errno: errno, "look up", path: path)
            }
            return Int(status.st_size)
        }
    }

    deinit { close(descriptor) }

    /// The header that counts.
    func header() throws(LMDBError) -> RedoHeader {
        let bytes = try read(at: 0, count: RedoHeader.secondOffset + RedoHeader.byteCount)
        return bytes.withUnsafeBytes { bytes in
            .newest(
                RedoHeader(UnsafeRawBufferPointer(rebasing: bytes[..<RedoHeader.byteCount])),
                RedoHeader(UnsafeRawBufferPointer(rebasing: bytes[RedoHeader.secondOffset...])))
        }
    }

    /// Both headers as they stand; nil for one that is no header, which a new file's blank ones are.
    func headers() throws(LMDBError) -> [(header: RedoHeader?, isBlank: Bool)] {
        let bytes = try read(at: 0, count: RedoHeader.secondOffset + RedoHeader.byteCount)
        return bytes.withUnsafeBytes { bytes in
            [0, RedoHeader.secondOffset].map { offset in
                let part = UnsafeRawBufferPointer(
                    rebasing: bytes[offset..<offset + RedoHeader.byteCount])
                return (RedoHeader(part), part.allSatisfy { $0 == 0 })
            }
        }
    }

    /// Writes a header in the place of the older one, without syncing it.
    func write(_ header: RedoHeader) throws(LMDBError) {
        try write(header.bytes, at: header.offset)
    }

    /// Writes a record into the half of its epoch, without syncing it.
    func write(
        record: UnsafeRawBufferPointer, epoch: UInt64, at offset: Int
    ) throws(LMDBError) {
        guard Self.write(record, at: Self.start(of: epoch) + offset, to: descriptor) else {
            throw LMDBError(errno: errno, "write", path: path)
        }
    }

    /// Makes a record invalid, and syncs that.
    func erase(epoch: UInt64, at offset: Int) throws(LMDBError) {
        try write(
            [UInt8](repeating: 0, count: RedoRecord.sectorBytes),
            at: Self.start(of: epoch) + offset)
        try sync()
    }

    /// All bytes of the half of an epoch.
    func half(of epoch: UInt64) throws(LMDBError) -> [UInt8] {
        try read(at: Self.start(of: epoch), count: Self.halfBytes)
    }

    /// Puts what was written on disk.
    func sync() throws(LMDBError) {
        guard fdatasync(descriptor) == 0 else { throw LMDBError(errno: errno, "sync", path: path) }
    }

    /// Runs a closure while no other process changes headers.
    func locked<R>(_ body: () throws(LMDBError) -> R) throws(LMDBError) -> R {
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw LMDBError(errno: errno, "lock", path: path) }
        }
        defer { _ = flock(descriptor, LOCK_UN) }
        return try body()
    }

    private static func start(of epoch: UInt64) -> Int {
        recordsOffset + (epoch % 2 == 0 ? 0 : halfBytes)
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws(LMDBError) {
        guard Self.write(bytes, at: offset, to: descriptor) else {
            throw LMDBError(errno: errno, "write", path: path)
        }
    }

    private static func write(_ bytes: [UInt8], at offset: Int, to descriptor: Int32) -> Bool {
        bytes.withUnsafeBytes { write($0, at: offset, to: descriptor) }
    }

    /// Writes all of some bytes, however many calls that takes; if it fails, `errno` says why.
    static func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, to descriptor: Int32
    ) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = pwrite(
                descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, offset + done)
            if count >= 0 {
                done += count
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Reads bytes; zeros stand for what is behind the end of a file that a crash cut off.
    private func read(at offset: Int, count: Int) throws(LMDBError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let result = bytes.withUnsafeMutableBytes { buffer in
                pread(
                    descriptor, buffer.baseAddress.map { $0 + done }, count - done, offset + done)
            }
            if result == 0 { break }
            if result > 0 {
                done += result
            } else if errno != EINTR {
                throw LMDBError(errno: errno, "read", path: path)
            }
        }
        return bytes
    }
}
