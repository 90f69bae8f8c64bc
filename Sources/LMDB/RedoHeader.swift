import XXHash

/// What a redo file says about itself. Two sectors hold it in turn, so that a crash while one is
/// written leaves the other.
///
/// | offset | bytes | field                                                              |
/// |--------|-------|--------------------------------------------------------------------|
/// | 0      | 8     | `BSTREDO1`                                                         |
/// | 8      | 8     | counter; of two valid headers the greater one counts               |
/// | 16     | 1     | state: 0 clean, 1 active, 2 must be recovered                      |
/// | 24     | 8     | epoch of the records behind the base                               |
/// | 32     | 16    | id of the system's start; zero if unknown                          |
/// | 48     | 8, 8  | hashes of the root pages of the base: databases, free pages        |
/// | 64     | 136   | the base's meta data, as LMDB's meta page has it behind its header |
/// | 504    | 8     | XXH64 of everything before                                         |
struct RedoHeader: Hashable {
    enum State: UInt8 {
        /// The data file needs nothing from the redo file.
        case clean = 0
        /// Since the base, commits are on disk only here.
        case active = 1
        /// As `active`, and the data file may have lost writes without a restart of the system.
        case mustRecover = 2
    }

    static let byteCount = 512
    /// Where the second header stands.
    static let secondOffset = 4096
    private static let magic: UInt64 = 0x314F_4445_5254_5342

    var counter: UInt64 = 0
    var state = State.clean
    var epoch: UInt64 = 0
    var boot: BootID?
    var base = RedoBase()

    /// Where this header is written: in the place of the one before the last.
    var offset: Int { counter % 2 == 0 ? 0 : Self.secondOffset }

    /// The header as bytes of the file.
    var bytes: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.byteCount)
        bytes.store(Self.magic, at: 0)
        bytes.store(counter, at: 8)
        bytes[16] = state.rawValue
        bytes.store(epoch, at: 24)
        bytes.store(boot?.high ?? 0, at: 32)
        bytes.store(boot?.low ?? 0, at: 40)
        bytes.store(base.databasesHash, at: 48)
        bytes.store(base.freeHash, at: 56)
        bytes.replaceSubrange(64..<64 + base.meta.count, with: base.meta)
        bytes.store(bytes.withUnsafeBytes { Self.hash($0) }, at: 504)
        return bytes
    }

    init() {}

    /// Reads a header; `nil` for bytes that are none, or a damaged one.
    init?(_ bytes: UnsafeRawBufferPointer) {
        func number(at offset: Int) -> UInt64 {
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        guard bytes.count == Self.byteCount, number(at: 0) == Self.magic,
            number(at: 504) == Self.hash(bytes), let state = State(rawValue: bytes[16])
        else { return nil }
        counter = number(at: 8)
        self.state = state
        epoch = number(at: 24)
        let boot = BootID(high: number(at: 32), low: number(at: 40))
        self.boot = boot == BootID(high: 0, low: 0) ? nil : boot
        base = RedoBase(
            meta: Array(bytes[64..<64 + MetaPage.bodyBytes]), databasesHash: number(at: 48),
            freeHash: number(at: 56))
    }

    private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        Checksum.xxh64(UnsafeRawBufferPointer(rebasing: bytes[..<504]))
    }

    /// The one of two headers that counts; a clean one if neither does, as after a crash while the
    /// file was made.
    static func newest(_ first: RedoHeader?, _ second: RedoHeader?) -> RedoHeader {
        guard let first else { return second ?? RedoHeader() }
        guard let second else { return first }
        return first.counter < second.counter ? second : first
    }

    /// Whether the data file can't be trusted as it is.
    ///
    /// - Parameter boot: The running system.
    func needsRecovery(on boot: BootID?) -> Bool {
        switch state {
        case .clean: false
        case .active: boot == nil || boot != self.boot
        case .mustRecover: true
        }
    }

    /// The next header.
    func next(_ change: (inout RedoHeader) -> Void) -> RedoHeader {
        var header = self
        header.counter += 1
        change(&header)
        return header
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
