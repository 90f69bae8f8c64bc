import BackstitchCore
import BackstitchLog
import BackstitchStore
import Threading

/// Pushes what the service lacks: folds a part of the outbox, sends it, and stores what came of it.
struct PushExecutor {
    private let exchange: ZoneExchange
    /// What is decided of the items of the running pass.
    private let machine: SyncMachine

    init(_ exchange: ZoneExchange, _ machine: SyncMachine) {
        (self.exchange, self.machine) = (exchange, machine)
    }

    /// Folds unsynced operations, and settles at once what adds up to nothing.
    ///
    /// - Parameter continues: Whether the run of the log after the last one is folded.
    func fold(continues: Bool) async throws -> SyncEvent {
        let (progress, configuration) = (exchange.progress, exchange.configuration)
        let (recordsMax, bytesMax) = (configuration.recordsPerPass, configuration.bytesPerPass)
        progress.dropPass()
        if continues {
            progress.foldStart = progress.outbox.through
        } else if let missed = try await StaleLookup(exchange).find() {
            return missed
        }
        let start = progress.foldStart
        let (selection, wholes) = (configuration.selection, progress.wholes)
        let (place, now) = (exchange.place, exchange.scope.clock.milliseconds)
        let (contents, earlier) = (exchange.store.assets.folder, exchange.report.value.uploads)
        let (outbox, items, pushed, settled, files) = try exchange.store.read { transaction in
            let reader = transaction.reader
            var files = WaitingFiles(ReceiptReader(reader, place, now: now))
            let folder = OutboxFolder(
                reader, selection: try selection.bound(to: reader), zone: place.slot)
            let outbox = try folder.fold(
                recordsMax: recordsMax, bytesMax: bytesMax, after: start, wholes: wholes)
            assert(
                Set(outbox.changes.map(\.key.zone)).count <= 1, "A pass is of more than one zone.")
            var items: [PushItem] = []
            var pushed: [PendingChange] = []
            var settled: [PendingChange] = []
            for change in outbox.changes.inPushOrder {
                guard var item = Self.item(change, reader.catalog) else {
                    settled.append(change)
                    continue
                }
                guard try files.complete(&item, change, reader.catalog) else { continue }
                items.append(item)
                pushed.append(change)
            }
            try files.keepSources(reader, contents, earlier: earlier)
            let isReady = items.map { files.isReady($0) }
            if isReady.contains(false) {
                items = zip(items, isReady).filter(\.1).map(\.0)
                pushed = zip(pushed, isReady).filter(\.1).map(\.0)
            }
            return (outbox, items, pushed, settled, files)
        }
        let partial = try await parkRefused(files.refused)
        if !partial.isSubset(of: wholes) {
            // What comes later in the log may be the remedy, or has to be parked with them.
            progress.wholes.formUnion(partial)
            return try await fold(continues: continues)
        }
        noteWaiting(files.uploads, records: files.waiting)
        if !settled.isEmpty {
            try await exchange.write { context in
                for change in settled {
                    try context.marks.settle(change.entity, change.key, through: change.through)
                }
            }
            // What they add up to may be nothing, and the service have them all the same.
            if let missed = try await StaleLookup(exchange).find() { return missed }
        }
        progress.outbox = outbox
        // The machine knows those that are pushed; the others are settled.
        progress.outbox.changes = []
        progress.pushed = pushed
        exchange.scope.largestPass.withLock { $0 = max($0, outbox.byteCount) }
        try exchange.report.noteItems(items.count, isWhole: outbox.isComplete && start == 0) {
            try exchange.scope.pending().pendingRecords
        }
        return .folded(items, isComplete: outbox.isComplete)
    }

    /// Notes the files that records of a pass wait for.
    private func noteWaiting(_ uploads: [AssetUpload], records: Set<RecordKey>) {
        if !records.isEmpty { exchange.progress.waitsForFiles = true }
        exchange.report.noteWaiting(uploads, records: records)
    }

    /// The modification that brings a change to the service; nil if there is nothing to bring.
    private static func item(
        _ change: PendingChange, _ catalog: CatalogSnapshot
    ) -> PushItem? {
        guard let table = catalog.table(change.entity) else { return nil }
        let name = change.key.name.description
        var required: [String: String] = [:]
        func service(_ fields: Fields) -> NamedFields {
            var writer = NamedFieldsWriter()
            for (field, value) in fields {
                guard let attribute = table.attribute(field) else { continue }
                ServiceMapping.write(
                    value, of: attribute.schema, named: attribute.name, to: &writer)
                if attribute.schema?.reference?.onDelete == .deny, case .reference(let key) = value
                {
                    required[attribute.name] = key.name.description
                }
            }
            return writer.finish()
        }
        switch change.push {
        case .nothing:
            return nil
        case .create(let fields):
            let fields = service(fields)
            var item = PushItem(
                .create(recordName: name, recordType: change.entityName, fields: fields),
                requiredFields: required, baseMilliseconds: change.modifiedMilliseconds)
            item.deferredFields = change.deferred
            return item
        case .update(let fields):
            let fields = service(fields)
            return PushItem(
                .update(
                    recordName: name, recordType: change.entityName, changeTag: change.changeTag,
                    fields: fields), requiredFields: required,
                baseMilliseconds: change.modifiedMilliseconds)
        case .delete:
            return PushItem(
                .delete(recordName: name, changeTag: change.changeTag),
                baseMilliseconds: change.modifiedMilliseconds)
        }
    }

    /// Parks the records whose files can't be uploaded.
    ///
    /// - Returns: The records that were not parked, because they have operations that were not folded.
    private func parkRefused(
        _ refused: [(change: PendingChange, reason: String)]
    ) async throws -> Set<StoredRecordID> {
        guard !refused.isEmpty else { return [] }
        let wholes = exchange.progress.wholes
        let results = try await exchange.merge { merger, results in
            for (change, reason) in refused {
                let place = StoredRecordID(entity: change.entity, key: change.key)
                let isParked = try merger.log.marks.park(
                    change.entity, change.key, through: change.through, reason: reason)
                if isParked {
                    let name = RecordID(entity: change.entityName, key: change.key)
                    results.parked.append(
                        ParkedRecord(record: name, sequence: merger.log.head, reason: reason))
                } else {
                    results.editedSince.insert(place)
                }
                // A record that is folded again is refused for the same reason.
                if isParked || wholes.contains(place) {
                    try ReceiptWriter(merger.log).forgetRefusals(change)
                }
            }
        }
        exchange.note(results)
        return results.editedSince
    }

    // MARK: Requests

    func push(_ places: [Int], atomic: Bool) async throws -> SyncEvent {
        let modifications = sent(places)
        let inFlight = exchange.scope.inFlight
        inFlight.withLock { $0 = Set(modifications.map(\.recordName)) }
        defer { inFlight.withLock { $0 = [] } }
        try await noteSent(places)
        let results = try await modify(modifications, atomic: atomic)
        for (modification, result) in zip(modifications, results) {
            if case .failed(let error) = result, error.code.retry == .later {
                exchange.noteUndelivered(modification.recordName, error)
            }
        }
        return .pushed(results)
    }

    /// Notes the records that a request creates, or replaces after a delete, before it is sent, so that their
    /// ends are told from those of earlier lives though no answer comes. All of them take one commit, and
    /// those that are noted already none.
    private func noteSent(_ places: [Int]) async throws {
        let ended = exchange.progress.ended
        let lives = places.map { exchange.progress.pushed[$0] }.filter { change in
            switch change.push {
            // The feed is still to tell the end of the life before.
            case .create: !ended.contains(change.key.name)
            case .update: change.isAnew
            case .nothing, .delete: false
            }
        }
        let new = try exchange.store.read { transaction in
            try lives.filter { try transaction.reader.meta.note(.sent, $0.key) == nil }
        }
        guard !new.isEmpty else { return }
        exchange.progress.firstSent.formUnion(new.map(\.key.name))
        try await exchange.write { log in
            for change in new {
                // It may have been deleted or given up since, and a record that the service lost is sent
                // again anyway.
                guard let row = try log.row(change.entity, change.key), !row.isDeleted,
                    row.changeTag == change.changeTag, !row.flags.contains(.isForgotten),
                    try log.reader.history(of: row).isPending(change.through)
                else { continue }
                try log.note(.sent, change.key)
            }
        }
    }

    /// Sends modifications, with the token of the zone's feed if there is one.
    private func modify(
        _ modifications: [RecordModification], atomic: Bool
    ) async throws -> [ModificationResult] {
        exchange.progress.replacedToken = nil
        guard let token = try exchange.state().zoneToken else {
            return try await exchange.service.modifyRecords(
                modifications, in: exchange.zone, atomic: atomic)
        }
        var next = token
        let results = try await exchange.service.modifyRecords(
            modifications, in: exchange.zone, atomic: atomic, token: &next)
        if next != token { exchange.progress.replacedToken = (token, next) }
        return results
    }

    /// Replaces the token of a zone's feed, unless the feed was read since. The next round asks with it, whatever
    /// the service says of the zone, and so hears whether it lost what was pushed.
    private static func replace(
        _ old: String, by new: String, _ place: ZonePlace, _ log: LogWriter
    ) throws {
        var state = try log.reader.zoneState(place)
        guard state.zoneToken == old else { return }
        state.zoneToken = new
        state.needsPull = true
        try log.setZoneState(state, place)
    }

    func lookUp(_ places: [Int]) async throws -> SyncEvent {
        let names = sent(places).map(\.recordName)
        return .lookedUp(try await exchange.service.lookUpRecords(names, in: exchange.zone))
    }

    /// Items as they are sent.
    private func sent(_ places: [Int]) -> [RecordModification] {
        places.map { machine.item($0).sent }
    }

    // MARK: Replies

    /// Applies decisions in one transaction.
    func apply(_ decisions: [ItemDecision]) async throws {
        let steps = steps(decisions)
        let place = exchange.place
        let again = Locked<Set<RecordKey>>([])
        let replaced = exchange.progress.replacedToken
        let results = try await exchange.merge { merger, results in
            again.withLock { $0 = [] }
            for step in steps {
                if try step.uploadsAgain(merger.log, zone: place.id.zoneName) {
                    again.withLock { _ = $0.insert(step.change.key) }
                } else {
                    try step.apply(to: merger, &results)
                }
            }
            try merger.log.marks.releaseReferrers(to: Set(steps.compactMap(\.arrivedKey)))
            try results.mergeDuplicates(merger)
            if let replaced { try Self.replace(replaced.old, by: replaced.new, place, merger.log) }
        }
        noteWaiting([], records: again.withLock { $0 })
        exchange.report.notePushed(steps.count { $0.isAcknowledgement })
        exchange.progress.ended.formUnion(steps.filter(\.isEnd).map(\.change.key.name))
        exchange.progress.wholes.formUnion(results.editedSince)
        exchange.note(results)
    }

    private func steps(_ decisions: [ItemDecision]) -> [PushStep] {
        decisions.map { decision in
            let change = exchange.progress.pushed[decision.index]
            var isFirst = false
            if case .mergeAbsent = decision.kind {
                isFirst = exchange.progress.firstSent.contains(change.key.name)
            }
            return PushStep(
                change: change, kind: decision.kind,
                deferred: machine.item(decision.index).deferredFields,
                isFirst: isFirst)
        }
    }
}

extension [PendingChange] {
    /// With the deletes in the order of the deletes, and not of the records' first operations.
    fileprivate var inPushOrder: [PendingChange] {
        guard contains(where: \.isDelete) else { return self }
        return filter { !$0.isDelete } + filter(\.isDelete).sorted { $0.through < $1.through }
    }
}

/// One decision with what it is about.
private struct PushStep: Sendable {
    let change: PendingChange
    let kind: ItemDecision.Kind
    let deferred: Set<String>
    /// Whether the service does not have the record, and no round before sent it as it is.
    let isFirst: Bool

    var isAcknowledgement: Bool {
        switch kind {
        case .acknowledge, .acknowledgePart: true
        case .merge, .mergeAbsent, .park: false
        }
    }

    /// Whether the service does not have the record any more.
    var isEnd: Bool {
        if case .mergeAbsent = kind { true } else { isAcknowledgement && change.isDelete }
    }

    /// The key of the record that the service now has and had not before.
    var arrivedKey: RecordKey? {
        guard isAcknowledgement, case .create = change.push else { return nil }
        return change.key
    }

    /// Whether the service refused the receipt of a file, and the file is uploaded once more.
    func uploadsAgain(_ log: LogWriter, zone: String) throws -> Bool {
        guard case .park(let error) = kind, error.code == .assetMissing else { return false }
        return try ReceiptWriter(log).drop(change, without: deferred, zone: zone)
    }

    func apply(to merger: RecordMerger, _ results: inout MergeResults) throws {
        if isAcknowledgement { try ReceiptWriter(merger.log).useUp(change, without: deferred) }
        switch kind {
        case .acknowledge(let version):
            results.note(try merger.acknowledge(change, version: version), change.key)
        case .acknowledgePart(let version):
            results.note(
                try merger.acknowledge(change, version: version, without: deferred), change.key)
        case .merge(let record):
            let result = try merger.merge(record, isAuthoritative: true)
            results.note(result, change.key)
            switch result {
            case .rejected(let reason), .unnumbered(let reason):
                // The service would answer with the same version again and again.
                try park("The service's version can't be stored here: \(reason)", merger, &results)
            case .unchanged, .applied, .conflict, .parked, .undecided: break
            }
        case .mergeAbsent:
            results.note(
                try merger.mergeDoubtedEnd(
                    of: change.key, recordType: change.entityName, isFirst: isFirst),
                change.key)
        case .park(let error):
            try park(error.description, merger, &results)
        }
    }

    private func park(
        _ reason: String, _ merger: RecordMerger, _ results: inout MergeResults
    ) throws {
        try merger.log.forgetNote(.sent, change.key)
        let isParked = try merger.log.marks.park(
            change.entity, change.key, through: change.through, reason: reason)
        if isParked {
            results.parked.append(
                ParkedRecord(
                    record: RecordID(entity: change.entityName, key: change.key),
                    sequence: merger.log.head, reason: reason))
        } else {
            results.editedSince.insert(StoredRecordID(entity: change.entity, key: change.key))
        }
    }
}
