import Backstitch
import BackstitchCore
import BackstitchSync
import LMDB

@testable import BackstitchStore

/// A random history of a store: edits, and what a service may say of them. The same seed gives the
/// same one.
final class CompactionHistory {
    let store: Store
    private var model: StoreModel
    private let clock: ManualClock

    /// - Parameter path: Where the store is; nil keeps nothing on disk.
    init(
        seed: UInt64, at path: String? = nil, projections: [any RecordProjection] = []
    ) throws {
        let clock = ManualClock()
        self.clock = clock
        let configuration = StoreConfiguration(
            projections: projections, clock: clock)
        if let path {
            store = try Store(at: path, schema: .all, configuration: configuration)
        } else {
            store = try Store.inMemory(schema: .all, configuration: configuration)
        }
        model = StoreModel(seed: seed)
    }

    /// A history of another store that goes on as this one would.
    private init(_ store: Store, _ model: StoreModel, _ clock: ManualClock) {
        self.store = store
        self.model = model
        self.clock = clock
    }

    private func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &model.generator) }

    /// Edits and replies, so many times.
    func run(_ rounds: Int) async throws {
        for _ in 0..<rounds {
            clock.set(clock.milliseconds + Int64(below(10_000)))
            let steps = model.steps()
            try await store.write { transaction in
                for step in steps { try step.perform(transaction) }
            }
            model.perform(steps)
            try await reply(seed: model.generator.next(), refusesNone: false)
            try await raiseFloor()
        }
    }

    /// Lets the service take everything that is not parked, and leaves a few edits behind it.
    func settle() async throws {
        for _ in 0..<3 { try await reply(seed: model.generator.next(), refusesNone: true) }
        try await raiseFloor()
        let steps = model.steps() + [.saveProject(Project(id: .init("last"), title: "last"))]
        try await store.write { transaction in
            for step in steps { try step.perform(transaction) }
        }
        model.perform(steps)
    }

    private func reply(seed: UInt64, refusesNone: Bool) async throws {
        try await store.withLogWriter { context in
            var random = SeededGenerator(seed: seed)
            for change in try context.reader.sortedPushes() {
                let choice = refusesNone ? 0 : Int.random(in: 0..<12, using: &random)
                try context.answer(change, choice)
            }
            switch Int.random(in: 0..<24, using: &random) {
            case 0: try ZoneLoss(context, in: 0).forgetService()
            case 1, 2:
                for record in try context.reader.parkedPlaces() {
                    _ = try context.marks.release(record.entity, record.key)
                }
            case 3:
                for record in try context.reader.parkedPlaces() {
                    _ = try Discard(context).discardParked(record.entity, record.key)
                }
            default: break
            }
        }
    }

    private func raiseFloor() async throws {
        try await store.withLogWriter { context in
            let outbox = try OutboxFolder(context.reader).fold(recordsMax: .max)
            if outbox.changes.isEmpty { try context.marks.setOutboxFloor(outbox.through) }
        }
    }

    /// The same history on a copy of the store.
    func copy() throws -> CompactionHistory {
        let clock = ManualClock(milliseconds: clock.milliseconds)
        let copy = try Store.inMemory(
            schema: .all, configuration: StoreConfiguration(clock: clock))
        let content = try store.content()
        let names = [MetaName.catalog, MetaName.catalogCopy]
        let catalog = (names + names.map(MetaChecksum.name)).map { Array($0.utf8) }
        try copy.environment.tamper { access, databases in
            for (name, entries) in content {
                for (key, value) in entries where !catalog.contains(key) {
                    try key.withUnsafeBytes { key in
                        try value.withUnsafeBytes { value in
                            switch name {
                            case "log": try access.put(key, value, in: databases.log)
                            case "meta": try access.put(key, value, in: databases.meta)
                            default: try databases.put(key, value, access)
                            }
                        }
                    }
                }
            }
        }
        return CompactionHistory(copy, model, clock)
    }
}

extension LogWriter {
    /// Does what a service says to a push.
    fileprivate func answer(_ change: PendingChange, _ choice: Int) throws {
        let version = ServerVersion(
            changeTag: "t\(head)", modifiedMilliseconds: 1_000_000 + Int64(head))
        let name = change.key.name.description
        switch choice {
        case 0..<5:
            try marks.acknowledge(
                change.entity, change.key, through: change.through,
                version: change.push == .delete ? nil : version)
        case 5, 6:
            try marks.park(change.entity, change.key, through: change.through, reason: "refused")
        case 7, 8:
            // An employee without its e-mail address can't be read.
            _ = try merge(
                ServiceRecord(
                    recordName: name, recordType: change.entityName, changeTag: version.changeTag,
                    modifiedMilliseconds: version.modifiedMilliseconds,
                    fields: ["name": .string("server \(head)"), "title": .string("title")]),
                policy: choice == 7 ? .serverWins : .clientWins)
        case 9:
            _ = try mergeAbsent(change.key, recordType: change.entityName, policy: .serverWins)
        default: break
        }
    }
}

extension TableReader {
    /// What is to be pushed, in the order of the keys.
    func sortedPushes() throws -> [PendingChange] {
        try OutboxFolder(self).fold(recordsMax: .max).changes.sorted {
            ($0.entity.rawValue, $0.key.description) < ($1.entity.rawValue, $1.key.description)
        }
    }

    fileprivate func parkedPlaces() throws -> [StoredRecordID] {
        try ParkedRecord.all(self).compactMap { record in
            guard let table = catalog.table(named: record.record.entity) else { return nil }
            return StoredRecordID(entity: table.number, key: record.record.key)
        }
    }
}

extension Store {
    typealias Entries = [(key: [UInt8], value: [UInt8])]

    /// The entries of each database; rows are among the tables, by the keys of ``TableKey``.
    func content() throws -> [String: Entries] {
        try environment.read { transaction in
            var content: [String: Entries] = [:]
            let access = transaction.access
            var parts: [(String, [UInt8], Database)] = [("log", [], databases.log)]
            for entity in access.entitiesWithRows {
                guard let rows = access.rows(of: entity) else { continue }
                parts.append(("tables", TableKey.rowPrefix(entity), rows))
            }
            parts += [("tables", [], databases.tables), ("meta", [], databases.meta)]
            for (name, prefix, database) in parts {
                try access.withCursor(in: database) { cursor in
                    while try cursor.next() {
                        content[name, default: []].append(
                            (prefix + Array(cursor.key), Array(cursor.value)))
                    }
                }
            }
            return content
        }
    }

    /// The tables, byte for byte.
    func tableImage() throws -> [[UInt8]] {
        try content()["tables"].map { $0.flatMap { [$0.key, $0.value] } } ?? []
    }

    func pushes() throws -> [PendingChange] { try read { try $0.reader.sortedPushes() } }

    /// The operations of the log in short.
    func kinds() throws -> [String] { try operations { "\($0.sequence) \($0.kind)" } }
}
