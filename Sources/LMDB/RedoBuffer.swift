/// What a write transaction changed, in order, so that it can be done again.
///
/// | bytes | field                                       |
/// |-------|---------------------------------------------|
/// | 1     | what: 1 put, 2 delete, 3 clear; and 4 times the high byte of the next field |
/// | 1     | number of the database, low byte            |
/// | 2     | byte count of the key; 0 for clear          |
/// | 4     | byte count of the value; 0 for all but put  |
/// | n, m  | key, value                                  |
///
/// Recording stops when the bytes exceed ``bytesMax``. Touched by the writer thread only.
@usableFromInline
struct RedoBuffer {
    @usableFromInline
    enum Change: UInt8 {
        case put = 1
        case delete = 2
        case clear = 3
    }

    /// Larger transactions are synced as LMDB does it: writing them twice costs more than it saves.
    static let bytesMax = 256 << 10
    private static let headBytes = 8

    /// Whether changes are recorded. It ends when there are too many.
    @usableFromInline private(set) var isRecording = false
    private var storage: UnsafeMutableRawBufferPointer?
    private(set) var count = 0

    @usableFromInline init() {}

    /// The recorded changes; valid until the next one.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(storage ?? Self.none)[..<count])
    }

    private static var none: UnsafeMutableRawBufferPointer { .init(start: nil, count: 0) }

    /// Forgets what was recorded, and records from now on if that is wanted.
    mutating func begin(isRecording: Bool) {
        self.isRecording = isRecording
        count = 0
        if isRecording, storage == nil {
            storage = .allocate(byteCount: Self.bytesMax, alignment: 8)
        }
    }

    /// Frees the storage.
    mutating func end() {
        storage?.deallocate()
        storage = nil
        begin(isRecording: false)
    }

    /// Notes a change that was made.
    @usableFromInline
    mutating func note(
        _ change: Change, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
        in database: Database
    ) {
        let needed = Self.headBytes + key.count + value.count
        guard let storage, count + needed <= Self.bytesMax,
            let number = UInt16(exactly: database.index), number < 1 << 14
        else {
            isRecording = false
            return
        }
        storage[count] = change.rawValue | UInt8(number >> 8) << 2
        storage[count + 1] = UInt8(truncatingIfNeeded: number)
        storage.storeBytes(
            of: UInt16(key.count).littleEndian, toByteOffset: count + 2, as: UInt16.self)
        storage.storeBytes(
            of: UInt32(value.count).littleEndian, toByteOffset: count + 4, as: UInt32.self)
        let start = count + Self.headBytes
        UnsafeMutableRawBufferPointer(rebasing: storage[start...]).copyMemory(from: key)
        UnsafeMutableRawBufferPointer(rebasing: storage[(start + key.count)...])
            .copyMemory(from: value)
        count += needed
    }
}

extension RedoBuffer {
    /// Makes recorded changes again, in a write transaction.
    ///
    /// - Throws: `damaged` if the bytes are no recorded changes; what ``Access`` throws.
    static func replay(
        _ changes: UnsafeRawBufferPointer, in access: Access
    ) throws(LMDBError) {
        var rest = changes[...]
        while !rest.isEmpty {
            guard rest.count >= headBytes else { throw damaged }
            let head = UnsafeRawBufferPointer(rebasing: rest.prefix(headBytes))
            let keyBytes = Int(
                UInt16(littleEndian: head.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
            let valueBytes = Int(
                UInt32(littleEndian: head.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
            rest = rest.dropFirst(headBytes)
            guard let change = Change(rawValue: head[0] & 3),
                let database = access.database(numbered: number(of: head)),
                rest.count >= keyBytes + valueBytes
            else { throw damaged }
            let key = UnsafeRawBufferPointer(rebasing: rest.prefix(keyBytes))
            rest = rest.dropFirst(keyBytes)
            let value = UnsafeRawBufferPointer(rebasing: rest.prefix(valueBytes))
            rest = rest.dropFirst(valueBytes)
            switch change {
            case .put: try access.put(key, value, in: database)
            case .delete: try access.delete(key, in: database)
            case .clear: try access.clear(database)
            }
        }
    }

    /// The number of the database in the head of a change.
    static func number(of head: UnsafeRawBufferPointer) -> Int {
        Int(head[0] >> 2) << 8 | Int(head[1])
    }

    private static var damaged: LMDBError {
        LMDBError(
            .damaged, "A record of the redo file is damaged. Restore the store from a backup.")
    }
}
