import CloudKitWire

/// A row that is kept as a JSON object.
protocol HubRow: WireBody {
    /// What the row is, for the message if it is damaged.
    static var title: String { get }
}

extension HubReading {
    /// The row of a key.
    func row<Row: HubRow>(_ key: HubKey, as type: Row.Type = Row.self) throws -> Row? {
        try value(key).map { try Row(stored: $0) }
    }

    /// The rows under a prefix, with their keys.
    func rows<Row: HubRow>(
        under prefix: HubKey, as type: Row.Type = Row.self
    ) throws -> [(key: HubKey, row: Row)] {
        var rows: [(key: HubKey, row: Row)] = []
        try unsafe scan(prefix, from: nil) { key, value in
            unsafe rows.append((HubKey(bytes: key), try Row(stored: Array(value))))
            return true
        }
        return rows
    }
}

extension HubRow {
    init(stored bytes: [UInt8]) throws(HubError) {
        do throws(WireFormatError) {
            try self.init(body: bytes)
        } catch {
            throw HubError(
                .damaged,
                "The hub's data is damaged: \(Self.title) can't be read. Restore a backup. "
                    + error.message)
        }
    }
}

extension HubWriting {
    /// Sets the row of a key.
    func put(_ key: HubKey, _ row: some HubRow) throws { try put(key, row.body()) }
}
