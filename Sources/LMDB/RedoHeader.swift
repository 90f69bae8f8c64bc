import Glibc
import XXHash

/// What a file `redo` says about itself, in which earlier versions had the changes of their last
/// commits. Two sectors hold it in turn, so that a crash while one is written leaves the other.
///
/// | offset | bytes | field                                                              |
/// |--------|-------|--------------------------------------------------------------------|
/// | 0      | 8     | `BSTREDO1`                                                         |
/// | 8      | 8     | counter; of two valid headers the greater one counts               |
/// | 16     | 1     | state: 0 clean, 1 active, 2 must be recovered                      |
/// | 32     | 16    | id of the system's start; zero if unknown                          |
/// | 504    | 8     | XXH64 of everything before                                         |
struct RedoHeader: Hashable {
    enum State: UInt8 {
        /// The data file needs nothing from the file.
        case clean = 0
        /// Commits since some moment are on disk only there.
        case active = 1
        /// As `active`, and the data file may have lost writes without a restart of the system.
        case mustRecover = 2
    }

    static let byteCount = 512
    /// Where the second header stands.
    static let secondOffset = 4096
    private static let magic: UInt64 = 0x314F_4445_5254_5342

    let counter: UInt64
    let state: State
    let boot: BootID?

    /// Reads a header; `nil` for bytes that are none, or a damaged one.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.byteCount, bytes.number(at: 0) == Self.magic,
            bytes.number(at: 504)
                == Checksum.xxh64(UnsafeRawBufferPointer(rebasing: bytes[..<504])),
            let state = State(rawValue: bytes[16])
        else { return nil }
        counter = bytes.number(at: 8)
        self.state = state
        let boot = BootID(high: bytes.number(at: 32), low: bytes.number(at: 40))
        self.boot = boot == BootID(high: 0, low: 0) ? nil : boot
    }

    /// The header that counts; `nil` if there is no file, or if a crash cut its making short.
    static func read(in folder: Folder) throws(LMDBError) -> RedoHeader? {
        let path = folder.redoPath
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw LMDBError(errno: errno, "open", path: path)
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: secondOffset + byteCount)
        try bytes.withUnsafeMutableBytes { bytes in
            Result { () throws(LMDBError) in
                try JournalFile.read(descriptor, at: 0, into: bytes, path)
            }
        }.get()
        return bytes.withUnsafeBytes { bytes in
            let headers = [0, secondOffset].compactMap {
                RedoHeader(UnsafeRawBufferPointer(rebasing: bytes[$0..<$0 + byteCount]))
            }
            return headers.max { $0.counter < $1.counter }
        }
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
}
