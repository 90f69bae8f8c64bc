import Backstitch
import BackstitchCore
import BackstitchLog
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct TransferTests {
    private func export(
        _ store: Store, entities: [String]? = nil, after place: RecordID? = nil
    ) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try store.export(entities: entities, after: place) { bytes += $0 }
        return bytes
    }

    private func lines(_ bytes: [UInt8]) -> [[UInt8]] {
        bytes.split(separator: 0x0A).map { Array($0) }
    }

    /// Imports bytes in parts of a size.
    private func read(
        _ bytes: [UInt8], into store: Store, isStrict: Bool = false,
        addsAttributes: Bool = false, part: Int = 1000,
        problems: inout [ImportReport.Problem]
    ) async throws -> ImportReport {
        var offset = 0
        var found: [ImportReport.Problem] = []
        let report = try await store.importRecords(
            isStrict: isStrict, addsAttributes: addsAttributes,
            from: {
                guard offset < bytes.count else { return nil }
                defer { offset += part }
                return Array(bytes[offset..<min(offset + part, bytes.count)])
            }, problem: { found.append($0) })
        problems = found
        return report
    }

    private func read(
        _ text: String, into store: Store, isStrict: Bool = false
    ) async throws -> (ImportReport, [ImportReport.Problem]) {
        var problems: [ImportReport.Problem] = []
        let report = try await read(
            Array(text.utf8), into: store, isStrict: isStrict, problems: &problems)
        return (report, problems)
    }

    private func fillWithEverything(_ store: Store, seed: UInt64) throws {
        try store.write { transaction in
            var random = SeededGenerator(seed: seed)
            for number in 0..<60 {
                var record = Everything(id: EntityID("r\(number)"))
                record.string =
                    ["", "a\"\\\n", "e\u{301}é", "\u{0}😀"].randomElement(using: &random) ?? ""
                record.bool = .random(using: &random)
                record.int16 = Int16(truncatingIfNeeded: random.next())
                record.int32 = Int32(truncatingIfNeeded: random.next())
                record.int64 = Int64(bitPattern: random.next())
                record.float = .random(in: -1e30...1e30, using: &random)
                record.double = .random(in: -1e300...1e300, using: &random)
                record.decimal = Decimal(random.next()) / Decimal(random.next() >> 40 | 1)
                record.date = Date(
                    milliseconds: .random(
                        in: -1_000_000_000_000...4_000_000_000_000, using: &random))
                record.data = Bool.random(using: &random) ? Data([0, 255, UInt8(number)]) : nil
                record.uuid = Bool.random(using: &random) ? UUID() : nil
                record.url = URL(string: "https://example.org/\(number)")
                record.reference = Bool.random(using: &random) ? EntityID("n\(number)") : nil
                try transaction.save(record)
            }
            try transaction.save(Department(id: "d", name: "One"))
        }
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `what is exported is imported into an equal store`(seed: UInt64) async throws {
        let store = try Store.inMemory(schema: .all)
        try fillWithEverything(store, seed: seed)
        for name in ["a", "b"] { try await store.addZone(name) }
        // Attributes of every kind that no schema declares.
        try await store.write { transaction in
            try transaction.save(
                [
                    "name": .string("Two"),
                    "place": .location(GeoLocation(latitude: 1.5, longitude: -2)),
                    "tags": .list([.string("a"), .int64(1), .double(0.1)]),
                ], as: RecordKey(.text("e"), zone: 3), of: "Department", addsAttributes: true)
        }
        let bytes = try export(store)
        let copy = try Store.inMemory(schema: .all)
        for name in ["a", "b"] { try await copy.addZone(name) }
        var problems: [ImportReport.Problem] = []
        let report = try await read(
            bytes, into: copy, addsAttributes: true, part: 7, problems: &problems)
        #expect(problems == [], "seed \(seed)")
        #expect(report.inserted == 62)
        #expect(report.lines == 62)
        #expect(report.bytes == bytes.count)
        #expect(try export(copy) == bytes, "seed \(seed)")
        let ids = (0..<60).map { EntityID<Everything>("r\($0)") }
        for id in ids {
            let (one, other) = (
                try store.read { try $0.find(Everything.self, id) },
                try copy.read { try $0.find(Everything.self, id) }
            )
            #expect(one == other, "seed \(seed)")
        }
        try await copy.expectConsistent()

        let head = try copy.head
        let again = try await read(bytes, into: copy, addsAttributes: true, problems: &problems)
        #expect(again.unchanged == 62)
        #expect(try copy.head == head)
    }

    @Test func `an export that was cut goes on behind its last record`() throws {
        let store = try Store.inMemory(schema: .all)
        try fillWithEverything(store, seed: 9)
        let whole = try export(store)
        for count in [1, 2, 30, 60, 61] {
            let first = lines(whole).prefix(count)
            let place = try #require(first.last.flatMap { RecordID(exportLine: $0) })
            let rest = try export(store, after: place)
            #expect(first.flatMap { $0 + [0x0A] } + rest == whole)
        }
        #expect(lines(try export(store, entities: ["Department"])).count == 1)
        #expect(failure { _ = try export(store, entities: ["X"]) }?.code == .unknownEntity)
        #expect(RecordID(exportLine: Array("{}".utf8)) == nil)
    }

    @Test func `an import that was cut can be run again`() async throws {
        let store = try Store.inMemory(schema: .all)
        try fillWithEverything(store, seed: 3)
        let bytes = try export(store)
        let copy = try Store.inMemory(schema: .all)
        var problems: [ImportReport.Problem] = []
        let first = try await read(
            Array(bytes.prefix(bytes.count / 2)), into: copy, problems: &problems)
        #expect(problems.count == 1)
        let second = try await read(bytes, into: copy, problems: &problems)
        #expect(second.unchanged == first.inserted)
        #expect(second.inserted + second.unchanged == 61)
        #expect(try export(copy) == bytes)
    }

    @Test func `every bad line is told and the good ones are kept`() async throws {
        let store = try Store.inMemory(schema: .all)
        func line(_ entity: String, _ name: String, _ values: String) -> String {
            "{\"entity\":\"\(entity)\",\"record\":\"\(name)\",\"values\":{\(values)}}"
        }
        let good = "\"name\":{\"string\":\"x\"}"
        let text = [
            line("Department", "a", good),
            "nonsense",
            line("Nothing", "b", good),
            line("Department", "", good),
            line("Department", "_b", good),
            line("Department", "c", ""),
            line("Department", "d", good + ",\"budget\":{\"string\":\"1\"}"),
            line("Department", "e", good + ",\"bugdet\":{\"int64\":1}"),
            line("Everything", "f", "\"int16\":{\"int64\":32768}"),
            line("Everything", "g", "\"float\":{\"double\":1e300}"),
            line("Everything", "h", "\"date\":{\"date\":1000000000000000}"),
            line("Everything", "i", "\"reference\":{\"reference\":\"\"}"),
            "",
            line("Everything", "a", ""),
            line("Department", "z", good),
        ].joined(separator: "\n")
        let (report, problems) = try await read(text, into: store)
        #expect(report.inserted == 2)
        #expect(report.failed == problems.count)
        #expect(report.lines == 15)
        #expect(problems.map(\.line).sorted() == Array(2...12) + [14])
        let reasons = Dictionary(uniqueKeysWithValues: problems.map { ($0.line, $0.reason) })
        #expect(reasons[3]?.contains("no entity 'Nothing'") == true)
        #expect(reasons[6]?.contains("needs one") == true)
        #expect(reasons[7]?.contains("type string and not int64") == true)
        #expect(reasons[8]?.contains("has no attribute bugdet") == true)
        #expect(reasons[9]?.contains("out of the range of int16") == true)
        #expect(reasons[14]?.contains("names are unique") == true)
        #expect(try store.head == 2)
        try await store.expectConsistent()
    }

    @Test func `a line that is too large for a field is told`() async throws {
        let store = try Store.inMemory(schema: .all)
        let long = String(repeating: "x", count: _FieldWriter.fieldBytesMax + 1)
        let (report, problems) = try await read(
            "{\"entity\":\"Department\",\"record\":\"a\",\"values\":{\"name\":{\"string\":\"\(long)\"}}}",
            into: store)
        #expect(report.failed == 1)
        #expect(problems.first?.reason.contains("Department.name can't be saved") == true)
    }

    @Test(arguments: ["nonsense", "{\"entity\":\"X\",\"record\":\"a\",\"values\":{}}"])
    func `a strict import keeps nothing of the transaction of a bad line`(bad: String) async throws
    {
        let store = try Store.inMemory(schema: .all)
        let good =
            "{\"entity\":\"Department\",\"record\":\"a\",\"values\":{\"name\":{\"string\":\"x\"}}}"
        let (report, problems) = try await read(
            good + "\n" + bad + "\n" + good, into: store,
            isStrict: true)
        #expect(report.isStopped)
        #expect(report.inserted == 0)
        #expect(problems.map(\.line) == [2])
        #expect(try store.head == 0)
    }

    @Test func `a save by name does what a save of the type does`() throws {
        let store = try Store.inMemory(schema: .all)
        let key = RecordKey(.text("d"))
        func save(_ values: [String: RecordValue]) throws -> WriteTransaction.SaveOutcome {
            try store.write { try $0.save(values, as: key, of: "Department") }
        }
        #expect(try save(["name": .string("One"), "budget": .int64(1)]) == .inserted)
        #expect(try save(["name": .string("One"), "budget": .int64(1)]) == .unchanged)
        #expect(try save(["name": .string("One")]) == .updated)
        #expect(
            try store.read { try $0.find(Department.self, "d") } == Department(id: "d", name: "One")
        )
        #expect(try store.head == 2)
        #expect(failure { _ = try save([:]) }?.code == .invalidValue)
        #expect(try store.head == 2)
    }

    @Test func `new attributes of a record are numbered at once, as far as there is room`()
        throws
    {
        let store = try Store.inMemory(schema: .all)
        let known = try #require(store.catalogSnapshot.table(named: "Department")).attributes.count
        let room = Catalog.undeclaredMax - known
        func values(_ count: Int) -> [String: RecordValue] {
            var values: [String: RecordValue] = ["name": .string("One")]
            for number in 0..<count { values["new\(number)"] = .int64(Int64(number)) }
            return values
        }
        let (one, more) = (values(room), values(room + 1))
        let key = RecordKey(.text("d"))
        let error = failure {
            try store.write {
                _ = try $0.save(more, as: key, of: "Department", addsAttributes: true)
            }
        }
        #expect(error?.code == .invalidValue)
        #expect(error?.message.contains("there is room for \(room) more") == true)
        #expect(store.catalogSnapshot.table(named: "Department")?.attributes.count == known)
        let changes = try store.write { transaction in
            let before = transaction.log.catalogChanges.count
            try transaction.save(one, as: key, of: "Department", addsAttributes: true)
            return transaction.log.catalogChanges.count - before
        }
        #expect(changes == 1)
        let record = try #require(try store.read { try $0.record("d", of: "Department") })
        #expect(record.values == one)
        #expect(try store.verify().problems == [])
    }

    @Test func `a byte order mark is told, and the other lines are imported`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await store.write { transaction in
            for name in ["a", "b", "c"] {
                try transaction.save(Department(id: .init(name), name: name))
            }
        }
        let copy = try Store.inMemory(schema: .all)
        var problems: [ImportReport.Problem] = []
        let report = try await read(
            [0xEF, 0xBB, 0xBF] + export(store), into: copy, problems: &problems)
        #expect(report.inserted == 2)
        #expect(problems.map(\.line) == [1])
    }

    /// They end a line for some programs, and not in JSON.
    @Test func `separators of lines within a text end no line`() async throws {
        let store = try Store.inMemory(schema: .all)
        let name = "a\u{2028}b\u{2029}c\u{85}d\u{B}e\u{C}f\r\ng"
        try await store.write { try $0.save(Department(id: "d", name: name)) }
        let bytes = try export(store)
        #expect(lines(bytes).count == 1)
        let copy = try Store.inMemory(schema: .all)
        var problems: [ImportReport.Problem] = []
        _ = try await read(bytes, into: copy, problems: &problems)
        #expect(problems == [])
        #expect(try copy.read { try $0.find(Department.self, "d") }?.name == name)
    }
}
