import BackstitchCore
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@testable import CloudKitWire

@Suite("What is read from JSON", .budgeted)
struct ReadingTests {
    private func field(_ json: String) throws -> WireField {
        try WireField(json: JSONObject(body: Array(json.utf8)), name: "f")
    }

    @Test("untagged values have the type that their form tells")
    func untagged() throws {
        #expect(try field(#"{"value":"x"}"#).value == .string("x"))
        #expect(try field(#"{"value":9007199254740993}"#).value == .int64(9_007_199_254_740_993))
        #expect(try field(#"{"value":true}"#).value == .int64(1))
        #expect(try field(#"{"value":1.5}"#).value == .double(1.5))
        #expect(try field(#"{"value":1e300}"#).value == .double(1e300))
        #expect(
            try field(#"{"value":[1,2.5]}"#).value
                == .list([.double(1), .double(2.5)], of: .double)
        )
        #expect(try field(#"{"value":[]}"#).value == .list([], of: nil))
        #expect(
            try field(#"{"value":{"recordName":"r","action":"NONE"}}"#).value
                == .reference(ServiceReference(recordName: "r", action: .none)))
        #expect(try field(#"{"value":null}"#).value == nil)
        #expect(try field("{}").value == nil)
    }

    @Test("numbers as text count where the type is one of numbers")
    func numbersAsText() throws {
        #expect(try field(#"{"value":"-5","type":"INT64"}"#).value == .int64(-5))
        #expect(try field(#"{"value":"2.5","type":"DOUBLE"}"#).value == .double(2.5))
        #expect(
            try field(#"{"value":["7"],"type":"TIMESTAMP_LIST"}"#).value
                == .list([.timestamp(milliseconds: 7)], of: .timestamp))
    }

    @Test(
        "a number with a fraction or an exponent is whole if its value is",
        arguments: [
            ("5.0", 5), ("-1.50e1", -15), ("1e18", 1_000_000_000_000_000_000), ("1e19", nil),
            ("15e-1", nil), ("9223372036854775807.0", .max), ("-9223372036854775808e0", .min),
            ("0e4294967296", 0), ("-0.00E-4294967296", 0), ("0e99999999999999999999", 0),
            ("0e-9223372036854775808", 0), ("1e4294967296", nil), ("1e-4294967296", nil),
            ("1e9223372036854775807", nil), ("1e-9223372036854775808", nil),
            ("1e99999999999999999999", nil),
        ] as [(String, Int64?)])
    func wholeNumbers(text: String, number: Int64?) throws {
        #expect(Int64(wholeNumber: text) == number)
        #expect(try JSONDocument(Array(text.utf8)).root.integer == number)
    }

    @Test("other names of types are understood")
    func aliases() throws {
        let sealed = try field(#"{"value":"AAE=","type":"ENCRYPTED_BYTES"}"#)
        #expect(sealed == WireField(.bytes(Data([0, 1])), isEncrypted: true))
        let asset = try field(#"{"value":{"fileChecksum":"c"},"type":"ASSET"}"#)
        #expect(asset.value?.typeName == "ASSETID")
    }

    @Test(
        "values of another type than their tag are refused",
        arguments: [
            #"{"value":1,"type":"STRING"}"#, #"{"value":1.5,"type":"INT64"}"#,
            #"{"value":9223372036854775808,"type":"INT64"}"#,
            #"{"value":1.5,"type":"TIMESTAMP"}"#, #"{"value":"x","type":"TIMESTAMP"}"#,
            #"{"value":1e999,"type":"DOUBLE"}"#, #"{"value":"nan","type":"DOUBLE"}"#,
            #"{"value":"%%","type":"BYTES"}"#, #"{"value":{},"type":"REFERENCE"}"#,
            #"{"value":{"latitude":91,"longitude":0},"type":"LOCATION"}"#,
            #"{"value":"x","type":"STRING_LIST"}"#, #"{"value":["x",1],"type":"STRING_LIST"}"#,
            #"{"value":[["x"]],"type":"STRING_LIST"}"#, #"{"value":{"other":1}}"#,
            #"{"value":[null]}"#, #"{"value":1,"type":7}"#,
        ])
    func mismatches(json: String) {
        #expect(throws: WireFormatError.self) { try field(json) }
    }

    @Test(
        "bodies that are no strict JSON objects are refused",
        arguments: [
            "[]", "null", "{", #"{"zones":[],}"#, #"{"zones":[],"zones":[]}"#, "{} {}",
            #"{"zones":{}}"#, #"{"zones":[1]}"#, "{}", "\u{FEFF}{\"zones\":[]}",
            #"{"zones":[{"zoneName":5}]}"#,
        ])
    func badBodies(text: String) {
        #expect(throws: WireFormatError.self) { try LookupZonesRequest(body: Array(text.utf8)) }
    }

    @Test("UTF-16 and nesting without end are refused")
    func hostileBodies() {
        let utf16 = Array(Data(#"{"zones":[]}"#.data(using: .utf16LittleEndian) ?? Data()))
        #expect(throws: WireFormatError.self) { try LookupZonesRequest(body: utf16) }
        let deep = String(repeating: "[", count: 1_000_000)
        #expect(throws: WireFormatError.self) {
            try LookupZonesRequest(body: Array(("{\"x\":" + deep).utf8))
        }
    }

    @Test("unknown keys, codes and types don't matter")
    func tolerance() throws {
        let body = #"""
            {"uuid":"u","records":[{"recordName":"a","serverErrorCode":"NEW_CODE","x":[{}]},
            {"recordName":"b","recordType":"T","fields":{"f":{"value":{"y":1},"type":"NEW","z":2}},
            "pluginFields":{},"stableUrl":{"routingKey":"k"}}]}
            """#
        let response = try RecordsResponse(body: Array(body.utf8))
        guard case .failure(.record("a"), let error) = response.records[0] else {
            Issue.record("The first item is no failure.")
            return
        }
        #expect(error.serverErrorCode == "NEW_CODE" && error.code == nil)
        guard case .value(let record) = response.records[1] else {
            Issue.record("The second item is no record.")
            return
        }
        #expect(
            record.fields["f"]?.value == .unknown(UnknownValue(typeName: "NEW", json: #"{"y":1}"#)))
    }

    @Test("a query with IN needs a list type, as with Apple")
    func inNeedsList() {
        let body = #"""
            {"query":{"recordType":"T","filterBy":[{"fieldName":"a","comparator":"IN",
            "fieldValue":{"value":[1]}}]}}
            """#
        #expect(throws: WireFormatError.self) { try QueryRecordsRequest(body: Array(body.utf8)) }
    }

    @Test("what is asked of all zones counts for those that don't tell")
    func commonKeys() throws {
        let body = #"""
            {"zones":[{"zoneID":{"zoneName":"a"}},{"zoneID":{"zoneName":"b"},"resultsLimit":1}],
            "resultsLimit":7,"numberAsStrings":true}
            """#
        let request = try ZoneChangesRequest(body: Array(body.utf8))
        #expect(request.zones.map(\.resultsLimit) == [7, 1])
        #expect(request.zones.map(\.numbersAsStrings) == [true, true])
    }

    @Test("damaged bodies never crash the reader", arguments: 1...20 as ClosedRange<UInt64>)
    func fuzz(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let body = Array(
            #"""
            {"operations":[{"operationType":"update","record":{"recordName":"r","recordType":"T",
            "recordChangeTag":"1","fields":{"a":{"value":[1,2],"type":"INT64_LIST"},"b":{"value":
            {"latitude":1.5,"longitude":-2e1},"type":"LOCATION"},"c":{"value":"AA==","type":
            "BYTES"}}}}],"zoneID":{"zoneName":"z"},"atomic":true,"query":{"recordType":"T"},
            "zones":[{"zoneID":{"zoneName":"z"}}],"records":[{"recordName":"\u00e4\ud83d\ude42"}]}
            """#.utf8)
        for _ in 0..<100 {
            var damaged = body
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0..<damaged.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: damaged[index] = UInt8.random(in: 0...255, using: &random)
                case 1: damaged.remove(at: index)
                case 2: damaged.insert(damaged[index], at: index)
                default: damaged.removeSubrange(index..<min(index + 9, damaged.count))
                }
            }
            readAll(damaged)
        }
    }

    /// Reads bytes as each kind of body; what is read is written and read again.
    private func readAll(_ bytes: [UInt8]) {
        func check<Body: WireBody & Equatable>(_ type: Body.Type) {
            guard let body = try? Body(body: bytes) else { return }
            #expect((try? Body(body: body.body())) == body)
        }
        check(ModifyRecordsRequest.self)
        check(QueryRecordsRequest.self)
        check(LookupRecordsRequest.self)
        check(ZoneChangesRequest.self)
        check(RecordsResponse.self)
        check(ZonesResponse.self)
    }
}
