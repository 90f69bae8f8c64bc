package import BackstitchCore

/// Why a record is parked: the code and the words of the service's refusal, or why a conflict was not
/// settled.
package struct ParkReason: Hashable, Sendable {
    /// As the log has it.
    package let text: String

    package init(_ text: String) { self.text = text }

    /// The code of the refusal; nil if a conflict parked the record, and for a code that this version
    /// does not know.
    package var code: ServiceError.Code? {
        ServiceError.Code(rawValue: String(text.prefix { $0 != ":" }))
    }

    /// The words without the code.
    package var message: String {
        code == nil ? text : String(text.drop { $0 != ":" }.dropFirst(2))
    }
}

extension TableReader {
    /// Visits the parked records, in the order of their entities and keys, until the closure returns
    /// false.
    package func visitParked(
        _ body: (StoredRecordID, _ sequence: UInt64, ParkReason) throws -> Bool
    ) throws {
        try unsafe TableEntries(self, startingWith: [TableKey.parked]).visit { key, value in
            guard key.count > TableKey.rowPrefixByteCount, value.count >= 8,
                let recordKey = unsafe RecordKey(reading: TableKey.record(of: key))
            else {
                throw StoreError(
                    .damaged, "The entry of a parked record can't be read. Run rebuild.")
            }
            let reason = unsafe String(decoding: value.part(8..<value.count), as: UTF8.self)
            return try unsafe body(
                StoredRecordID(entity: TableKey.entity(of: key), key: recordKey),
                value.part(0..<8).sequence, ParkReason(reason))
        }
    }
}
