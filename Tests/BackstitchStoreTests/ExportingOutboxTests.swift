import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore
@testable import BackstitchSync

@Suite(.budgeted) struct ExportingOutboxTests {
    @Test func `a floor of the store's own zone hides no edit of another`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await store.addZone()
        try await store.write { try $0.save(Department(id: .elsewhere("e"), name: "E")) }
        try await store.write { try $0.save(Department(id: "d", name: "D")) }
        try await store.acknowledgeAll(tag: "t")
        try await store.withLogWriter { try $0.marks.setOutboxFloor($0.head) }
        for lines in [try store.exported(), try store.exportedByLog()] {
            #expect(lines.map { $0.contains(#""recordName":"e""#) } == [true])
        }
    }

    @Test func `an insert and the edits after it are one create`() throws {
        let store = try Store.inMemory(schema: .all)
        try store.write { try $0.save(Department(id: "d", name: "Old", budget: 1)) }
        try store.write { try $0.save(Department(id: "e", name: "Other")) }
        try store.write { try $0.save(Department(id: "d", name: "New")) }
        #expect(
            try store.exported() == [
                #"{"operationType":"create","record":{"recordName":"e","recordType":"Department","#
                    + #""fields":{"name":{"value":"Other"}}}}"#,
                #"{"operationType":"create","record":{"recordName":"d","recordType":"Department","#
                    + #""fields":{"name":{"value":"New"}}}}"#,
            ])
    }

    @Test(arguments: [
        "", "plain", "a \"quote\" and a \\", "line\nand tab\t", "\u{0}\u{1F}\u{7F}",
        "Zoë, \u{1F9F5} and \u{2028}", "é\"\u{8}é", "ééééééééé\"éééééééé\u{1}éééé",
    ])
    func `text is escaped so that it reads back as it was`(text: String) throws {
        let store = try Store.inMemory(schema: .all)
        try store.write { try $0.save(Department(id: "d", name: text)) }
        let line = try #require(try store.exportedObjects().first)
        #expect(line.fields["name"] as? String == text)
    }

    /// Long texts are looked at eight bytes at a time.
    @Test func `a character that is escaped is found wherever it stands`() throws {
        let store = try Store.inMemory(schema: .all)
        let texts = (1...20).flatMap { count in
            (0..<count).flatMap { at in
                ["\"", "\\", "\u{1F}", "\u{80}", "\u{7F}", " "].map { character in
                    String(repeating: "x", count: at) + character
                        + String(repeating: "!", count: count - at - 1)
                }
            }
        }
        try store.write { tx in
            for (number, text) in texts.enumerated() {
                try tx.save(Department(id: .init("d\(number)"), name: text))
            }
        }
        #expect(try store.exportedObjects().map { $0.fields["name"] as? String } == texts)
    }

    @Test(arguments: [Int.max, .min, 0, -1, 9, 10, 99, 100, 1_000_000_007, .max - 1])
    func `whole numbers are spelled in full`(number: Int) throws {
        let store = try Store.inMemory(schema: .all)
        try store.write { try $0.save(Department(id: "d", name: "", budget: number)) }
        #expect(try store.exported()[0].contains("\"budget\":{\"value\":\(number)}"))
    }

    @Test func `every type has the service's form`() throws {
        let store = try Store.inMemory(schema: .all)
        var all = Everything(id: .init("x"))
        all.bool = true
        all.int = -9_007_199_254_740_993
        all.int64 = .min
        all.float = 0.5
        all.double = -1e300
        all.decimal = 12.5
        all.date = Date(timeIntervalSince1970: 1.5)
        all.data = Data([0, 255])
        all.uuid = UUID(uuidString: "0123ABCD-4567-89EF-0123-456789ABCDEF")
        all.url = URL(string: "https://example.org/a?b")
        all.reference = Node.ID("0123ABCD-4567-89EF-0123-456789ABCDEF")
        let saved = all
        try store.write { try $0.save(saved) }
        let line = try #require(try store.exported().first)
        for part in [
            #""bool":{"value":1}"#, #""int":{"value":-9007199254740993}"#,
            #""int64":{"value":-9223372036854775808}"#, #""float":{"value":0.5}"#,
            #""double":{"value":-1e+300}"#, #""decimal":{"value":12.5}"#,
            #""date":{"value":1500}"#, #""data":{"value":"AP8="}"#,
            #""uuid":{"value":"0123ABCD-4567-89EF-0123-456789ABCDEF"}"#,
            #""url":{"value":"https://example.org/a?b"}"#,
            #""reference":{"value":{"recordName":"0123ABCD-4567-89EF-0123-456789ABCDEF","#
                + #""action":"NONE"}}"#,
        ] {
            #expect(line.contains(part), "\(part) is not in \(line)")
        }
    }

    @Test func `synced records are updated and deleted by their change tags`() async throws {
        let store = try Store.inMemory(schema: .all)
        for name in ["a", "b", "c", "d"] {
            try await store.write { _ = try $0.save(Department(id: .init(name), name: name)) }
        }
        try await store.acknowledgeAll(tag: "7\"")
        #expect(try store.exported().isEmpty)
        try await store.write { tx in
            try tx.save(Department(id: "a", name: "edited", budget: 3))
            try tx.delete(Department.ID("b"))
            // There and back is nothing.
            try tx.save(Department(id: "c", name: "edited"))
            try tx.save(Department(id: "c", name: "c"))
        }
        #expect(
            try store.exported() == [
                #"{"operationType":"update","record":{"recordName":"a","recordType":"Department","#
                    + #""recordChangeTag":"7\"","#
                    + #""fields":{"name":{"value":"edited"},"budget":{"value":3}}}}"#,
                #"{"operationType":"delete","record":{"recordName":"b","recordChangeTag":"7\""}}"#,
            ])
        try await store.write { _ = try $0.save(Department(id: "a", name: "a")) }
        #expect(try store.exportedObjects().map(\.name) == ["b"])
    }

    @Test func `a parked record is left out, and so is one that came and went`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await store.write { tx in
            try tx.save(Department(id: "parked", name: "p"))
            try tx.save(Department(id: "kept", name: "k"))
            try tx.save(Department(id: "gone", name: "g"))
            try tx.delete(Department.ID("gone"))
        }
        try await store.withLogWriter { context in
            let outbox = try OutboxFolder(context.reader).fold(recordsMax: 10)
            for change in outbox.changes where change.key.name == .text("parked") {
                try context.marks.park(
                    change.entity, change.key, through: change.through, reason: "no")
            }
        }
        #expect(try store.exportedObjects().map(\.name) == ["kept"])
    }

    @Test func `many records come in parts of whole lines`() throws {
        let store = try Store.inMemory(schema: .all)
        let text = String(repeating: "x", count: 500)
        try store.write { tx in
            for number in 0..<1_000 {
                try tx.save(Department(id: .init("d\(number)"), name: text))
            }
        }
        var parts: [[UInt8]] = []
        let count = try store.exportOutbox { parts.append($0) }
        #expect(count == 1_000)
        #expect(parts.count > 5)
        #expect(parts.allSatisfy { $0.last == UInt8(ascii: "\n") && $0.count < 62_000 })
        #expect(try store.exported().count == 1_000)
    }

    @Test func `what the closure throws ends the export, and a closed store has none`() throws {
        struct Stop: Error {}
        let store = try Store.inMemory(schema: .all)
        try store.write { try $0.save(Department(id: "d", name: "One")) }
        #expect(throws: (any Error).self) { try store.exportOutbox { _ in throw Stop() } }
        #expect(try store.exported().count == 1)
        store.close()
        #expect(throws: StoreError.self) { try store.exportOutbox { _ in } }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `the lines are the fold of the outbox`(seed: UInt64) async throws {
        let store = try Store.inMemory(schema: .all)
        var model = StoreModel(seed: seed)
        for round in 0..<15 {
            let steps = model.steps()
            try await store.write { transaction in
                for step in steps { try step.perform(transaction) }
            }
            model.perform(steps)
            let comment = Comment(rawValue: "seed \(seed), round \(round)")
            let pending = try store.read {
                try OutboxFolder($0.reader).fold(recordsMax: .max).changes
            }
            .filter { $0.push != .nothing }
            let lines = try store.exportedObjects()
            #expect(lines.count == pending.count, comment)
            #expect(try store.exported() == store.exportedByLog(), comment)
            let byName = Dictionary(uniqueKeysWithValues: lines.map { ($0.name, $0) })
            for change in pending {
                let line = try #require(byName["\(change.key.name)"], comment)
                #expect(line.operation == change.operation, comment)
                #expect(line.fields.count == change.fieldCount, comment)
                #expect(line.tag == change.changeTag, comment)
            }
            let isAcknowledged = Bool.random(using: &model.generator)
            if isAcknowledged, let some = pending.randomElement(using: &model.generator) {
                try await store.acknowledge([some], tag: "r\(round)")
            }
        }
    }
}

/// A line of the export.
private struct ExportedLine {
    let operation: String
    let name: String
    let tag: String
    let fields: [String: Any]

    init(_ line: String) throws {
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        let record = try #require(object["record"] as? [String: Any])
        operation = try #require(object["operationType"] as? String)
        name = try #require(record["recordName"] as? String)
        tag = record["recordChangeTag"] as? String ?? ""
        let fields = record["fields"] as? [String: [String: Any]] ?? [:]
        self.fields = fields.compactMapValues { $0["value"] }
    }
}

extension PendingChange {
    fileprivate var operation: String {
        switch push {
        case .nothing: "none"
        case .create: "create"
        case .update: "update"
        case .delete: "delete"
        }
    }

    fileprivate var fieldCount: Int {
        switch push {
        case .nothing, .delete: 0
        case .create(let fields), .update(let fields): fields.count
        }
    }
}

extension Store {
    /// The lines of the export.
    fileprivate func exported() throws -> [String] {
        var bytes: [UInt8] = []
        let count = try exportOutbox { bytes.append(contentsOf: $0) }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        #expect(lines.count == count)
        return lines
    }

    /// The lines as the log has them, without a look at all rows.
    fileprivate func exportedByLog() throws -> [String] {
        var bytes: [UInt8] = []
        try read { transaction in
            let export = OutboxExport(reader: transaction.reader, readsRows: false)
            _ = try export.exportPending { bytes.append(contentsOf: $0) }
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    fileprivate func exportedObjects() throws -> [ExportedLine] {
        try exported().map(ExportedLine.init)
    }

    fileprivate func acknowledgeAll(tag: String) async throws {
        let pending = try read { try OutboxFolder($0.reader).fold(recordsMax: .max).changes }
        try await acknowledge(pending, tag: tag)
    }

    fileprivate func acknowledge(_ changes: [PendingChange], tag: String) async throws {
        try await withLogWriter { context in
            for change in changes {
                let version = ServerVersion(changeTag: tag, modifiedMilliseconds: 1)
                try context.marks.acknowledge(
                    change.entity, change.key, through: change.through,
                    version: change.push == .delete ? nil : version)
            }
        }
    }
}
