import BackstitchCore
import CloudKitWire

/// A `records/modify` as it runs in a transaction: all of it takes effect, or what failed leaves no
/// trace.
struct ModifyJob: Sendable {
    enum Outcome: Sendable {
        case done(body: [UInt8], changes: [Hub.Change])
        /// The request came before; this was the answer.
        case repeated(body: [UInt8])
    }

    let request: ModifyRecordsRequest
    let access: DatabaseAccess
    let author: String
    /// Milliseconds since 1970.
    let now: Int64
    let limits: HubLimits
    let assets: any HubFiles
    /// Keeps the answer for the case that the request comes again.
    let ledger: AnswerLedger

    /// Runs the request.
    ///
    /// - Parameter encode: Makes the body of the answer; a short one has records without fields.
    func run(
        _ transaction: any HubWriting,
        encode: (ModifyPlan, StateRow, _ isShort: Bool) -> [UInt8]
    ) throws -> Outcome {
        let zoneID = request.zoneID ?? WireZoneID()
        transaction.expect(zones: [zoneID], access) {
            ledger.expected + ZoneWriter.expected(in: access.partition)
                + ExpirySweep.expected(in: access.partition)
        }
        if let body = try ledger.knownAnswer(transaction) { return .repeated(body: body) }
        var database = try transaction.database(access)
        var zone = try transaction.zone(zoneID, access)
        let place = zone.place(in: access.partition)
        transaction.expect {
            request.operations.compactMap(\.record.recordName).filter(ServiceNames.isRecordName)
                .map { .key(StoredRecord.key(place, $0)) }
                + ZoneWriter.expected(of: place)
        }
        let state = try transaction.state()
        let planner = ModifyPlanner(
            view: StoredZoneView(transaction: transaction, place: place, now: now),
            context: ModifyContext(
                zoneID: access.wireID(zone.zoneName), isPublic: access.isPublic, user: author,
                now: now, tagSuffix: state.tagSuffix, sequence: zone.sequence, limits: limits,
                bytesLeft: limits.bytesLeft(in: database)))
        // The reference makes requests to custom zones atomic unless they say otherwise.
        let isAtomic = !zone.isDefault && (request.isAtomic ?? true)
        let plan = try planner.plan(request.operations, isAtomic: isAtomic)
        if !plan.writes.isEmpty {
            let growth = try plan.growth()
            zone.bytes += growth
            database.bytes += growth
            try ZoneWriter(
                transaction: transaction, partition: access.partition, now: now, limits: limits,
                assets: assets
            ).write(plan, to: &zone)
            try transaction.noteChange(of: &zone, in: &database, access)
        }
        let body = encode(plan, state, false)
        try ledger.keep(body, short: { encode(plan, state, true) }, transaction)
        return .done(body: body, changes: plan.writes.map(Hub.Change.init))
    }
}

extension Hub.Change {
    /// What a write means to those who want to know of changes.
    init(_ write: ModifyPlan.Write) {
        if write.after.isDeleted {
            kind = .deleted
        } else {
            kind = write.before?.isDeleted == false ? .updated : .created
        }
        record = write.after
    }
}
