import BackstitchCore
import Threading

/// Rows as they were read from their bytes, so that a row that has not changed is not parsed again.
///
/// A row counts only while nothing was written, or while the storage has the very bytes that it was read
/// from.
final class RowMemo<Row: HubRow & Sendable>: Sendable {
    /// The most rows that are remembered; then all are forgotten.
    private static var rowsMax: Int { 4_096 }

    private final class Entry: Sendable {
        /// When the bytes were looked up last.
        let moment: UInt64?
        let bytes: [UInt8]
        let row: Row

        init(moment: UInt64?, bytes: [UInt8], row: Row) {
            (self.moment, self.bytes, self.row) = (moment, bytes, row)
        }
    }

    private let entries = Locked<[HubKey: Entry]>([:])

    /// The row of a key; nil if there is none.
    func row(_ key: HubKey, _ transaction: any HubReading) throws -> Row? {
        let moment = transaction.moment
        let known = entries.withLock { $0[key] }
        if let known, let moment, known.moment == moment {
            try transaction.work.countKey(bytes: known.bytes.count)
            return known.row
        }
        guard let stored = try transaction.value(key) else { return nil }
        let row = try known.flatMap { $0.bytes == stored ? $0.row : nil } ?? Row(stored: stored)
        entries.withLock { entries in
            if entries.count >= Self.rowsMax { entries = [:] }
            entries[key] = Entry(moment: moment, bytes: stored, row: row)
        }
        return row
    }
}
