import BackstitchCore
import CloudKitWire
import Testing

@testable import BackstitchHubCore

extension ConformanceCheck {
    static let records: [ConformanceCheck] =
        keptValues.map { kept($0.sent, $0.kept) } + wrongValues.map(refused) + operations

    /// Values, and what they are read as.
    private static let keptValues: [(sent: String, kept: String)] = [
        (#"{"value":"a"}"#, #"{"value":"a","type":"STRING"}"#),
        (#"{"value":5}"#, #"{"value":5,"type":"INT64"}"#),
        (#"{"value":5.0,"type":"INT64"}"#, #"{"value":5,"type":"INT64"}"#),
        (#"{"value":1e2,"type":"INT64"}"#, #"{"value":100,"type":"INT64"}"#),
        (#"{"value":-1.50e1,"type":"INT64"}"#, #"{"value":-15,"type":"INT64"}"#),
        (#"{"value":true,"type":"INT64"}"#, #"{"value":1,"type":"INT64"}"#),
        (
            #"{"value":1700000000000.0,"type":"TIMESTAMP"}"#,
            #"{"value":1700000000000,"type":"TIMESTAMP"}"#
        ),
        (#"{"value":[1.0,2e0],"type":"INT64_LIST"}"#, #"{"value":[1,2],"type":"INT64_LIST"}"#),
        (#"{"value":0.5}"#, #"{"value":0.5,"type":"DOUBLE"}"#),
        (#"{"value":"AAE=","type":"BYTES"}"#, #"{"value":"AAE=","type":"BYTES"}"#),
        (#"{"value":[],"type":"STRING_LIST"}"#, #"{"value":[],"type":"STRING_LIST"}"#),
        (
            #"{"value":{"latitude":1,"longitude":2.5},"type":"LOCATION"}"#,
            #"{"value":{"latitude":1.0,"longitude":2.5},"type":"LOCATION"}"#
        ),
        (
            #"{"value":9223372036854775807,"type":"INT64"}"#,
            #"{"value":9223372036854775807,"type":"INT64"}"#
        ),
    ]

    private static let wrongValues: [String] = [
        #"{"value":"x","type":"INT64"}"#, #"{"value":5.5,"type":"INT64"}"#,
        #"{"value":1e300,"type":"INT64"}"#, #"{"value":9223372036854775808,"type":"INT64"}"#,
        #"{"value":"?","type":"BYTES"}"#, #"{"value":1.5,"type":"TIMESTAMP"}"#, "5",
    ]

    private static func kept(_ sent: String, _ kept: String) -> ConformanceCheck {
        ConformanceCheck("3.2 \(sent)") { world in
            #expect(await world.save("v", #"{"f":\#(sent)}"#).code == "")
            let field = await world.lookUp("v")["fields"]["f"]
            let expected = try JSONParser.parse(Array(kept.utf8))
            #expect(field["type"] == expected["type"])
            if let number = expected["value"].finite {
                #expect(field["value"].finite == number)
            } else if expected["type"].text != "LOCATION" {
                #expect(field["value"] == expected["value"])
            }
        }
    }

    private static func refused(_ wrong: String) -> ConformanceCheck {
        ConformanceCheck("3.2, 4.2 \(wrong) fails its record, and no other") { world in
            let answer = await world.modify(
                """
                {"operationType":"create","record":{"recordName":"a","recordType":"T",
                "fields":{"f":\(wrong)}}},
                {"operationType":"create","record":{"recordName":"b","recordType":"T"}}
                """)
            #expect(answer.status == 200)
            #expect(answer.records.first?["recordName"].text == "a")
            #expect(answer.records.first?["serverErrorCode"].text == "BAD_REQUEST")
            #expect(answer.records.first?["reason"].text.isEmpty == false)
            #expect(answer.records.last?["recordChangeTag"].text.isEmpty == false)
            #expect(await world.lookUp("a")["serverErrorCode"].text == "NOT_FOUND")
        }
    }

    private static let operations: [ConformanceCheck] = [
        ConformanceCheck("3.5 what each operation does to a record that is there") { world in
            for (kind, code) in [
                ("create", "EXISTS"), ("update", "BAD_REQUEST"), ("replace", "BAD_REQUEST"),
                ("forceUpdate", ""), ("forceReplace", ""),
            ] {
                _ = await world.save("r", #"{"a":{"value":1},"b":{"value":1}}"#)
                #expect(await world.save("r", #"{"a":{"value":2}}"#, kind: kind).code == code)
                let fields = await world.lookUp("r")["fields"]
                #expect(fields["a"]["value"].count == (code.isEmpty ? 2 : 1), "\(kind)")
                #expect((fields["b"] == .null) == (kind == "forceReplace"), "\(kind)")
            }
        },
        ConformanceCheck("3.5 what each operation does where there is no record") { world in
            for (kind, code) in [
                ("update", "NOT_FOUND"), ("replace", "NOT_FOUND"), ("delete", "NOT_FOUND"),
                ("forceDelete", ""), ("forceUpdate", ""), ("create", "EXISTS"),
            ] {
                #expect(await world.save("r", kind: kind).code == code, "\(kind)")
            }
        },
        ConformanceCheck("3.5, 4.2 a tag that is not the record's is a CONFLICT") { world in
            let tag = await world.save("r").records[0]["recordChangeTag"].text
            _ = await world.save("r", #"{"a":{"value":1}}"#)
            let more = #","recordChangeTag":"\#(tag)""#
            for kind in ["update", "replace", "delete"] {
                let answer = await world.save("r", kind: kind, more: more)
                #expect(answer.status == 200 && answer.code == "CONFLICT", "\(kind)")
            }
        },
        ConformanceCheck("2.3 an atomic request takes effect as a whole or not at all") { world in
            let operations = """
                {"operationType":"create","record":{"recordName":"a","recordType":"T"}},
                {"operationType":"update","record":{"recordName":"b","recordType":"T"}}
                """
            let answer = await world.modify(operations, atomic: true)
            let codes = answer.records.map { $0["serverErrorCode"].text }
            #expect(codes == ["ATOMIC_ERROR", "NOT_FOUND"])
            #expect(await world.lookUp("a")["serverErrorCode"].text == "NOT_FOUND")
            let apart = await world.modify(operations)
            #expect(apart.records.map { $0["serverErrorCode"].text } == ["", "NOT_FOUND"])
        },
        ConformanceCheck("2.3 a wrong value takes an atomic request down with it") { world in
            let answer = await world.modify(
                """
                {"operationType":"create","record":{"recordName":"a","recordType":"T"}},
                {"operationType":"create","record":{"recordName":"b","recordType":"T",
                "fields":{"f":{"value":"x","type":"INT64"}}}}
                """, atomic: true)
            let codes = answer.records.map { $0["serverErrorCode"].text }
            #expect(codes == ["ATOMIC_ERROR", "BAD_REQUEST"])
        },
        ConformanceCheck("2.3 an operation that there is not fails the request") { world in
            let answer = await world.save("r", kind: "upsert")
            #expect(answer.status == 400 && answer.code == "BAD_REQUEST")
        },
        ConformanceCheck("2.3 desiredKeys and numbersAsStrings hold for replies") { world in
            let fields = #"{"a":{"value":1},"b":{"value":2}}"#
            let answer = await world.modify(
                """
                {"operationType":"forceUpdate","desiredKeys":["a"],
                "record":{"recordName":"r","recordType":"T","fields":\(fields)}}
                """, more: #","numbersAsStrings":true"#)
            let reply = answer.records[0]["fields"]
            #expect(reply["a"]["value"].text == "1" && reply["b"] == .null)
        },
        ConformanceCheck("3.1 createShortGUID has the reply carry one, always the same") { world in
            let more = #","createShortGUID":true"#
            let first = await world.save("r", more: more).records[0]["shortGUID"].text
            let again = await world.save("r", more: more).records[0]["shortGUID"].text
            let other = await world.save("s", more: more).records[0]["shortGUID"].text
            #expect(!first.isEmpty && first == again && other != first)
            #expect(await world.save("r").records[0]["shortGUID"] == .null)
        },
        ConformanceCheck("5 types of the service's own can't be made") { world in
            for type in ["Users", "_T", "cloudkit.share"] {
                let answer = await world.save("r", type: type)
                #expect(answer.status == 200 && answer.code == "BAD_REQUEST", "\(type)")
            }
            #expect(await world.save("r", type: "Users2").code == "")
        },
        ConformanceCheck("5 names of records") { world in
            let names: [(String, String)] = [
                ("a", ""), (String(repeating: "a", count: 255), ""), ("_a", "BAD_REQUEST"),
                (String(repeating: "a", count: 256), "BAD_REQUEST"), ("ä", "BAD_REQUEST"),
            ]
            for (name, code) in names {
                #expect(await world.save(name).code == code, "\(name)")
            }
        },
        ConformanceCheck("5 a request has 200 operations at most") { world in
            func operations(_ count: Int) -> String {
                (0..<count).map {
                    #"{"operationType":"create","record":{"recordName":"r\#($0)","recordType":"T"}}"#
                }.joined(separator: ",")
            }
            #expect(await world.modify(operations(200)).records.count == 200)
            #expect(await world.modify(operations(201)).status == 400)
        },
        ConformanceCheck("2.2 what is looked up and missing stands in its place") { world in
            _ = await world.save("b")
            let answer = await world.post(
                "private/records/lookup",
                """
                {"records":[{"recordName":"a"},{"recordName":"b"}],"zoneID":{"zoneName":"Z"}}
                """)
            #expect(answer.records.map { $0["recordName"].text } == ["a", "b"])
            #expect(answer.code == "NOT_FOUND")
        },
    ]

    static let references: [ConformanceCheck] =
        referenceForms.flatMap { form in
            ["NONE", "DELETE_SELF", "VALIDATE"].map { ownZone(form, $0) }
        } + otherReferences

    private static let referenceForms: [String] = [
        #"{"f":{"value":{"recordName":"t","action":"ACTION","zoneID":ZONE}}}"#,
        """
        {"f":{"value":[{"recordName":"t","action":"ACTION","zoneID":ZONE}],
        "type":"REFERENCE_LIST"}}
        """,
    ]

    private static func ownZone(_ form: String, _ action: String) -> ConformanceCheck {
        ConformanceCheck("3.4 \(form.prefix(16)) \(action) stays in its zone") { world in
            for zone in ["Z", "Y"] { _ = await world.save("t", zone: zone) }
            let owner = world.fixture.ada.userRecordName
            let fields = form.replacing("ACTION", with: action)
            for other in [
                #"{"zoneName":"Y"}"#, #"{"zoneName":"_defaultZone"}"#, "{}",
                #"{"zoneName":"Z","ownerRecordName":"_somebody"}"#,
            ] {
                let answer = await world.save("s", fields.replacing("ZONE", with: other))
                #expect(answer.status == 200 && answer.code == "BAD_REQUEST", "\(other)")
                #expect(await world.lookUp("s")["serverErrorCode"].text == "NOT_FOUND")
            }
            for own in [
                #"{"zoneName":"Z"}"#, #"{"zoneName":"Z","ownerRecordName":"\#(owner)"}"#,
                #"{"zoneName":"Z","ownerRecordName":"__defaultOwner__"}"#, "null",
            ] {
                let answer = await world.save("s", fields.replacing("ZONE", with: own))
                #expect(answer.code == "", "\(own)")
            }
        }
    }

    private static let otherReferences: [ConformanceCheck] = [
        ConformanceCheck("3.4 a parent stays in its zone") { world in
            for zone in ["Z", "Y"] { _ = await world.save("t", zone: zone) }
            func save(_ zone: String) async -> String {
                let more = #","parent":{"recordName":"t","zoneID":{"zoneName":"\#(zone)"}}"#
                let answer = await world.save("s", more: more)
                return answer.code
            }
            #expect(await save("Y") == "BAD_REQUEST")
            #expect(await save("Z") == "")
        },
        ConformanceCheck("3.4 what refers to another zone does not go with a namesake") { world in
            for zone in ["Z", "Y"] { _ = await world.save("k", zone: zone) }
            _ = await world.save("s")
            let reference =
                #"{"f":{"value":{"recordName":"k","action":"DELETE_SELF","zoneID":{"zoneName":"Y"}}}}"#
            _ = await world.save("s", reference)
            #expect(await world.delete("k").code == "")
            #expect(await world.lookUp("s")["recordName"].text == "s")
        },
        ConformanceCheck("3.4 DELETE_SELF goes with its target, VALIDATE keeps it") { world in
            for name in ["a", "b"] { _ = await world.save(name) }
            _ = await world.save("s", #"{"f":{"value":{"recordName":"a","action":"DELETE_SELF"}}}"#)
            _ = await world.save("v", #"{"f":{"value":{"recordName":"b","action":"VALIDATE"}}}"#)
            #expect(await world.delete("b").code == "VALIDATING_REFERENCE_ERROR")
            #expect(await world.delete("a").code == "")
            #expect(await world.lookUp("s")["serverErrorCode"].text == "NOT_FOUND")
            #expect(await world.lookUp("v")["recordName"].text == "v")
        },
    ]
}
