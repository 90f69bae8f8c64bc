import BackstitchCore
import BackstitchLog
import BackstitchStore
import Threading

extension SyncEngine {
    /// Folds unsynced operations, and settles at once what adds up to nothing.
    ///
    /// - Parameter continues: Whether the run of the log behind the last one is folded.
    func fold(continues: Bool) async throws -> SyncEvent {
        let (recordsMax, bytesMax) = (configuration.recordsPerPass, configuration.bytesPerPass)
        dropPass()
        if continues {
            progress.foldStart = progress.outbox.through
        } else if let missed = try await findMissed() {
            return missed
        }
        let start = progress.foldStart
        let (selection, wholes) = (configuration.selection, progress.wholes)
        let (outbox, items, pushed, settled) = try store.read { transaction in
            let reader = transaction.reader
            let folder = OutboxFolder(reader, selection: try selection.bound(to: reader))
            let outbox = try folder.fold(
                recordsMax: recordsMax, bytesMax: bytesMax, after: start, wholes: wholes)
            var items: [PushItem] = []
            var pushed: [PendingChange] = []
            var settled: [PendingChange] = []
            for change in outbox.changes.inPushOrder {
                guard let item = Self.item(change, reader.catalog) else {
                    settled.append(change)
                    continue
                }
                items.append(item)
                pushed.append(change)
            }
            return (outbox, items, pushed, settled)
        }
        if !settled.isEmpty {
            try await write { context in
                for change in settled {
                    try context.settle(change.entity, change.key, through: change.through)
                }
            }
            // What they add up to may be nothing, and the service have them all the same.
            if let missed = try await findMissed() { return missed }
        }
        progress.outbox = outbox
        // The machine knows those that are pushed; the others are settled.
        progress.outbox.changes = []
        progress.pushed = pushed
        largestPass.withLock { $0 = max($0, outbox.byteCount) }
        try countPushes(items.count, isWhole: outbox.isComplete && start == 0)
        return .folded(items, isComplete: outbox.isComplete)
    }

    /// Gives the memory of what was folded back.
    func dropPass() {
        progress.outbox.changes = []
        progress.pushed = []
    }

    /// Tells how much the round has to push, from the first fold on.
    ///
    /// - Parameter isWhole: Whether the folded items are all that is pending.
    private func countPushes(_ items: Int, isWhole: Bool) throws {
        guard items > 0 else { return }
        if isWhole {
            progress.pushTotal = max(
                progress.pushTotal ?? 0, progress.report.pushedRecords + items)
        } else if progress.pushTotal == nil {
            progress.pushTotal = try pending().pendingRecords
        }
    }

    /// The modification that brings a change to the service; nil if there is nothing to bring.
    private static func item(
        _ change: PendingChange, _ catalog: CatalogSnapshot
    ) -> PushItem? {
        guard let table = catalog.table(change.entity) else { return nil }
        let name = change.key.name.description
        var required: [String: String] = [:]
        func service(_ fields: Fields) -> [String: ServiceValue] {
            var result: [String: ServiceValue] = [:]
            result.reserveCapacity(fields.count)
            for (field, value) in fields {
                guard let attribute = table.attribute(field) else { continue }
                result[attribute.name] = ServiceMapping.serviceValue(
                    value, of: attribute.schema)
                if attribute.schema?.reference?.onDelete == .deny, case .reference(let key) = value
                {
                    required[attribute.name] = key.name.description
                }
            }
            return result
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

    /// Applies decisions in one transaction.
    func apply(_ decisions: [ItemDecision]) async throws -> SyncEvent {
        let steps = steps(decisions)
        let results = try await merge { merger, results in
            for step in steps { try step.apply(to: merger, &results) }
            try merger.log.releaseReferrers(to: Set(steps.compactMap(\.arrivedName)))
            try results.mergeDuplicates(merger)
        }
        progress.report.pushedRecords += steps.count { $0.isAcknowledgement }
        progress.wholes.formUnion(results.editedSince)
        note(results)
        return .done
    }

    private func steps(_ decisions: [ItemDecision]) -> [PushStep] {
        let exchange = machine.exchange
        return decisions.map { decision in
            PushStep(
                change: progress.pushed[decision.index], kind: decision.kind,
                deferred: exchange.item(decision.index).deferredFields)
        }
    }
}

extension [PendingChange] {
    /// With the deletes in the order of the deletes, and not of the records' first operations.
    fileprivate var inPushOrder: [PendingChange] {
        let deletes = filter { $0.push == .delete }.sorted { $0.through < $1.through }
        return deletes.isEmpty ? self : filter { $0.push != .delete } + deletes
    }
}

/// One decision with what it is about.
private struct PushStep: Sendable {
    let change: PendingChange
    let kind: ItemDecision.Kind
    let deferred: Set<String>

    var isAcknowledgement: Bool {
        switch kind {
        case .acknowledge, .acknowledgePart: true
        case .merge, .mergeAbsent, .park: false
        }
    }

    /// The name of the record that the service now has and had not before.
    var arrivedName: RecordName? {
        guard isAcknowledgement, case .create = change.push else { return nil }
        return change.key.name
    }

    func apply(to merger: RecordMerger, _ results: inout MergeResults) throws {
        let name = change.key.name
        switch kind {
        case .acknowledge(let version):
            results.note(
                try merger.acknowledge(change, version: version), name,
                change.entityName)
        case .acknowledgePart(let version):
            results.note(
                try merger.acknowledge(change, version: version, without: deferred), name,
                change.entityName)
        case .merge(let record):
            results.note(
                try merger.merge(record, isAuthoritative: true), name,
                change.entityName)
        case .mergeAbsent:
            results.note(
                try merger.mergeDoubtedEnd(of: change.key, recordType: change.entityName),
                name, change.entityName)
        case .park(let error):
            let isParked = try merger.log.park(
                change.entity, change.key, through: change.through, reason: error.description)
            if isParked {
                results.parked.append(
                    ParkedRecord(
                        record: RecordID(entity: change.entityName, key: change.key),
                        sequence: merger.log.head,
                        reason: error.description))
            } else {
                results.editedSince.insert(
                    RecordPlace(entity: change.entity, key: change.key))
            }
        }
    }
}
