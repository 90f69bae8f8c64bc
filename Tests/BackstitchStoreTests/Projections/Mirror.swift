import Backstitch
import BackstitchCore
import LMDB
import Testing
import Threading

@testable import BackstitchStore

/// Keeps every record in its view, and insists that each change begins where the last one ended.
struct Mirror: RecordProjection {
    struct Contradiction: Error {}

    static let attributes: [String: [String]] = [
        "Department": ["name", "budget"], "Employee": ["name", "email", "age", "department"],
        "Project": ["title", "lead"], "Badge": ["number", "employee", "department"],
        "Node": ["parent", "friend"],
    ]

    var name = "mirror"
    var version = 0
    var mode = ProjectionMode.inline
    var entities = ProjectedEntities.named(Set(attributes.keys))
    var needsWholeLog = false
    /// Throws for a change, to see what then happens; after it has written.
    var refuses: @Sendable (_ sequence: UInt64) throws -> Void = { _ in }

    func apply(_ change: borrowing ProjectedChange, to view: borrowing ViewEditor) throws {
        let key = ViewKey(.string(change.entity), .reference(change.record))
        let stored = try view.value(for: key).map { String(decoding: $0, as: UTF8.self) }
        let attributes = Self.attributes[change.entity] ?? []
        let before = try attributes.map { try change.before($0) }
        let after = try attributes.map { try change.after($0) }
        guard stored == (change.kind == .insert ? nil : Self.text(before)) else {
            throw Contradiction()
        }
        if change.kind == .delete {
            try view.delete(key)
        } else {
            try view.put(Array(Self.text(after).utf8), for: key)
        }
        try refuses(change.sequence)
    }

    static func text(_ values: [RecordValue]) -> String {
        values.map { "\($0)" }.joined(separator: "|")
    }
}

/// Writes the kind and the record of every change, and so depends on the operations.
struct Journal: RecordProjection {
    var name = "journal"
    var entities = ProjectedEntities.all
    var mode = ProjectionMode.inline
    var needsWholeLog = true

    func apply(_ change: borrowing ProjectedChange, to view: borrowing ViewEditor) throws {
        var text = "\(change.kind) \(change.entity) \(change.record) \(change.origin)"
        if change.isBaseline { text += " baseline" }
        try view.put(Array(text.utf8), for: ViewKey(.int64(Int64(change.sequence))))
    }
}

extension ViewReading where Self: ~Copyable {
    /// All entries, as text.
    func texts() throws -> [String] {
        var texts: [String] = []
        try forEach { _, value in
            texts.append(String(decoding: value, as: UTF8.self))
            return true
        }
        return texts
    }
}

extension Store {
    /// Opens a store in memory with projections.
    static func projecting(
        _ projections: any RecordProjection..., schema: StoreSchema = .all
    ) throws -> Store {
        try Store.inMemory(
            schema: schema, configuration: StoreConfiguration(projections: projections))
    }

    /// Ends the work in the background, so that only the test moves views.
    func stopProjections() async {
        let work = projectionWork.withLock { work in
            work?.cancel()
            return work
        }
        await work?.value
    }

    /// Checks that the view has exactly the records of the tables.
    func expect(
        _ mirror: Mirror, _ comment: Comment? = nil, _ location: SourceLocation = #_sourceLocation
    )
        throws
    {
        try read { transaction in
            var expected: [ViewKey: String] = [:]
            for (entity, attributes) in Mirror.attributes {
                guard transaction.reader.catalog.table(named: entity) != nil else { continue }
                try transaction.forEachRecord(of: entity) { record in
                    let values = attributes.map { record.values[$0] ?? .null }
                    expected[ViewKey(.string(entity), .reference(record.id.key))] = Mirror.text(
                        values)
                    return true
                }
            }
            var found: [ViewKey: String] = [:]
            let view = try transaction.view(of: mirror)
            try view.forEach { key, value in
                found[key] = String(decoding: value, as: UTF8.self)
                return true
            }
            #expect(found == expected, comment, sourceLocation: location)
            #expect(
                try view.checkpoint == transaction.lastSequence, comment, sourceLocation: location)
        }
        #expect(try verify().problems == [], comment, sourceLocation: location)
    }

    func status(_ name: String = "mirror") throws -> ProjectionStatus? {
        try projections().first { $0.name == name }
    }
}
