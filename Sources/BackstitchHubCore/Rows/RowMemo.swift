import BackstitchCore
import Threading

/// Rows as they were read from their bytes, so that a row that has not changed is not parsed again.
///
/// The bytes are looked up each time and compared: a row counts only while the storage has these very
/// bytes.
final class RowMemo<Row: HubRow & Sendable>: Sendable {
    /// The most rows that are remembered; then all are forgotten.
    private static var rowsMax: Int { 4_096 }

    private struct Entry {
        var bytes: [UInt8]
        var row: Row
    }

    private let entries = Locked<[HubKey: Entry]>([:])

    /// The row of a key; nil if there is none.
    func row(_ key: HubKey, _ transaction: some HubReading) throws -> Row? {
        try transaction.withValue(key) { bytes in
            let known = entries.withLock { entries in
                entries[key].flatMap { entry in
                    entry.bytes.withUnsafeBytes { $0.holdsSameBytes(as: bytes) } ? entry.row : nil
                }
            }
            if let known { return known }
            let stored = Array(bytes)
            let row = try Row(stored: stored)
            entries.withLock { entries in
                if entries.count >= Self.rowsMax { entries = [:] }
                entries[key] = Entry(bytes: stored, row: row)
            }
            return row
        }
    }
}
