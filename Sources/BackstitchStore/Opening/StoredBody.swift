import BackstitchCore
import BackstitchLog

/// A copy of a live row's fields, which stays as it is while the tables change.
struct StoredBody {
    let key: RecordKey
    let flags: RowView.Flags
    private let bytes: [UInt8]

    /// The bytes of copies that lie side by side, but for the last one's.
    static let bytesMax = 16 << 20

    init(key: RecordKey, row: RowView) {
        self.key = key
        flags = row.flags
        bytes = unsafe Array(row.bodyBytes)
    }

    /// Calls `body` with the record key's bytes and the fields.
    func withFields<Result>(
        _ body: (UnsafeRawBufferPointer, PackedFields) throws -> Result
    ) throws -> Result {
        try unsafe key.bytes.withUnsafeBytes { keyBytes in
            try unsafe bytes.withUnsafeBytes { bytes in
                guard let fields = unsafe PackedFields(bytes) else {
                    throw StoreError(
                        .damaged, "A row can't be read. Run rebuild to make the tables anew.")
                }
                return try unsafe body(keyBytes, fields)
            }
        }
    }
}

extension StoredBody {
    /// The next live rows of an entity in key order: at most `limit`, and as many as `bytesMax` holds.
    ///
    /// - Returns: none at the end of the table only.
    static func live(
        of entity: EntityNumber, after last: RecordKey?, limit: Int, _ reader: TableReader
    ) throws -> [StoredBody] {
        var bodies: [StoredBody] = []
        var byteCount = 0
        try unsafe reader.visitStoredRows(of: entity, from: last) { keyBytes, row in
            guard !row.isDeleted, let key = unsafe RecordKey(reading: keyBytes), key != last else {
                return true
            }
            let body = StoredBody(key: key, row: row)
            byteCount += body.bytes.count
            bodies.append(body)
            return bodies.count < limit && byteCount < bytesMax
        }
        return bodies
    }
}
