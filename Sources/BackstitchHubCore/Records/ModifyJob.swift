import BackstitchCore
import CloudKitWire
import Threading

/// A `records/modify` as it runs in a transaction: all of it takes effect, or what failed leaves no
/// trace.
struct ModifyJob: Sendable {
    enum Outcome: Sendable {
        case done(body: [UInt8], changes: [RecordChange], step: FeedStep)
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
    let zoneNumbers: ZoneNumbers
    let watch: HistoryWatch
    /// Where the zone was taken to be when it was told last what is read.
    private let toldPlace = Locked<ZonePlace?>(nil)

    private var zoneID: WireZoneID { request.zoneID ?? WireZoneID() }

    /// What is read, as far as the request tells it.
    var expected: [KeyQuery] {
        let partition = access.partition
        let place = zoneNumbers.place(of: zoneID.zoneName, in: partition)
        toldPlace.withLock { $0 = place }
        return access.expected(zones: [zoneID]) + ledger.expected
            + ZoneWriter.expected(in: partition) + Expiry.expected(in: partition)
            + [.key(FeedHistory.key(partition))]
            + (place.map(expected(in:)) ?? [])
    }

    /// What is read of a zone, as far as the request tells it.
    private func expected(in place: ZonePlace) -> [KeyQuery] {
        ZoneWriter.expected(of: place)
            + zoneNumbers.expectedEnds(of: zoneID.zoneName, in: place.partition)
            + request.operations.flatMap { expected($0, in: place) }
    }

    private func expected(_ operation: WireRecordOperation, in place: ZonePlace) -> [KeyQuery] {
        let record = operation.record
        guard let name = record.recordName, ServiceNames.isRecordName(name) else { return [] }
        if operation.kind.isDelete { return expected(deleting: name, in: place) }
        let links = RecordLink.links(of: record.fields, parent: record.parent ?? "")
        let receipts = record.fields.values.flatMap { $0.value?.elements ?? [] }.compactMap {
            if case .asset(let asset) = $0 { asset.receipt } else { nil }
        }
        return [.key(StoredRecord.key(place, name))]
            + links.flatMap { $0.expected(in: place, sourcesMax: limits.sourcesPerRecord) }
            + receipts.map { .key(UploadRow.key(place.partition, receipt: $0)) }
    }

    /// What is read of a record that is deleted: itself, what goes with it, and what forbids it unless
    /// the same request changes that.
    private func expected(deleting name: String, in place: ZonePlace) -> [KeyQuery] {
        func links(_ kind: RecordLink.Kind, _ count: Int) -> KeyQuery {
            .first(count, of: RecordLink.prefix(place, target: name, kind))
        }
        return [
            .key(StoredRecord.key(place, name)), links(.deleteSelf, limits.sourcesPerRecord + 1),
            links(.validate, request.operations.count + 1),
        ]
    }

    /// Tells what goes with the records that are deleted, and with those in turn.
    private func expectCascades(_ view: StoredZoneView) throws {
        var names = request.operations.filter(\.kind.isDelete).compactMap(\.record.recordName)
            .filter(ServiceNames.isRecordName)
        var known = Set(names)
        while !names.isEmpty, known.count <= limits.cascadedRecords {
            let targets = names
            names = []
            try view.transaction.expect {
                for target in targets {
                    try view.visitSources(of: target, .deleteSelf) { name in
                        if known.insert(name).inserted { names.append(name) }
                        return known.count <= limits.cascadedRecords
                    }
                }
                return names.flatMap { expected(deleting: $0, in: view.place) }
            }
        }
    }

    /// The token of the request, if it has one. It may have expired.
    ///
    /// - Throws: `ZONE_NOT_FOUND` if the client may know of commits that the hub lost.
    private func token(
        of zone: ZoneRow, _ database: DatabaseRow, _ state: StateRow,
        _ transaction: any HubWriting
    ) throws -> FeedToken? {
        guard let text = request.syncToken, !zone.isDefault else { return nil }
        do {
            return try FeedToken.read(
                text, of: zone, database, access, state, transaction, watch)
        } catch let error as WireError where error.code == .badRequest {
            // The next pull says so, unless the hub loses what is written now: then it has to hear of that.
            return try? FeedToken(text, .zone, access.partition, state)
        }
    }

    /// Runs the request.
    ///
    /// - Parameter encode: Makes the body of the answer, with the token that takes the place of the request's;
    ///   a short one has records without fields.
    func run(
        _ transaction: any HubWriting,
        encode: (ModifyPlan, StateRow, _ syncToken: String?, _ isShort: Bool) -> [UInt8]
    ) throws -> Outcome {
        if let body = try ledger.knownAnswer(transaction) { return .repeated(body: body) }
        var database = try transaction.database(access)
        var zone = try transaction.zone(zoneID, access)
        let place = zone.place(in: access.partition)
        if transaction.isFar { zoneNumbers.note(zone, database, in: access.partition) }
        if toldPlace.withLock({ $0 }) != place { transaction.expect { expected(in: place) } }
        let view = StoredZoneView(
            transaction: transaction, place: place, now: now, sourcesMax: limits.sourcesPerRecord)
        try expectCascades(view)
        let state = try transaction.state()
        var token = try token(of: zone, database, state, transaction)
        let tagSuffix = try transaction.run.tagSuffix
        let planner = ModifyPlanner(
            view: view,
            context: ModifyContext(
                zoneID: access.wireID(zone.zoneName), isPublic: access.isPublic, user: author,
                now: now, tagSuffix: tagSuffix, sequence: zone.sequence, limits: limits,
                bytesLeft: limits.bytesLeft(in: database)))
        // The reference makes requests to custom zones atomic unless they say otherwise.
        let isAtomic = !zone.isDefault && (request.isAtomic ?? true)
        let plan = try planner.plan(request.operations, isAtomic: isAtomic)
        let (before, databaseBefore) = (zone.sequence, database.sequence)
        if !plan.writes.isEmpty {
            transaction.expect {
                plan.writes.flatMap { $0.assetsBefore + $0.assetsAfter }
                    .compactMap { HubFile(access.partition, $0).map { .key(AssetRow.key($0)) } }
            }
            let growth = try plan.growth()
            zone.bytes += growth
            database.bytes += growth
            try ZoneWriter(
                transaction: transaction, partition: access.partition, now: now, limits: limits,
                assets: assets
            ).write(plan, to: &zone)
            try transaction.noteChange(
                of: &zone, in: &database, access, now: now, limits)
            // Behind the row of the database, which it may write too.
            try Expiry(
                transaction: transaction, partition: access.partition, assets: assets,
                limits: limits, now: now
            ).run()
            if transaction.isFar { zoneNumbers.note(zone, database, in: access.partition) }
        }
        token?.mark = database.mark
        let syncToken = token?.text(state)
        let body = encode(plan, state, syncToken, false)
        try ledger.keep(body, short: { encode(plan, state, syncToken, true) }, transaction)
        return .done(
            body: body, changes: plan.writes.map(RecordChange.init),
            step: FeedStep(
                database: databaseBefore..<database.sequence,
                zones: [zone.zoneName: before..<zone.sequence]))
    }
}

extension UInt64 {
    /// The end of every change tag of a run: eight digits of its number, so that a hub whose data was put back
    /// to an older state gives no tag again for something else.
    var tagSuffix: String {
        let digits = String(self % 2_821_109_907_456, radix: 36)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}

extension WireRecordOperation.Kind {
    fileprivate var isDelete: Bool { self == .delete || self == .forceDelete }
}

extension RecordChange {
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
