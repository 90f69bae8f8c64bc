import CLMDB
import XXHash

/// Where the record is that follows a state, and what it says of its predecessor.
struct JournalLink: Hashable {
    /// The hash of the last record; behind a commit without a record, a number that no other has.
    var chain: UInt64
    /// Where the last record ends.
    var place: JournalOffset
}

/// A place in a journal.
struct JournalOffset: Hashable {
    /// 0 or 1.
    var half = 0
    /// From the start of the half.
    var offset = 0

    /// Where a record goes that doesn't fit here.
    var otherHalf: JournalOffset { JournalOffset(half: 1 - half) }

    /// The place as a number.
    var packed: UInt64 { UInt64(half) << 32 | UInt64(offset) }

    init(half: Int = 0, offset: Int = 0) {
        self.half = half
        self.offset = offset
    }

    /// - Returns: `nil` for a number that is no place.
    init?(packed: UInt64) {
        guard packed >> 32 <= 1 else { return nil }
        self.init(half: Int(packed >> 32), offset: Int(packed & 0xFFFF_FFFF))
    }
}

/// Which state LMDB has, as an entry of its unnamed database says, beside the names of the others.
///
/// | bytes | field                                                                     |
/// |-------|---------------------------------------------------------------------------|
/// | 8     | number of the state                                                       |
/// | 8     | id of LMDB's transaction that wrote this                                  |
/// | 8     | id of the journal                                                         |
/// | 8, 8  | the link to the next record: chain, place                                 |
/// | 1     | 1 if records may follow; otherwise the data file is complete              |
struct JournalState: Hashable {
    static let name = "journal"
    static let byteCount = 41

    var number: UInt64
    /// How many of these are commits that don't know of the journal, behind the last one that does.
    private(set) var plainCommits: UInt64 = 0
    let journal: UInt64
    var link: JournalLink
    var mayHaveRecords: Bool

    /// - Parameter transaction: The last one that LMDB committed.
    /// - Returns: `nil` if the bytes are no position.
    init?(_ bytes: UnsafeRawBufferPointer, transaction: UInt64) {
        guard bytes.count == Self.byteCount else { return nil }
        let written: UInt64 = bytes.number(at: 8)
        guard let place = JournalOffset(packed: bytes.number(at: 32)) else { return nil }
        // A commit that doesn't know of the journal counts as one. A compact copy of a data file
        // counts its transactions anew.
        plainCommits = transaction > written ? transaction - written : 0
        number = bytes.number(at: 0) &+ plainCommits
        journal = bytes.number(at: 16)
        link = JournalLink(chain: bytes.number(at: 24), place: place)
        mayHaveRecords = bytes[40] & 1 != 0
    }

    /// The first position of a journal.
    init(number: UInt64, journal: UInt64) {
        self.number = number
        self.journal = journal
        link = JournalLink(chain: journal, place: JournalOffset())
        mayHaveRecords = false
    }

    /// The position behind a commit that has no record.
    ///
    /// - Parameter salt: Chosen at random by the process, so that two histories that begin alike,
    ///   one of which a power cut took, have no link in common.
    func following(number: UInt64, after last: JournalLink, salt: UInt64) -> JournalState {
        var next = self
        next.number = number
        next.plainCommits = 0
        let chain = withUnsafeBytes(of: (last.chain, number, salt)) {
            Checksum.xxh64($0, seed: journal)
        }
        next.link = JournalLink(chain: chain, place: last.place)
        return next
    }

    /// Whether no record follows, by words that don't count: the records need not be looked at then.
    func isEnd(by words: borrowing SharedJournalPage) -> Bool {
        guard !mayHaveRecords, let left = words.left else { return false }
        return left.record <= number
    }

    /// Checks that the records of a journal whose words don't count end where they may.
    ///
    /// - Parameter end: The last state that they make, or this one.
    /// - Throws: `damaged` if a record is missing that was committed.
    func check(
        _ file: JournalFile, _ words: borrowing SharedJournalPage, end: UInt64
    ) throws(LMDBError) {
        guard let left = words.left else { return }
        guard left.record <= end else { throw .journalGap(file.path) }
        guard mayHaveRecords, end == number, left.tail < number &- plainCommits,
            link.place.offset <= file.usableBytes
        else { return }
        // The words of a disk that was away are from before the state too, but the last record is there.
        guard try file.hasRecord(before: link, through: number) else {
            throw .olderJournal(file.path)
        }
    }

    /// The position in a transaction of LMDB; `nil` if there is none.
    ///
    /// - Parameter last: The last transaction that LMDB had committed when this one began.
    static func read(
        in transaction: OpaquePointer, last: UInt64
    ) throws(LMDBError) -> JournalState? {
        var value = MDB_val()
        let status = withKey { mdb_get(transaction, Database.main.handle, &$0, &value) }
        if status == MDB_NOTFOUND { return nil }
        guard status == MDB_SUCCESS else {
            throw LMDBError(status: status, "read the position of the journal")
        }
        let bytes = UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
        guard let position = JournalState(bytes, transaction: last) else {
            throw LMDBError(
                .damaged,
                "The data file has a damaged position of its journal. Restore it from a backup.")
        }
        return position
    }

    /// Makes this the position that a write transaction commits.
    ///
    /// - Returns: LMDB's status.
    func write(in transaction: OpaquePointer) -> Int32 {
        withUnsafeTemporaryAllocation(byteCount: Self.byteCount, alignment: 8) { bytes in
            let numbers = [
                number, UInt64(mdb_txn_id(transaction)), journal, link.chain, link.place.packed,
            ]
            for (index, number) in numbers.enumerated() {
                bytes.storeBytes(of: number.littleEndian, toByteOffset: index * 8, as: UInt64.self)
            }
            bytes[40] = mayHaveRecords ? 1 : 0
            var value = MDB_val(UnsafeRawBufferPointer(bytes))
            return Self.withKey { mdb_put(transaction, Database.main.handle, &$0, &value, 0) }
        }
    }

    /// Takes the position out of an environment that has no journal.
    ///
    /// - Returns: LMDB's status.
    static func remove(in transaction: OpaquePointer) -> Int32 {
        let status = withKey { mdb_del(transaction, Database.main.handle, &$0, nil) }
        return status == MDB_NOTFOUND ? MDB_SUCCESS : status
    }

    private static func withKey(_ body: (inout MDB_val) -> Int32) -> Int32 {
        var name = Self.name
        return name.withUTF8 { bytes in
            var key = MDB_val(UnsafeRawBufferPointer(bytes))
            return body(&key)
        }
    }
}
