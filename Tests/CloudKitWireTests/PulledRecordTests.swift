import BackstitchCore
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@testable import CloudKitWire

/// Records whose fields are packed as they are read and written as they are packed, against those whose fields
/// are held by name. `JSON_ROUNDS` says how many; `JSON_SEED` where to begin.
@Suite(.budgeted) struct PulledRecordTests {
    private static let seeds: Range<Int> = {
        let first = Load.count("JSON_SEED", else: 1)
        return first..<(first + Load.count("JSON_ROUNDS", else: 5_000))
    }()

    @Test func `a record that is read for a client has what one has that is read whole`() {
        var readCount = 0
        for seed in Self.seeds {
            var texts = RecordTexts(seed: UInt64(seed))
            let body = texts.record()
            let whole = Result { () throws(WireFormatError) in try WireRecord(body: body) }
            let pulled = Result { () throws(WireFormatError) in
                let record = try PulledRecord(body: body)
                if let flaw = record.flaw { throw flaw }
                return record
            }
            if case .success = whole { readCount += 1 }
            guard pulled.map(Parts.init) != whole.map(Parts.init) else { continue }
            let text = String(decoding: body, as: UTF8.self)
            Issue.record("JSON_SEED=\(seed): \(text), \(pulled), \(whole)")
            return
        }
        #expect(readCount > Self.seeds.count / 5, "\(readCount)")
    }

    @Test func `a modification is written as the operation with the same record`() {
        for seed in Self.seeds {
            var texts = RecordTexts(seed: UInt64(seed))
            guard let record = try? WireRecord(body: texts.record()) else { continue }
            let parts = Parts(record)
            let name = record.recordName ?? "r"
            var sent = WireRecord(recordName: name, recordType: "T")
            sent.fields = record.fields.compactMapValues { field in
                field.value.map { WireField($0) }
            }
            sent.recordChangeTag = "1"
            // Packed fields are in the order of the bytes of their names, which is another one for a few.
            guard parts.fields.keys == sent.fields.keys.sorted() else { continue }
            let update = RecordModification.update(
                recordName: name, recordType: "T", changeTag: "1", fields: parts.fields)
            for asText in [false, true] {
                let body = update.body(numbersAsStrings: asText)
                let expected = WireRecordOperation(.update, sent).body(numbersAsStrings: asText)
                guard body != expected else { continue }
                let text = String(decoding: expected, as: UTF8.self)
                Issue.record("JSON_SEED=\(seed): \(String(decoding: body, as: UTF8.self)), \(text)")
                return
            }
            #expect(parts.fields.countedBytes == sent.fields.byteCount, "JSON_SEED=\(seed)")
        }
    }

    @Test func `a request is written as the one with the same operations`() {
        let zone = WireZoneID("z", ownerRecordName: "_o")
        let fields: NamedFields = ["a": .string("é\n"), "n": .int64(.min), "gone": .null]
        let modifications: [RecordModification] = [
            .create(recordName: "a", recordType: "T", fields: fields),
            .update(recordName: "b", recordType: "T", changeTag: "1", fields: [:]),
            .delete(recordName: "c", changeTag: "2"),
        ]
        let options = RecordOptions(desiredKeys: [])
        let request = RecordModifications(
            modifications, zoneID: zone, isAtomic: true, options: options, syncToken: "s")
        var created = WireRecord(recordName: "a", recordType: "T")
        created.fields = [
            "a": WireField(.string("é\n")), "n": WireField(.int64(.min)), "gone": WireField(nil),
        ]
        var updated = WireRecord(recordName: "b", recordType: "T")
        updated.recordChangeTag = "1"
        var deleted = WireRecord(recordName: "c")
        deleted.recordChangeTag = "2"
        let expected = ModifyRecordsRequest(
            operations: [
                WireRecordOperation(.create, created), WireRecordOperation(.update, updated),
                WireRecordOperation(.delete, deleted),
            ], zoneID: zone, isAtomic: true, options: options, syncToken: "s")
        #expect(request.body() == expected.body())
    }
}

/// The parts of a record that a client takes.
private struct Parts: Equatable {
    let names: [String?]
    let fields: NamedFields
    let modified: Int64?
    let isDeleted: Bool

    init(_ record: PulledRecord) {
        names = [record.recordName, record.recordType, record.recordChangeTag]
        fields = record.fields
        modified = record.modified
        isDeleted = record.isDeleted
    }

    init(_ record: WireRecord) {
        names = [record.recordName, record.recordType, record.recordChangeTag]
        fields = NamedFields(
            record.fields.lazy.compactMap { name, field in
                field.value.map { (key: name, value: $0) }
            })
        modified = (record.modified ?? record.created)?.timestamp
        isDeleted = record.isDeleted
    }
}

/// Makes records as JSON; some have values that do not fit their types, and some are no records.
private struct RecordTexts {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    private mutating func chance(_ share: Double) -> Bool { generator.fraction() < share }

    private mutating func pick(_ texts: [String]) -> String {
        texts[Int.random(in: texts.indices, using: &generator)]
    }

    mutating func record() -> [UInt8] {
        var members: [String] = []
        for (name, values) in Self.members where chance(0.7) {
            members.append("\"\(name)\":\(chance(0.97) ? values[0] : pick(values))")
        }
        let fields = (0..<Int.random(in: 0...6, using: &generator)).map { index in
            "\"\(pick(Self.names))\(chance(0.95) ? "\(index)" : "")\":\(field())"
        }
        members.append("\"fields\":{\(fields.joined(separator: ","))}")
        members.shuffle(using: &generator)
        var bytes = Array("{\(members.joined(separator: ","))}".utf8)
        if chance(0.1) {
            let place = Int.random(in: bytes.indices, using: &generator)
            bytes[place] = UInt8.random(in: 0...255, using: &generator)
        }
        return bytes
    }

    private mutating func field() -> String {
        if chance(0.01) { return pick(["1", "[]", "null"]) }
        let (type, values) = Self.values[Int.random(in: Self.values.indices, using: &generator)]
        var members: [String] = []
        let value = chance(0.99) ? pick(values) : pick(Self.others)
        if chance(0.97) { members.append("\"value\":\(value)") }
        if chance(0.9) { members.append("\"type\":\(chance(0.99) ? "\"\(type)\"" : "7")") }
        if chance(0.1) { members.append("\"isEncrypted\":\(pick(["true", "false", "null"]))") }
        if chance(0.005) { members.append("\"isEncrypted\":1") }
        if chance(0.1) { members.append("\"other\":[{}]") }
        members.shuffle(using: &generator)
        return "{\(members.joined(separator: ","))}"
    }

    /// Members of a record: good values first.
    private static let members: [(String, [String])] = [
        ("recordName", [#""r\u00e9""#, "null", "5"]), ("recordType", [#""T""#, "null", "{}"]),
        ("recordChangeTag", [#""1e""#, "null", "true"]),
        ("deleted", ["false", "true", "null", "0"]),
        (
            "parent",
            [
                #"{"recordName":"p","zoneID":{"zoneName":"z"}}"#, #"{"recordName":"p"}"#, "{}",
                #"{"recordName":1}"#, #"{"recordName":"p","zoneID":{"ownerRecordName":2}}"#, "7",
            ]
        ),
        ("createShortGUID", ["true", "null", "1"]), ("shortGUID", [#""s""#, "{}"]),
        (
            "created",
            [
                #"{"timestamp":5,"userRecordName":"_u","deviceID":"d"}"#, "{}", "null",
                #"{"timestamp":"x"}"#, #"{"timestamp":1,"deviceID":2}"#, "[]",
            ]
        ),
        (
            "modified",
            [
                #"{"timestamp":"7","userRecordName":null}"#, #"{"timestamp":[]}"#, "null",
                #"{"timestamp":{}}"#, #"{"timestamp":6.5}"#,
                #"{"timestamp":6,"userRecordName":{}}"#,
            ]
        ),
        ("zoneID", [#"{"zoneName":"z","zoneType":"Z"}"#, #"{"zoneName":[]}"#, "null", #""z""#]),
        ("pluginFields", ["{}"]),
    ]

    private static let names = [
        "a", "title", #"\u0061"#, "é", "e\u{301}", #"e\u0301"#, "K", "\u{212A}", "日本", #"\"q\""#,
    ]

    private static let values: [(String, [String])] = [
        ("STRING", [#""""#, #""text""#, #""\u00e9\n\ud83d\ude42\/""#, "\"日本\"", "\"e\u{301}\""]),
        (
            "INT64",
            [
                "0", "-0", "-5", "9223372036854775807", "-9223372036854775808", "5.0", "15e-1",
                "1e3",
                "true", "false", #""12""#, #""\u0031""#, #""+7""#, #""007""#, #""""#,
                "999999999999999999",
                "1000000000000000000", "9223372036854775808", "-", "[]", "{}", #"{"a":1}"#,
            ]
        ),
        (
            "TIMESTAMP",
            ["1700000000123", #""1700000000123""#, "1.5", "1e12", "true", "[1,2]", "{}"]
        ),
        ("DOUBLE", ["0.5", "-0", "1e300", "1e999", #""2.5""#, #""nan""#, "3"]),
        ("BYTES", [#""AAE=""#, #""""#, #""%%""#, "5"]), ("ENCRYPTED_BYTES", [#""AAE=""#, "1"]),
        (
            "REFERENCE",
            [
                #"{"recordName":"r","action":"NONE"}"#, #"{"recordName":"r","action":"NEW"}"#, "{}",
                #"{"recordName":"r","zoneID":{"zoneName":"z","ownerRecordName":"o","zoneType":"t"}}"#,
            ]
        ),
        ("ASSETID", [#"{"fileChecksum":"c","size":5,"downloadURL":"u"}"#, #"{"size":[]}"#, "7"]),
        ("ASSET", [#"{"receipt":"r"}"#]),
        (
            "LOCATION",
            [
                #"{"latitude":1.5,"longitude":-2e1,"altitude":3,"timestamp":4}"#,
                #"{"latitude":91,"longitude":0}"#, #"{"latitude":{},"longitude":0}"#,
            ]
        ),
        ("STRING_LIST", [#"["a","\u0062"]"#, "[]", #"["a",1]"#, #""a""#]),
        ("INT64_LIST", ["[1,true,\"3\"]", "[1.0]", "[[1]]", "[null]"]),
        ("NEW", [#"{"y":[1.50,null,"\u00e9"]}"#, "17", "[[]]"]),
    ]

    /// Values of fields without a type.
    private static let others = ["[1,2.5]", "[]", "[[]]", "[{}]", "{}", "null", "[null]", "1.5"]
}
