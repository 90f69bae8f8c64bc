import Threading
public import BackstitchCore
import BackstitchSync

extension SimulatedCloud {
    /// What contradicts itself in the zones of all users; empty unless this module has a bug.
    package var violations: [String] {
        state.withLock { state in
            state.databases.values.flatMap { database in
                database.zones.compactMap { zone, content in
                    content.violation.map { "the zone \(zone.zoneName): \($0)" }
                }
            }
        }
    }

    /// The user's zones, sorted by name.
    public func zones(user: String = "user") -> [ZoneID] {
        state.withLock { state in
            state.databases[user].map { Array($0.zones.keys) } ?? []
        }.sorted { $0.zoneName < $1.zoneName }
    }

    /// The current records of a zone, sorted by name; empty if there is no such zone.
    public func records(in zone: ZoneID, user: String = "user") -> [ServiceRecord] {
        state.withLock { $0.databases[user]?.zones[zone]?.sortedRecords ?? [] }
    }

    /// The current version of a record, or nil if it does not exist.
    public func record(
        named recordName: String, in zone: ZoneID, user: String = "user"
    ) -> ServiceRecord? {
        state.withLock { $0.databases[user]?.zones[zone]?.record(named: recordName) }
    }

    /// The version of a record that was given a change tag, however long ago; nil if there was
    /// none, or if ``Options/keepsVersions`` is off.
    public func version(tagged changeTag: String) -> ServiceRecord? {
        state.withLock { $0.stamp.versions?[changeTag] }
    }

    /// The device that wrote the version with a change tag; empty for another client, nil if
    /// versions are not kept.
    package func writer(tagged changeTag: String) -> String? {
        state.withLock { $0.stamp.writers[changeTag] }
    }

    /// Whether a record began, or began anew, with the version that was given a change tag; false if
    /// versions are not kept.
    package func isFirst(tagged changeTag: String) -> Bool {
        state.withLock { $0.stamp.firsts.contains(changeTag) }
    }

    /// Whether somebody ever ended the record that the version with a change tag is of: deleted it, or all that
    /// it depends on, or its zone. A record that is made again is another one. False if versions are not
    /// kept.
    package func wasEnded(tagged changeTag: String) -> Bool {
        state.withLock { $0.stamp.wasEnded(changeTag) }
    }

    /// Writes a record as another client: creates it, or sets the fields given.
    ///
    /// Pokes every device that has subscribed to the zone.
    ///
    /// - Throws: What a request with these fields would fail with, a change tag apart.
    @discardableResult
    public func write(
        _ recordName: String, type recordType: String, fields: NamedFields,
        in zone: ZoneID, user: String = "user"
    ) throws(ServiceError) -> ServiceRecord {
        try edit(recordName, in: zone, user: user) { old in
            guard let old else {
                return .create(recordName: recordName, recordType: recordType, fields: fields)
            }
            return .update(
                recordName: recordName, recordType: recordType, changeTag: old.changeTag,
                fields: fields)
        }
        guard let record = record(named: recordName, in: zone, user: user) else {
            throw ServiceError(.unknownItem, "record deleted meanwhile")
        }
        return record
    }

    /// Deletes a record as another client, with all records that refer to it with DELETE_SELF.
    ///
    /// Pokes every device that has subscribed to the zone.
    ///
    /// - Throws: `unknownItem` if there is no such record, `referenceViolation` if another
    ///   record needs it, or why there is no such zone.
    public func remove(
        _ recordName: String, in zone: ZoneID, user: String = "user"
    ) throws(ServiceError) {
        try edit(recordName, in: zone, user: user) { old in
            .delete(recordName: recordName, changeTag: old?.changeTag ?? "")
        }
    }

    /// Carries out one operation that knows the record as it stands.
    private func edit(
        _ recordName: String, in zone: ZoneID, user: String,
        by operation: (ServiceRecord?) -> RecordModification
    ) throws(ServiceError) {
        let now = clock?.milliseconds
        let (reply, pokes) = state.withLock { state in
            if let now { state.stamp.milliseconds = now }
            let old = state.databases[user]?.zones[zone]?.record(named: recordName)
            var faults = RequestFaults()
            let reply = state.perform(
                .modify([operation(old)], zone: zone, atomic: false, token: nil),
                from: Caller(user: user, device: ""), faults: &faults)
            return (reply, state.takePokes())
        }
        for poke in pokes { poke.deliver() }
        if case .modified(let results, _) = try reply.get(),
            case .failed(let error)? = results.first
        {
            throw error
        }
    }
}
