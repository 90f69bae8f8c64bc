import CloudKitWire

/// The version of the layout of what a hub stores, for storages that outlive a program.
///
/// Its row has no partition: in format 1 the key was that of the hub's state, so that programs of that
/// time find it, and refuse what is newer.
package enum HubFormat {
    /// What this program reads and writes.
    package static let version = 4
    /// The versions before that opening brings to this one, because all was the same. Their programs would
    /// not see the last commits in a journal (2), or drop the runs from the rows of databases (2 and 3).
    package static let older = 2..<version
    package static let key = HubKey(format1: .state)
    /// The row of this version.
    package static let value = Row(version: version).body()

    /// The version of what is stored; nil if there is nothing.
    package static func version(of transaction: any HubReading) throws -> Int? {
        try transaction.row(key, as: Row.self)?.version
    }

    /// The version that a stored row tells.
    package static func version(ofStored row: [UInt8]) throws -> Int {
        try Row(stored: row).version
    }

    private struct Row: HubRow {
        static let title = "its format"

        let version: Int

        init(version: Int) { self.version = version }

        init(json: JSONObject) throws(WireFormatError) {
            guard let version = Int(exactly: try json.integer("version") ?? 0) else {
                throw JSONObject.missing("version")
            }
            self.version = version
        }

        func write(to json: inout JSONWriter) {
            json.member("version", integer: Int64(version))
        }
    }
}

extension HubKey {
    /// The start of all keys of a table in format 1, which had no partitions.
    init(format1 table: Table) {
        self = unsafe withUnsafeBytes(of: table.rawValue) { unsafe HubKey(bytes: $0) }
    }
}
