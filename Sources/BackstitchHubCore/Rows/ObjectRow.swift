import CloudKitWire

/// An object of a bucket: there from before the object is made until after it is gone.
struct ObjectRow: HubRow, Hashable, Sendable {
    static let title = "an object"

    enum State: String {
        /// It is being written, or was when a hub ended.
        case arriving
        /// It is in the bucket as a whole.
        case kept
        /// Nothing needs it any more, and nothing ever will.
        case doomed
    }

    var state: State
    var byteCount: Int64
    /// When one counts as given up that is still arriving, or when one is removed that is doomed, in
    /// milliseconds since 1970.
    var until: Int64

    static func prefix(_ file: HubFile) -> HubKey {
        HubKey(file.partition, .object).adding(file.checksum)
    }

    /// What is read to know the objects of a file: one is kept, and few come or go.
    static func expected(_ file: HubFile) -> KeyQuery { .first(4, of: prefix(file)) }

    /// The key of a file's object; the file has to name one.
    static func key(_ file: HubFile) -> HubKey {
        prefix(file).adding("-" + (file.object?.name ?? ""))
    }

    /// The file whose object a key names; nil if it is the key of none.
    func file(_ key: HubKey) -> HubFile? {
        let parts = String(decoding: key.behindTable, as: UTF8.self).split(separator: "-")
        guard let partition = key.partition, parts.count == 2,
            var file = HubFile(partition, String(parts[0]))
        else { return nil }
        file.object = HubFile.Object(name: String(parts[1]), byteCount: Int(byteCount))
        return file
    }

    init(_ state: State, byteCount: Int, until: Int64) {
        (self.state, self.byteCount, self.until) = (state, Int64(byteCount), until)
    }

    init(json: JSONObject) throws(WireFormatError) {
        guard let state = State(rawValue: try json.requiredText("state")) else {
            throw JSONObject.missing("state")
        }
        self.state = state
        byteCount = try json.integer("bytes") ?? 0
        until = try json.integer("until") ?? 0
    }

    func write(to json: inout JSONWriter) {
        json.member("state", state.rawValue)
        json.member("bytes", integer: byteCount)
        json.member("until", integer: until)
    }
}

extension HubReading {
    /// The objects of a file's content, with the keys of their rows: one that is kept, and others that come or
    /// go.
    func objects(of file: HubFile) throws -> [(key: HubKey, row: ObjectRow)] {
        try rows(under: ObjectRow.prefix(file))
    }

    /// The file with the object that has its content; as it is if none has.
    func located(_ file: HubFile) throws -> HubFile {
        try objects(of: file).first { $0.row.state == .kept }.flatMap { $0.row.file($0.key) }
            ?? file
    }
}

extension HubWriting {
    /// Names an object before it is made, so that it goes if nothing comes of it.
    func begin(_ file: HubFile, until: Int64) throws {
        let key = ObjectRow.key(file)
        let row = ObjectRow(.arriving, byteCount: file.object?.byteCount ?? 0, until: until)
        try put(key, row)
        try noteExpiry(of: key, at: until)
    }

    /// Notes that an object is in the bucket, and takes the place of others with the same content.
    ///
    /// - Parameter end: When those go, which are read from and copied for a time.
    /// - Returns: Whether it may be used: false if it was given up in the meantime.
    func complete(_ file: HubFile, othersUntil end: Int64) throws -> Bool {
        let key = ObjectRow.key(file)
        guard var row: ObjectRow = try row(key), row.state == .arriving else { return false }
        try doomObjects(of: file, at: end)
        row.state = .kept
        try put(key, row)
        return true
    }

    /// Has the kept objects of a file's content removed from a time on.
    func doomObjects(of file: HubFile, at end: Int64) throws {
        for (key, row) in try objects(of: file) where row.state == .kept {
            try doom(key, row, at: end)
        }
    }

    /// Has an object removed from a time on. From this transaction on it can't come to be used.
    func doom(_ key: HubKey, _ row: ObjectRow, at end: Int64) throws {
        var row = row
        (row.state, row.until) = (.doomed, end)
        try put(key, row)
        try noteExpiry(of: key, at: end)
    }
}
