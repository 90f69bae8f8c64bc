import BackstitchCore
import BackstitchLog
import LMDB

extension Store {
    /// The number of records that queries leave out, by entity; empty if there are none.
    ///
    /// Such a record is whole and stays in the store, but its values don't fit the Swift type: it
    /// came from another version of the program, or the schema changed. It appears once a schema
    /// fits it. Call this after you open a store with a changed schema, to explain records that
    /// seem to be gone. `ReadTransaction.find` says what does not fit in a record, and
    /// ``ChangeSet/unreadable(_:)`` names records that arrive later.
    ///
    /// Opening does not look at records; those of a changed entity are marked in the background.
    ///
    /// - Throws: `closed`, `io`; `damaged` if a row can't be read.
    /// - Complexity: O(*n*) in such records; until the records of a changed entity were all marked,
    ///   in its records.
    public func unreadableRecords() throws -> [String: Int] {
        try read { try RecordScan($0.reader).unreadableCounts }
    }
}
