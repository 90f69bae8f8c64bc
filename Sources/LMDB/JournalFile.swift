import Glibc
import XXHash

/// The file `journal`: a header, a page of words, and two halves of records.
///
/// | offset | bytes      | content                                                    |
/// |--------|------------|------------------------------------------------------------|
/// | 0      | 32         | `BSTJRNL1`, id, bytes of a half, XXH64 of these            |
/// | 4,096  | 4,096      | ``SharedJournalPage``                                           |
/// | 8,192  | 2 × a half | ``JournalRecord``                                          |
///
/// Plain reading, writing and locking. The beginnings of the halves are written once before the first
/// record, so that a record later is a write of data only, and more of them while records wait in both
/// halves. On a full disk they serve as a reserve:
///
/// | bytes of the file   | meaning                                                       |
/// |---------------------|---------------------------------------------------------------|
/// | 8,192               | it was just made                                              |
/// | 12,288              | its blocks are lent to what frees space                       |
/// | 8,192 + 1 MiB       | there is a reserve, but too little space for records          |
/// | 8,192 + a half + n  | records may be written to the first n bytes of each half      |
///
/// The first half has a hole behind its first n bytes.
final class JournalFile: Sendable {
    private static let magic: UInt64 = 0x314C_4E52_4A54_5342
    private static let headerBytes = 32
    static let recordsOffset = 8_192

    let path: String
    /// Which file it is, whatever is at the path later.
    let key: FileKey
    let id: UInt64
    let halfBytes: Int
    /// The most bytes of changes of a record.
    var changeBytesMax: Int { halfBytes - JournalRecord.pageBytes }
    /// For everything but records.
    let descriptor: Int32
    /// What is written to it is on disk when the call returns.
    private let synced: Int32
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
        path: String, _ key: FileKey, descriptor: Int32, _ header: Header, isReadOnly: Bool
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
            let flags = O_RDWR | O_CLOEXEC | O_DSYNC
            synced = Glibc.open(path, flags | __O_DIRECT)
            // Not all file systems can do that.
            if synced < 0 { synced = Glibc.open(path, flags) }
            guard synced >= 0 else {
                let reason = errno
                close(descriptor)
                throw LMDBError(errno: reason, "open", path: path)
            }
        }
        self.path = path
        self.key = key
        self.descriptor = descriptor
        self.synced = synced
        self.isReadOnly = isReadOnly
        id = header.id
        halfBytes = header.halfBytes
    }

    deinit {
        if synced >= 0 { close(synced) }
        close(descriptor)
    }

    /// Opens the journal of a folder; `nil` if there is none, or none that is whole.
    static func open(in folder: Folder, isReadOnly: Bool) throws(LMDBError) -> JournalFile? {
        let path = folder.journalPath
        let descriptor = Glibc.open(path, (isReadOnly ? O_RDONLY : O_RDWR) | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw LMDBError(errno: errno, "open", path: path)
        }
        let header: Header?
        var status = stat()
        do throws(LMDBError) {
            guard fstat(descriptor, &status) == 0 else {
                throw LMDBError(errno: errno, "look up", path: path)
            }
            // The page of words is mapped, and has to be there.
            let isLongEnough = status.st_size >= recordsOffset
            header =
                isLongEnough
                ? try Header(read(descriptor, at: 0, count: headerBytes, path)) : nil
        } catch {
            close(descriptor)
            throw error
        }
        guard let header else {
            close(descriptor)
            return nil
        }
        return try JournalFile(
            path: path, FileKey(status), descriptor: descriptor, header, isReadOnly: isReadOnly)
    }

    /// Makes an empty journal, or makes one empty, and puts that on disk.
    ///
    /// To be called only with LMDB's writers' lock, while the data file is complete without it.
    static func make(
        in folder: Folder, id: UInt64, halfBytes: Int
    ) throws(LMDBError) -> JournalFile? {
        let path = folder.journalPath
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw LMDBError(errno: errno, "create", path: path) }
        defer { close(descriptor) }
        // The words of an older journal mean nothing in this one.
        let head = Header.bytes(id: id, halfBytes: halfBytes)
        let pages = head + [UInt8](repeating: 0, count: recordsOffset - head.count)
        let isWritten = pages.withUnsafeBytes { write($0, at: 0, to: descriptor) }
        guard isWritten, ftruncate(descriptor, recordsOffset) == 0, fsync(descriptor) == 0 else {
            throw LMDBError(errno: errno, "create", path: path)
        }
        try Folder.sync(folder.path)
        return try open(in: folder, isReadOnly: false)
    }

    /// Maps the words.
    func words(boot: BootID?) throws(LMDBError) -> SharedJournalPage {
        try SharedJournalPage(mapping: descriptor, isReadOnly: isReadOnly, boot: boot, path: path)
    }
}

extension JournalFile {
    /// Waits until no other process has the role of the writer, and takes it. The system takes it
    /// away when the process ends.
    func lock() throws(LMDBError) { try Self.lock(descriptor, path) }

    /// Takes the role of the writer unless another process has it.
    ///
    /// - Returns: Whether it was free.
    func tryLock() throws(LMDBError) -> Bool {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { return false }
            guard errno == EINTR else { throw LMDBError(errno: errno, "lock", path: path) }
        }
        return true
    }

    /// Gives the role of the writer back.
    func unlock() { _ = flock(descriptor, LOCK_UN) }

    private static func lock(_ descriptor: Int32, _ path: String) throws(LMDBError) {
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw LMDBError(errno: errno, "lock", path: path) }
        }
    }

    /// Writes a record; it is on disk then.
    ///
    /// - Parameter record: Whole pages in memory, too.
    /// - Returns: 0, or the error number.
    func write(_ record: UnsafeRawBufferPointer, at place: JournalOffset) -> Int32 {
        if Self.write(record, at: offset(of: place), to: synced) { return 0 }
        // The system wrote a part that is no whole number of blocks, or wants larger ones.
        guard errno == EINVAL,
            Self.write(record, at: offset(of: place), to: descriptor),
            fdatasync(descriptor) == 0
        else { return errno }
        return 0
    }

    /// Makes a record invalid that was written in part, and puts that on disk.
    ///
    /// - Returns: Whether that worked.
    func erase(at place: JournalOffset) -> Bool {
        let zeros = [UInt8](repeating: 0, count: JournalRecord.pageBytes)
        return zeros.withUnsafeBytes {
            Self.write($0, at: offset(of: place), to: descriptor)
        } && fdatasync(descriptor) == 0
    }

    /// Lets those know who watch the file.
    func ring() {
        var byte: UInt8 = 1
        pwrite(descriptor, &byte, 1, SharedJournalPage.offset + SharedJournalPage.bellOffset)
    }

    /// Reads the record that follows a link.
    ///
    /// - Parameter room: Gives memory for at least so many bytes.
    /// - Returns: Its place and hash, and its bytes at the beginning of that memory; `nil` if it isn't
    ///   there.
    func read(
        _ number: UInt64, following link: JournalLink,
        into room: (_ byteCount: Int) -> UnsafeMutableRawBufferPointer
    ) throws(LMDBError) -> (place: JournalOffset, hash: UInt64, bytes: UnsafeRawBufferPointer)? {
        for place in [link.place, link.place.otherHalf] {
            let head = try head(at: place)
            guard head.number == number, head.previous == link.chain,
                let found = try read(head, at: place, into: room)
            else { continue }
            return (place, found.hash, found.bytes)
        }
        return nil
    }

    /// Whether the record is there that a link says to be the last, or one that no later one but it may
    /// have replaced.
    ///
    /// - Parameter number: The state that the link follows.
    func hasRecord(before link: JournalLink, through number: UInt64) throws(LMDBError) -> Bool {
        var block: JournalBlock?
        var place = link.place
        while place.offset > 0 {
            place.offset -= JournalRecord.pageBytes
            let head = try head(at: place)
            guard head.number <= number, head.number > 0,
                place.offset + JournalRecord.space(head.changeBytes) == link.place.offset,
                let found = try read(head, at: place, into: { JournalBlock.with($0, &block).free })
            else { continue }
            return head.number < number || found.hash == link.chain
        }
        return link.place.offset == 0
    }

    /// Whether a half has a record with a number of at least `number`: then records before it were
    /// lost.
    func hasRecord(from number: UInt64) throws(LMDBError) -> Bool {
        var block: JournalBlock?
        for half in 0...1 {
            for offset in stride(from: 0, to: halfBytes, by: JournalRecord.pageBytes) {
                let place = JournalOffset(half: half, offset: offset)
                let head = try head(at: place)
                guard head.number >= number else { continue }
                let found = try read(head, at: place) { JournalBlock.with($0, &block).free }
                if found != nil { return true }
            }
        }
        return false
    }

    /// What stands where the head of a record would.
    private func head(at place: JournalOffset) throws(LMDBError) -> JournalRecord.Head {
        let bytes = try Self.read(
            descriptor, at: offset(of: place), count: JournalRecord.headBytes, path)
        return bytes.withUnsafeBytes { JournalRecord.Head($0) }
    }

    /// Reads the record that begins with a head; `nil` if it is not whole.
    private func read(
        _ head: JournalRecord.Head, at place: JournalOffset,
        into room: (_ byteCount: Int) -> UnsafeMutableRawBufferPointer
    ) throws(LMDBError) -> (hash: UInt64, bytes: UnsafeRawBufferPointer)? {
        guard (1...changeBytesMax).contains(head.changeBytes) else { return nil }
        let space = JournalRecord.space(head.changeBytes)
        guard place.offset + space <= halfBytes else { return nil }
        let memory = UnsafeMutableRawBufferPointer(rebasing: room(space)[..<space])
        try Self.read(descriptor, at: offset(of: place), into: memory, path)
        let bytes = UnsafeRawBufferPointer(memory)
        // A writer may have put another one there meanwhile.
        guard JournalRecord.Head(bytes) == head else { return nil }
        return JournalRecord.hash(bytes, id: id).map { ($0, bytes) }
    }

    private func offset(of place: JournalOffset) -> Int {
        Self.recordsOffset + place.half * halfBytes + place.offset
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

    private static func read(
        _ descriptor: Int32, at offset: Int, count: Int, _ path: String
    ) throws(LMDBError) -> [UInt8] {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
        defer { memory.deallocate() }
        try read(descriptor, at: offset, into: memory, path)
        return Array(memory)
    }

    /// Reads bytes; zeros stand for what is behind the end of the file.
    static func read(
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

extension [UInt8] {
    /// Stores a number in little-endian order.
    mutating func store(_ value: UInt64, at offset: Int) {
        withUnsafeMutableBytes {
            $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt64.self)
        }
    }
}
