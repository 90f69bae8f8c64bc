import Backstitch
import BackstitchCore
import BackstitchStudio
import BackstitchSync
import Terminal

extension StoreStudio {
    /// The most operations that are looked at in one step for a page of the log.
    private static let examinedMax: UInt64 = 1 << 10
    /// How many operations or conflicts are read before their sizes are known.
    private static let firstCount = 8

    func entities() throws -> [StudioDocument.Entity] {
        let counts = try store.info().entities
        let attributes = Dictionary(
            store.catalog.entities.map { ($0.name, $0.attributes) }, uniquingKeysWith: { $1 })
        return counts.map { entity in
            StudioDocument.Entity(
                name: entity.name, declared: entity.isDeclared, records: entity.records,
                tombstones: entity.tombstones, unreadable: entity.unreadable,
                attributes: (attributes[entity.name] ?? []).map { StudioDocument.Attribute($0) })
        }
    }

    /// The newest operations of a record; fewer than were asked for if their values are large.
    func history(_ call: StudioCall) throws -> [HistoryDocument] {
        let record = try self.record(call)
        let limit = try Self.limit(call)
        var entries: [HistoryEntry] = []
        var count = min(limit, Self.firstCount)
        while true {
            entries = try store.history(of: record, limit: count)
            let bytes = entries.reduce(0) { $0 + ($1.values?.answerBytes ?? 0) }
            guard entries.count == count, count < limit, bytes < StudioBudget.answerBytesMax else {
                break
            }
            count = min(limit, count * 4)
        }
        return entries.map { HistoryDocument($0, of: store).shown }
    }

    /// How a record stands with the service; nil if the store has no such record.
    func state(_ call: StudioCall) throws -> StudioDocument.State? {
        let id = try self.record(call)
        return try store.read { transaction in
            guard let record = try transaction.record(id, includesDeleted: true) else { return nil }
            let parked =
                record.state == .parked
                ? try ParkedRecord.all(transaction.reader, limit: Self.rowsMax)
                    .first { $0.record == id } : nil
            return StudioDocument.State(
                state: record.state.rawValue, lastSequence: record.lastSequence,
                syncedSequence: record.syncedSequence, onService: record.hasChangeTag,
                parked: parked.map { StudioDocument.Parked($0, of: store) })
        }
    }

    /// The entities that have a record of a name. Whether others had one once, only a look through the
    /// log tells.
    func find(_ call: StudioCall) throws -> [String] {
        let name = try call.required("record")
        let zone = try self.zone(call) ?? .own
        let entities = store.catalog.entities.map(\.name)
        return try store.read { transaction in
            try entities.filter { entity in
                let id = RecordID(entity: entity, name: name, zone: zone)
                return try transaction.record(id, includesDeleted: true) != nil
            }
        }
    }

    func conflicts(_ call: StudioCall) throws -> [ConflictDocument] {
        let (entity, zone) = (call.text("entity"), try self.zone(call))
        let key = call.text("record").map { RecordKey($0, zone: zone ?? .own) }
        let limit = try Self.limit(call)
        var before: UInt64? = try call.number("before")
        var conflicts: [ConflictDocument] = []
        var bytes = 0
        // A few at a time: each has four sides, whose values may be large.
        while conflicts.count < limit, bytes < StudioBudget.answerBytesMax {
            let filter = RecordConflict.Filter(
                entity: entity, key: key, zone: zone, beforeSequence: before)
            let count = min(Self.firstCount, limit - conflicts.count)
            let part = try store.read { try $0.conflicts(matching: filter, limit: count) }
            for conflict in part {
                let document = ConflictDocument(conflict, of: store).shown
                bytes += document.settled.answerBytes
                conflicts.append(document)
            }
            guard part.count == count else { break }
            before = part.last?.sequence
        }
        return conflicts
    }

    func outbox() throws -> StudioDocument.Outbox {
        let (pending, parked) = try store.read { transaction in
            (
                try OutboxFolder(transaction.reader).pendingRecords(limit: Self.rowsMax),
                try ParkedRecord.all(transaction.reader, limit: Self.rowsMax)
            )
        }
        return StudioDocument.Outbox(
            pending: pending.map { StudioDocument.Pending($0, of: store) },
            parked: parked.map { StudioDocument.Parked($0, of: store) },
            cut: max(pending.count, parked.count) == Self.rowsMax)
    }

    /// A page of the log before a sequence, newest first. Operations that a filter leaves out are
    /// looked at up to a limit; the answer says where to go on.
    func log(_ call: StudioCall) throws -> StudioDocument.Log {
        let zone = try self.zone(call)
        let filter = LoggedOperation.Filter(
            entity: call.text("entity"),
            key: call.text("record").map { RecordKey($0, zone: zone ?? .own) }, zone: zone)
        let limit = try Self.limit(call)
        let given = try call.number("before", as: UInt64.self)
        let budget = StudioBudget()
        return try store.read { transaction in
            let last = try transaction.lastSequence
            let end = min(given ?? .max, last + 1)
            var (start, step) = (end, UInt64(Self.firstCount))
            var found: [LogDocument] = []
            var bytes = 0
            while start > 1, found.count < limit, bytes < StudioBudget.answerBytesMax,
                start == end || budget.goesOn(Int(end - start) / 64 * 64)
            {
                let upper = start
                start = upper > 1 + step ? upper - step : 1
                let part = try transaction.operations(in: start..<upper, matching: filter)
                for operation in part.reversed() {
                    let document = LogDocument(operation, of: store).shown
                    bytes += document.answerBytes
                    found.append(document)
                }
                // Few at a time where values are large.
                let isLarge = bytes > StudioBudget.answerBytesMax / 8
                step = isLarge ? UInt64(Self.firstCount) : min(step * 2, Self.examinedMax)
            }
            let shown = found.prefix(limit)
            let next = found.count > limit ? shown.last?.sequence ?? start : start
            return StudioDocument.Log(
                operations: Array(shown), lastSequence: last, before: next > 1 ? next : nil,
                examined: end - start)
        }
    }

    /// The query that a call asks for, read as the command `query` reads it.
    func query(_ call: StudioCall) throws -> (query: RecordQuery, entity: CatalogEntity) {
        let name = try call.required("entity")
        guard let entity = store.catalog.entities.first(where: { $0.name == name }) else {
            throw StudioError(404, "The store has no entity '\(name.printable)'.")
        }
        let options = ["where", "sort", "zone", "owner"].compactMap { option in
            call.text(option).map { "--\(option)=\($0)" }
        }
        let words = options + ["--", path, name]
        guard let arguments = try Arguments(words, syntax: QueryCommand().syntax) else {
            throw StudioError(400, "That is no query.")
        }
        return (try QueryCommand.query(arguments, entity, of: store), entity)
    }

    static func limit(_ call: StudioCall) throws -> Int {
        min(max(1, try call.number("limit") ?? rowsMax), rowsMax)
    }

    /// The record that a call names, in the store's own zone unless it names another.
    func record(_ call: StudioCall) throws -> RecordID {
        RecordID(
            entity: try call.required("entity"), name: try call.required("record"),
            zone: try zone(call) ?? .own)
    }

    private func zone(_ call: StudioCall) throws -> RecordID.Zone? {
        try ZoneOptions.chosen(named: call.text("zone"), owner: call.text("owner"), of: store)
    }
}

extension HistoryDocument {
    /// With words in the place of large values.
    fileprivate var shown: HistoryDocument {
        var copy = self
        copy.operation = operation.shown
        copy.values = values?.shown
        return copy
    }
}

extension LogDocument {
    fileprivate var shown: LogDocument {
        var copy = self
        copy.changes = changes.map { change in
            var change = change
            (change.before, change.after) = (change.before?.shown, change.after?.shown)
            return change
        }
        copy.conflict = conflict?.shown
        return copy
    }

    fileprivate var answerBytes: Int {
        changes.reduce(conflict?.answerBytes ?? 0) {
            $0 + ($1.before?.answerBytes ?? 0) + ($1.after?.answerBytes ?? 0)
        }
    }
}

extension LogDocument.Settled {
    fileprivate var shown: LogDocument.Settled {
        var copy = self
        (copy.base, copy.local) = (base?.shown, local?.shown)
        (copy.server, copy.outcome) = (server?.shown, outcome?.shown)
        return copy
    }

    fileprivate var answerBytes: Int {
        [base, local, server, outcome].reduce(0) { $0 + ($1?.answerBytes ?? 0) }
    }
}

extension ConflictDocument {
    fileprivate var shown: ConflictDocument {
        var copy = self
        copy.settled = settled.shown
        return copy
    }
}
