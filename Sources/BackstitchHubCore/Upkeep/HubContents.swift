import CloudKitWire

extension HubReading {
    /// Gives a closure all files that a hub's rows name, with their objects, and whether a record holds each.
    ///
    /// - Complexity: O(*n*) in the databases and files.
    package func forEachFile(_ body: (HubFile, _ isHeld: Bool) throws -> Void) throws {
        for (_, database) in try list(HubKey(.global, .databaseName), as: DatabaseNameRow.self) {
            try unsafe scanInParts(HubKey(database.partition, .asset)) { key, value in
                let checksum = unsafe String(
                    decoding: HubKey(bytes: key).behindTable, as: UTF8.self)
                if let file = HubFile(database.partition, checksum) {
                    try unsafe body(located(file), AssetRow(stored: Array(value)).references > 0)
                }
                return true
            }
        }
    }
}

extension HubWriting {
    /// Forgets all objects, whose files are in the folder instead.
    package func forgetObjects() throws {
        for (_, database) in try list(HubKey(.global, .databaseName), as: DatabaseNameRow.self) {
            var keys: [HubKey] = []
            try unsafe scan(HubKey(database.partition, .object), from: nil) { key, _ in
                unsafe keys.append(HubKey(bytes: key))
                return true
            }
            for key in keys { try delete(key) }
        }
        var state = try state()
        guard state.hasObjects else { return }
        state.hasObjects = false
        try put(StateRow.key, state)
    }

    /// Makes all change tokens invalid that were given out until now.
    ///
    /// - Parameter secret: Returns bytes that can't be guessed.
    package func beginEpoch(_ secret: (_ count: Int) -> [UInt8]) throws {
        var state = try state()
        state.epoch = secret(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        try put(StateRow.key, state)
    }
}
