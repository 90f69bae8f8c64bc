import BackstitchCore
import CloudKitWire

// What databases take up: of each live record its name, its fields as they are stored, and the files
// that it holds. A file counts for each record that holds it.

extension StoredRecord {
    /// What the record takes up of its user's space, in bytes; nothing after its end.
    func spaceBytes() throws(HubError) -> Int64 {
        guard !isDeleted else { return 0 }
        let own = Int64(recordName.utf8.count + fieldsJSON.count)
        return own + (hasAssets ? try fields().assetBytes : 0)
    }
}

extension WireFields {
    /// The size of the files that fields hold, in bytes.
    fileprivate var assetBytes: Int64 {
        values.flatMap { $0.value?.elements ?? [] }.reduce(0) { sum, value in
            guard case .asset(let asset) = value else { return sum }
            return sum + (asset.size ?? 0)
        }
    }
}

extension ModifyPlan {
    /// By how much the plan makes a zone larger, in bytes.
    func growth() throws(HubError) -> Int64 {
        var growth: Int64 = 0
        for write in writes {
            growth += try write.after.spaceBytes() - (write.before?.spaceBytes() ?? 0)
        }
        return growth
    }
}

extension HubLimits {
    /// How many bytes may still come into a database; nil for no limit.
    func bytesLeft(in database: DatabaseRow) -> Int64? {
        let most = database.name.scope == .public ? publicDatabaseBytes : privateDatabaseBytes
        return most.map { max(0, $0 - database.bytes) }
    }
}

extension HubReading {
    /// What the records of a zone take up, counted one by one.
    ///
    /// - Parameter records: The start of their keys.
    func recordBytes(under records: HubKey) throws -> Int64 {
        var bytes: Int64 = 0
        try unsafe scan(records, from: nil) { key, value in
            let name = unsafe key.text(behind: records)
            unsafe bytes += try StoredRecord(recordName: name, stored: value).spaceBytes()
            return true
        }
        return bytes
    }
}
