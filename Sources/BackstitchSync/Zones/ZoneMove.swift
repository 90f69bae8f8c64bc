import BackstitchCore
package import BackstitchLog

/// Moves a store's own zone to another one. Records of its other zones stay where they are.
package struct ZoneMove {
    private let log: LogWriter
    private var reader: TableReader { log.reader }
    /// The slot of the store's own zone.
    private let slot: UInt8 = 0

    package init(_ log: LogWriter) { self.log = log }

    /// Notes that the store is to be moved to a zone; a move to another one that was begun ends.
    ///
    /// - Parameter user: The user to whom the zone belongs.
    package func begin(to zone: String, user: String) throws {
        for name in try ZoneStates(reader).names() where name != zone {
            var state = try reader.zoneState(name)
            guard state.movingUser != nil else { continue }
            state.movingUser = nil
            if state.isBound {
                try log.setZoneState(state, name)
            } else {
                try log.deleteMeta(MetaName.zone(name))
            }
        }
        var state = try reader.zoneState(zone)
        state.movingUser = user
        // It is not resumed, but filled from here.
        state.suspension = nil
        try log.setZoneState(state, zone)
    }

    /// Ends a move, once nothing is known any more of what another zone had: the store is bound to
    /// the new zone, where everything is looked for and then pushed.
    ///
    /// Parked records are pending again: what another zone refused this one may take.
    /// - Returns: false if records were evicted meanwhile, which only the zone before has.
    package func end(to zone: String) throws -> Bool {
        guard let user = try reader.zoneState(zone).movingUser else { return true }
        guard try RecordScan(reader).evictedKeys(in: slot, limit: 1).isEmpty else { return false }
        for record in try ParkedRecord.all(reader) where record.record.key.zone == slot {
            guard let table = log.catalog.table(named: record.record.entity) else { continue }
            try log.marks.release(table.number, record.record.key)
        }
        try FullFetch(log, in: slot).forgetFetched()
        try log.forgetNotes(.sent, in: slot)
        try log.marks.setOutboxFloor(0, in: slot)
        for name in try ZoneStates(reader).names() { try log.deleteMeta(MetaName.zone(name)) }
        var state = ZoneState()
        state.userName = user
        state.prefersLocal = true
        try log.setZoneState(state, zone)
        return true
    }
}
