import Synchronization
import Threading

/// The place for the journal of an environment, which may come to have one while it is open: this
/// process begins one, or another process did.
final class JournalSlot: Sendable {
    private let taken: Locked<Journal?>
    /// The address of the one that is there, for those who read; 0 for none.
    private let address: Atomic<UInt>

    init(_ journal: Journal?) {
        taken = Locked(journal)
        address = Atomic(Self.address(of: journal))
    }

    /// The journal, which stays as long as the slot.
    var journal: Journal? {
        let address = UnsafeRawPointer(bitPattern: address.load(ordering: .acquiring))
        return address.map { Unmanaged<Journal>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Puts the result of a closure there, unless there is one.
    ///
    /// - Returns: The one that is there then.
    func join(_ open: () throws(LMDBError) -> Journal?) throws(LMDBError) -> Journal? {
        let result = taken.withLock { journal in
            Result { () throws(LMDBError) in
                if journal == nil {
                    journal = try open()
                    address.store(Self.address(of: journal), ordering: .releasing)
                }
                return journal
            }
        }
        return try result.get()
    }

    /// Takes the journal that was made.
    func take(_ made: Journal) { _ = try? join { () throws(LMDBError) in made } }

    private static func address(of journal: Journal?) -> UInt {
        journal.map { UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) } ?? 0
    }
}
