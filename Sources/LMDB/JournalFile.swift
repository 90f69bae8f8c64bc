import Glibc
import XXHash

/// The file `journal`: a header, a page of words, and two halves of records.
///
/// | offset | bytes      | content                                                    |
/// |--------|------------|------------------------------------------------------------|
/// | 0      | 32         | `BSTJRNL1`, id, bytes of a half, XXH64 of these            |
/// | 4,096  | 4,096      | ``JournalWords``                                           |
/// | 8,192  | 2 × a half | ``JournalRecord``                                          |
///
/// Plain reading, writing and locking. The halves are written once before the first record, so that
/// a record later is a write of data only.
final class JournalFile: Sendable {
    private static let magic: UInt64 = 0x314C_4E52_4A54_5342
    private static let headerBytes = 32
    private static let recordsOffset = 8_192

    let path: String
    let id: UInt64
    let halfBytes: Int
    /// For everything but records.
    private let descriptor: Int32
    /// What is written to it is on disk when the call returns, unless that isn't wanted.
    private let synced: Int32
    let isSynced: Bool
    let isReadOnly: Bool

    /// What the header says.
    private struct Header {
        let id: UInt64
        let halfBytes: Int

        init?(_ bytes: [UInt8]) {
            let hash = bytes.withUnsafeBytes {
                Checksum.xxh64(UnsafeRawBufferPointer(rebasing: $0[..<24]))
            }
            guard bytes[...].integer(at: 0, as: UInt64.self) == JournalFile.magic,
                bytes[...].integer(at: 24, as: UInt64.self) == hash
            else { return nil }
            id = bytes[...].integer(at: 8, as: UInt64.self)
            halfBytes = Int(truncatingIfNeeded: bytes[...].integer(at: 16, as: UInt64.self))
        }

        static func bytes(id: UInt64, halfBytes: Int) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: JournalFile.headerBytes)
            bytes.store(JournalFile.magic, at: 0)
            bytes.store(id, at: 8)
            bytes.store(UInt64(halfBytes), at: 16)
            let hash = bytes.withUnsafeBytes {
                Checksum.xxh64(UnsafeRawBufferPointer(rebasing: $0[..<24]))
            }
            bytes.store(hash, at: 24)
            return bytes
        }
    }

    private init(
        path: String, descriptor: Int32, _ header: Header, isSynced: Bool, isReadOnly: Bool
    ) throws(LMDBError) {
        guard header.halfBytes >= JournalLimits.halfBytesMin,
            header.halfBytes % JournalRecord.pageBytes == 0, header.halfBytes <= 1 << 30
        else {
            close(descriptor)
            throw LMDBError(
                .damaged, "The header of '\(path)' is damaged. Restore the store from a backup.")
        }
        var synced: Int32 = -1
        if !isReadOnly {
            // Past the system's cache, a record and the flush behind it are one request.
            let flags = O_RDWR | O_CLOEXEC | (isSynced ? O_DSYNC : 0)
            synced = isSynced ? Glibc.open(path, flags | __O_DIRECT) : -1
            // Not all file systems can do that.
            if synced < 0 { synced = Glibc.open(path, flags) }
            guard synced >= 0 else {
                let reason = errno
                close(descriptor)
                throw LMDBError(errno: reason, "open", path: path)
            }
        }
        self.path = path
        self.descriptor = descriptor
        self.synced = synced
        self.isSynced = isSynced
        self.isReadOnly = isReadOnly
        id = header.id
        halfBytes = header.halfBytes
    }

    deinit {
        if synced >= 0 { close(synced) }
        close(descriptor)
    }

    /// Opens the journal of a folder; `nil` if there is none, or none with a header.
    static func open(
        in folder: Folder, isSynced: Bool, isReadOnly: Bool
    ) throws(LMDBError) -> JournalFile? {
        let path = folder.journalPath
        let descriptor = Glibc.open(path, (isReadOnly ? O_RDONLY : O_RDWR) | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw LMDBError(errno: errno, "open", path: path)
        }
        let header: Header?
        do throws(LMDBError) {
            header = try Header(read(descriptor, at: 0, count: headerBytes, path))
        } catch {
            close(descriptor)
            throw error
        }
        guard let header else {
            close(descriptor)
            return nil
        }
        return try JournalFile(
            path: path, descriptor: descriptor, header, isSynced: isSynced, isReadOnly: isReadOnly)
    }

    /// Makes an empty journal, or makes one empty.
    ///
    /// To be called only while the data file is complete without it, and inside ``creating(in:_:)``.
    static func make(in folder: Folder, id: UInt64, halfBytes: Int) throws(LMDBError) {
        let path = folder.journalPath
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw LMDBError(errno: errno, "create", path: path) }
        defer { close(descriptor) }
        // The words of an older journal mean nothing in this one.
        let head = Header.bytes(id: id, halfBytes: halfBytes)
        let pages = head + [UInt8](repeating: 0, count: recordsOffset - head.count)
        let isWritten = pages.withUnsafeBytes { RedoFile.write($0, at: 0, to: descriptor) }
        guard isWritten else { throw LMDBError(errno: errno, "write", path: path) }
        guard ftruncate(descriptor, recordsOffset) == 0, fsync(descriptor) == 0 else {
            throw LMDBError(errno: errno, "create", path: path)
        }
        try Folder.sync(folder.path)
    }

    /// Runs a closure while no other process makes the journal of a folder.
    static func creating<R>(
        in folder: Folder, _ body: () throws(LMDBError) -> R
    ) throws(LMDBError) -> R {
        let path = folder.journalPath
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw LMDBError(errno: errno, "create", path: path) }
        defer { close(descriptor) }
        try lock(descriptor, path)
        defer { _ = flock(descriptor, LOCK_UN) }
        return try body()
    }

    /// Maps the words.
    func words(boot: BootID?) throws(LMDBError) -> JournalWords {
        try JournalWords(mapping: descriptor, isReadOnly: isReadOnly, boot: boot, path: path)
    }
}

extension JournalFile {
    /// Waits until no other process has the role of the writer, and takes it. The system takes it
    /// away when the process ends.
    func lock() throws(LMDBError) { try Self.lock(descriptor, path) }

    /// Gives the role of the writer back.
    func unlock() { _ = flock(descriptor, LOCK_UN) }

    private static func lock(_ descriptor: Int32, _ path: String) throws(LMDBError) {
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw LMDBError(errno: errno, "lock", path: path) }
        }
    }

    /// Gives the halves all of their blocks if they lack them.
    func fill() throws(LMDBError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw LMDBError(errno: errno, "look up", path: path)
        }
        let byteCount = Self.recordsOffset + 2 * halfBytes
        let present = max(Int(status.st_size), Self.recordsOffset)
        guard present < byteCount else { return }
        let zeros = [UInt8](repeating: 0, count: byteCount - present)
        let isWritten = zeros.withUnsafeBytes { RedoFile.write($0, at: present, to: descriptor) }
        guard isWritten, fsync(descriptor) == 0 else {
            let reason = errno
            // Others need the blocks more. A longer file does no harm if this fails too.
            _ = ftruncate(descriptor, present)
            throw LMDBError(errno: reason, "write", path: path)
        }
    }

    /// The bytes that are free on the disk for this user.
    var freeBytes: Int {
        var status = statvfs()
        guard fstatvfs(descriptor, &status) == 0 else { return 0 }
        return Int(status.f_bavail) * Int(status.f_frsize)
    }

    /// Writes a record; it is on disk then if ``isSynced``.
    ///
    /// - Parameter record: Whole pages in memory, too.
    /// - Returns: 0, or the error number.
    func write(_ record: UnsafeRawBufferPointer, at place: JournalPlace) -> Int32 {
        if RedoFile.write(record, at: offset(of: place), to: synced) { return 0 }
        // The system wrote a part that is no whole number of blocks, or wants larger ones.
        guard errno == EINVAL,
            RedoFile.write(record, at: offset(of: place), to: descriptor),
            fdatasync(descriptor) == 0
        else { return errno }
        return 0
    }

    /// Makes a record invalid that was written in part, and puts that on disk.
    ///
    /// - Returns: Whether that worked.
    func erase(at place: JournalPlace) -> Bool {
        let zeros = [UInt8](repeating: 0, count: JournalRecord.pageBytes)
        return zeros.withUnsafeBytes {
            RedoFile.write($0, at: offset(of: place), to: descriptor)
        } && fdatasync(descriptor) == 0
    }

    /// Lets those know who watch the file.
    func ring() {
        var byte: UInt8 = 1
        pwrite(descriptor, &byte, 1, JournalWords.offset + JournalWords.bellOffset)
    }

    /// Puts the records on disk that weren't yet.
    func sync() throws(LMDBError) {
        guard fdatasync(descriptor) == 0 else { throw LMDBError(errno: errno, "sync", path: path) }
    }

    /// Reads the record that follows a link into memory.
    ///
    /// - Returns: Its place and hash, and how many bytes of `memory` it takes up; `nil` if it isn't
    ///   there.
    func read(
        _ number: UInt64, following link: JournalLink, into memory: UnsafeMutableRawBufferPointer
    ) throws(LMDBError) -> (place: JournalPlace, hash: UInt64, space: Int)? {
        for place in [link.place, link.place.otherHalf] {
            guard let found = try read(at: place, into: memory) else { continue }
            let head = JournalRecord.Head(UnsafeRawBufferPointer(memory))
            guard head.number == number, head.previous == link.chain else { continue }
            return (place, found.hash, found.space)
        }
        return nil
    }

    /// Whether a half has a record, on disk when its commit returned, with a number of at least
    /// `number`: then records before it were lost.
    func hasRecord(from number: UInt64) throws(LMDBError) -> Bool {
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: JournalLimits.halfBytesMin, alignment: 8)
        defer { memory.deallocate() }
        for half in 0...1 {
            for offset in stride(from: 0, to: halfBytes, by: JournalRecord.pageBytes) {
                let place = JournalPlace(half: half, offset: offset)
                guard try read(at: place, into: memory) != nil else { continue }
                let head = JournalRecord.Head(UnsafeRawBufferPointer(memory))
                if head.isSynced, head.number >= number { return true }
            }
        }
        return false
    }

    /// Reads the record at a place; `nil` if there is none that is whole.
    private func read(
        at place: JournalPlace, into memory: UnsafeMutableRawBufferPointer
    ) throws(LMDBError) -> (hash: UInt64, space: Int)? {
        let room = min(halfBytes - place.offset, memory.count)
        guard room >= JournalRecord.pageBytes else { return nil }
        let first = UnsafeMutableRawBufferPointer(rebasing: memory[..<JournalRecord.pageBytes])
        try Self.read(descriptor, at: offset(of: place), into: first, path)
        let changeBytes = JournalRecord.Head(UnsafeRawBufferPointer(first)).changeBytes
        guard changeBytes > 0, JournalRecord.space(changeBytes) <= room else { return nil }
        let space = JournalRecord.space(changeBytes)
        let rest = UnsafeMutableRawBufferPointer(
            rebasing: memory[JournalRecord.pageBytes..<space])
        try Self.read(
            descriptor, at: offset(of: place) + JournalRecord.pageBytes, into: rest, path)
        let record = UnsafeRawBufferPointer(rebasing: memory[..<space])
        return JournalRecord.hash(record, id: id).map { ($0, space) }
    }

    private func offset(of place: JournalPlace) -> Int {
        Self.recordsOffset + place.half * halfBytes + place.offset
    }

    private static func read(
        _ descriptor: Int32, at offset: Int, count: Int, _ path: String
    ) throws(LMDBError) -> [UInt8] {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
        defer { memory.deallocate() }
        try read(descriptor, at: offset, into: memory, path)
        return Array(memory)
    }

    /// Reads bytes; zeros stand for what is behind the end of the file.
    private static func read(
        _ descriptor: Int32, at offset: Int, into memory: UnsafeMutableRawBufferPointer,
        _ path: String
    ) throws(LMDBError) {
        var done = 0
        while done < memory.count {
            let count = pread(
                descriptor, memory.baseAddress.map { $0 + done }, memory.count - done,
                offset + done)
            if count == 0 { break }
            if count > 0 {
                done += count
            } else if errno != EINTR {
                throw LMDBError(errno: errno, "read", path: path)
            }
        }
        UnsafeMutableRawBufferPointer(rebasing: memory[done...])
            .initializeMemory(as: UInt8.self, repeating: 0)
    }
}
