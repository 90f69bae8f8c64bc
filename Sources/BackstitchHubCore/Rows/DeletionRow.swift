import CloudKitWire

/// A database that is being erased.
struct DeletionRow: HubRow, Hashable, Sendable {
    static let title = "a database that is being erased"

    /// When its name was taken away, in milliseconds since 1970.
    var since: Int64

    static func key(_ partition: Partition) -> HubKey {
        HubKey(.global, .doomed).adding(partition.number)
    }

    init(since: Int64) { self.since = since }

    init(json: JSONObject) throws(WireFormatError) { since = try json.integer("since") ?? 0 }

    func write(to json: inout JSONWriter) { json.member("since", integer: since) }
}
