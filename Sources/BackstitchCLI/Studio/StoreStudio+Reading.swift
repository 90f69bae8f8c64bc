import Backstitch
import BackstitchCore
import BackstitchStudio
import BackstitchSync
import Terminal

extension StoreStudio {
    /// The most operations that are looked at for one page of the log.
    private static let examinedMax: UInt64 = 1 << 14

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

    func records(_ call: StudioCall) throws -> StudioDocument.Records {
        let (query, entity) = try query(call)
        let cursor = try call.text("after").map {
            try JSON.value(QueryCursor.self, Array("\"\($0)\"".utf8))
        }
        let limit = try Self.limit(call)
        let page = try store.read { try $0.page(query, after: cursor, count: limit) }
        let columns = entity.attributes.filter(\.isDeclared)
        return StudioDocument.Records(
            records: page.rows.map { QueryCommand.document($0, columns) }, next: page.next)
    }

    /// Counts up to a limit, so that a page never waits for all of a large store; without a condition
    /// it is the number that the commits keep.
    func count(_ call: StudioCall) throws -> StudioDocument.Count {
        let (query, entity) = try query(call)
        guard call.text("where") != nil else {
            let count = try store.info().entities.first { $0.name == entity.name }?.records ?? 0
            return StudioDocument.Count(count: count, atLeast: false)
        }
        let count = try store.read { try $0.count(query.limit(Self.countMax)) }
        return StudioDocument.Count(count: count, atLeast: count == Self.countMax)
    }

    func explain(_ call: StudioCall) throws -> StudioDocument.Explanation {
        let query = try query(call).query.limit(try Self.limit(call))
        let explanation = try store.read { try $0.explain(query, running: true) }
        return StudioDocument.Explanation(steps: explanation.steps)
    }

    func history(_ call: StudioCall) throws -> [HistoryDocument] {
        let record = RecordID(
            entity: try call.required("entity"), name: try call.required("record"))
        return try store.history(of: record, limit: try Self.limit(call)).map(HistoryDocument.init)
    }

    func conflicts(_ call: StudioCall) throws -> [ConflictDocument] {
        let filter = RecordConflict.Filter(
            entity: call.text("entity"), key: call.text("record").map { RecordKey($0) },
            beforeSequence: try call.number("before"))
        let limit = try Self.limit(call)
        return try store.read { try $0.conflicts(matching: filter, limit: limit) }
            .map(ConflictDocument.init)
    }

    func outbox() throws -> StudioDocument.Outbox {
        let (pending, parked) = try store.read { transaction in
            (
                try OutboxFolder(transaction.reader).pendingRecords(limit: Self.rowsMax),
                try ParkedRecord.all(transaction.reader, limit: Self.rowsMax)
            )
        }
        return StudioDocument.Outbox(
            pending: pending.map(StudioDocument.Pending.init),
            parked: parked.map(StudioDocument.Parked.init),
            cut: max(pending.count, parked.count) == Self.rowsMax)
    }

    /// A page of the log before a sequence, newest first. Operations that a filter leaves out are
    /// looked at up to a limit; the answer says where to go on.
    func log(_ call: StudioCall) throws -> StudioDocument.Log {
        let filter = LoggedOperation.Filter(
            entity: call.text("entity"), key: call.text("record").map { RecordKey($0) })
        let limit = try Self.limit(call)
        let given = try call.number("before", as: UInt64.self)
        return try store.read { transaction in
            let last = try transaction.lastSequence
            let end = min(given ?? .max, last + 1)
            let floor = end > Self.examinedMax ? end - Self.examinedMax : 1
            var (start, step) = (end, UInt64(limit))
            var found: [LoggedOperation] = []
            while start > floor, found.count < limit {
                let upper = start
                start = upper > floor + step ? upper - step : floor
                let part = try transaction.operations(
                    from: start, limit: Int(upper - start), matching: filter)
                found += part.filter { $0.sequence < upper }.reversed()
                step = min(step * 2, Self.examinedMax)
            }
            let shown = found.prefix(limit)
            let next = found.count > limit ? shown.last?.sequence ?? start : start
            return StudioDocument.Log(
                operations: shown.map(LogDocument.init), lastSequence: last,
                before: next > 1 ? next : nil)
        }
    }

    /// The query that a call asks for, read as the command `query` reads it.
    private func query(_ call: StudioCall) throws -> (query: RecordQuery, entity: CatalogEntity) {
        let name = try call.required("entity")
        guard let entity = store.catalog.entities.first(where: { $0.name == name }) else {
            throw StudioError(404, "The store has no entity '\(name.printable)'.")
        }
        let options = ["where", "sort"].compactMap { option in
            call.text(option).map { "--\(option)=\($0)" }
        }
        let words = options + ["--", path, name]
        guard let arguments = try Arguments(words, syntax: QueryCommand().syntax) else {
            throw StudioError(400, "That is no query.")
        }
        return (try QueryCommand.query(arguments, entity, in: store.catalog.entities), entity)
    }

    private static func limit(_ call: StudioCall) throws -> Int {
        min(max(1, try call.number("limit") ?? rowsMax), rowsMax)
    }
}
