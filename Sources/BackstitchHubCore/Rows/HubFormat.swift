import CloudKitWire

/// The version of the layout of what a hub stores, for storages that outlive a program.
package enum HubFormat {
    /// What this program reads and writes.
    package static let version = 1
    /// The key of its row, which has no partition.
    package static let key = unsafe withUnsafeBytes(of: HubKey.Table.state.rawValue) {
        unsafe HubKey(bytes: $0)
    }
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

        /// 0 for a row that names no format.
        let version: Int

        init(version: Int) { self.version = version }

        init(json: JSONObject) throws(WireFormatError) {
            guard let version = Int(exactly: try json.integer("format") ?? 0) else {
                throw JSONObject.missing("format")
            }
            self.version = version
        }

        func write(to json: inout JSONWriter) {
            json.member("format", integer: Int64(version))
        }
    }
}
