import BackstitchCore
import CloudKitWire

@testable import BackstitchHubCore

extension HostileMaker {
    /// A body that fits an endpoint more or less.
    mutating func body(of endpoint: Endpoint) -> [UInt8] {
        if happens(onceIn: 6) { return Array(object(depth: 0).utf8) }
        let body =
            switch endpoint {
            case .modifyRecords: "{\"operations\":\(list { $0.operation() }),\(options())}"
            case .lookupRecords:
                "{\"records\":\(list { "{\"recordName\":\($0.name())}" }),\(options())}"
            case .queryRecords:
                "{\"query\":\(query()),\"continuationMarker\":\(maybe { $0.token() }),"
                    + "\"zoneWide\":\(flag()),\"resultsLimit\":\(number()),\(options())}"
            case .recordChanges: feed()
            case .zoneChanges: "{\"zones\":\(list { $0.feed() }),\(options())}"
            case .databaseChanges, .zonesChanges:
                "{\"syncToken\":\(maybe { $0.token() }),\"metaSyncToken\":\(maybe { $0.token() })}"
            case .lookupZones: "{\"zones\":\(list { $0.zone() })}"
            case .modifyZones:
                "{\"operations\":\(list { "{\"operationType\":\($0.kind()),\"zone\":{\"zoneID\":\($0.zone())}}" })}"
            case .lookupSubscriptions:
                "{\"subscriptions\":\(list { "{\"subscriptionID\":\($0.name())}" })}"
            case .modifySubscriptions:
                "{\"operations\":\(list { "{\"operationType\":\($0.kind()),\"subscription\":\($0.subscription())}" })}"
            case .uploadAssets, .rereferenceAssets:
                "{\"\(pick(["tokens", "assets"]))\":"
                    + "\(list { "{\"recordName\":\($0.name()),\"fieldName\":\($0.name())}" }),"
                    + "\(options())}"
            case .createToken, .registerToken:
                "{\"apnsEnvironment\":\"development\",\"apnsToken\":\(maybe { $0.token() })}"
            case .discoverUsers, .lookupUsersByEmail, .lookupUsersByID:
                "{\"\(pick(["users", "lookupInfos"]))\":"
                    + "\(list { "{\"userRecordName\":\($0.name()),\"emailAddress\":\($0.name())}" })}"
            default: "{}"
            }
        return Array(body.utf8)
    }

    // MARK: Parts of bodies

    private mutating func list(
        upTo bound: Int? = nil, _ element: (inout HostileMaker) -> String
    ) -> String {
        let values = values(upTo: bound ?? limits.operationsPerRequest, element)
        return "[" + values.joined(separator: ",") + "]"
    }

    private mutating func maybe(_ value: (inout HostileMaker) -> String) -> String {
        happens(onceIn: 3) ? "null" : value(&self)
    }

    private mutating func options() -> String {
        "\"zoneID\":\(zone()),\"atomic\":\(flag()),\"numbersAsStrings\":\(flag()),"
            + "\"desiredKeys\":\(pick(["null", "[]", "[\"n\",\"text\"]", "[\"file\"]", "\"n\""]))"
    }

    private mutating func flag() -> String { pick(["true", "false", "false", "null", "1"]) }

    private mutating func number() -> String {
        pick([
            "0", "1", "2", "200", "-1", "1e308", "1e999999", "9223372036854775807",
            "9223372036854775808", "-9223372036854775809", "0.5", "-0", "1E-400", "\"7\"",
            "1e\(pick([Int.min, -Int.max, Int.max, -1 << 32, 1 << 32, -20, 18]))",
            "\"NaN\"",
            "null", String(repeating: "9", count: 400),
        ])
    }

    /// Text without escapes that a body or a header may have.
    mutating func text() -> String {
        let ada = world.fixture.ada.userRecordName
        return pick([
            "hidden", "hidden", "b0", "b1", "b2", "a", "notice", "secret", "z", "_defaultZone",
            ada, world.fixture.bob.userRecordName, "ada@example.com", "T", "file", "other", "n",
            "s",
            "text", "..", "/etc/passwd", "", "_a", "a b", String(repeating: "n", count: 256),
            String(repeating: "k", count: 600), "__defaultOwner__", "' OR 1=1", "%s%n", "${f}",
            String(repeating: "m", count: size(upTo: 255)),
        ])
    }

    private mutating func name() -> String {
        if happens(onceIn: 12) { return pick(["null", "1", "[]", "{}", "\"\\u0000\"", "\"ä\""]) }
        return "\"\(text())\""
    }

    private mutating func token() -> String {
        let token = pick(world.tokens)
        if happens(onceIn: 4) {
            return "\"\(pick([String(token.dropLast()), token + token, "AAAA", "", "\\ud83d"]))\""
        }
        return "\"\(token)\""
    }

    private mutating func zone() -> String {
        let ada = world.fixture.ada.userRecordName
        let owner = pick(["null", "null", "\"\(ada)\"", "\"\"", "\"__defaultOwner__\"", name()])
        let zone = pick(["\"z\"", "\"z\"", "\"secret\"", "\"_defaultZone\"", name()])
        return "{\"zoneName\":\(zone),\"ownerRecordName\":\(owner)}"
    }

    private mutating func kind() -> String {
        pick([
            "\"create\"", "\"update\"", "\"forceUpdate\"", "\"replace\"", "\"forceReplace\"",
            "\"delete\"", "\"forceDelete\"", "\"create\"", "\"x\"", "null", "1",
        ])
    }

    private mutating func operation() -> String {
        let parent = happens(onceIn: 5) ? "{\"recordName\":\(name())}" : "null"
        let fields = values(upTo: 100) { $0.field() }.enumerated().map { index, field in
            "\"\(happens(onceIn: 9) ? "\(text())" : "f")\(index)\":\(field)"
        }
        let fieldsOrNot =
            happens(onceIn: 12) ? value(depth: 3) : "{\(fields.joined(separator: ","))}"
        return """
            {"operationType":\(kind()),"record":{"recordName":\(name()),"recordType":"T",\
            "recordChangeTag":\(maybe { $0.token() }),"parent":\(parent),"fields":\(fieldsOrNot)}}
            """
    }

    private mutating func field() -> String {
        var (type, value) = typedValue()
        if happens(onceIn: 8) { value = typedValue().value }
        if happens(onceIn: 8) { return "{\"value\":\(value)}" }
        if happens(onceIn: 20) { type = "" }
        return "{\"value\":\(value),\"type\":\"\(type)\",\"isEncrypted\":\(flag())}"
    }

    /// A type, and a value that is of it more or less.
    private mutating func typedValue() -> (type: String, value: String) {
        switch Int.random(in: 0..<19, using: &random) {
        case 0: ("STRING", name())
        case 1: ("INT64", number())
        case 2: ("DOUBLE", number())
        case 3: ("TIMESTAMP", number())
        case 4: ("BYTES", pick(["\"AAAA\"", "\"A\"", token()]))
        case 5: ("REFERENCE", reference())
        case 6:
            (
                "ASSETID",
                "{\"fileChecksum\":\"\(pick(world.checksums))\",\"size\":\(number()),"
                    + "\"receipt\":\(maybe { $0.token() })}"
            )
        case 7:
            (
                "ASSETID",
                "{\"fileChecksum\":\"../\(pick(world.checksums))\",\"downloadURL\":\"file:///etc/passwd\"}"
            )
        case 8:
            (
                "LOCATION",
                "{\"latitude\":\(number()),\"longitude\":\(number()),\"timestamp\":\(number())}"
            )
        case 9: ("STRING_LIST", "[\(name()),\(name())]")
        case 10: ("INT64_LIST", "[\(number()),\(number())]")
        case 11: ("STRING", "\"\(letters(upTo: limits.recordBytes))\"")
        case 12:
            ("BYTES", "\"\(String(repeating: "A", count: size(upTo: limits.recordBytes)))\"")
        case 13: ("INT64_LIST", list(upTo: limits.valuesPerBody) { _ in "1" })
        case 14: ("STRING_LIST", list(upTo: limits.valuesPerBody / 10) { $0.name() })
        case 15: ("REFERENCE_LIST", list(upTo: limits.linksPerRequest) { $0.reference() })
        case 16: ("UNKNOWN_LIST", value(depth: 2))
        case 17: ("X", value(depth: 2))
        default: ("ENCRYPTED_BYTES", "\"AA==\"")
        }
    }

    private mutating func reference() -> String {
        let action = pick([
            "\"VALIDATE\"", "\"DELETE_SELF\"", "\"DELETE_SELF\"", "\"NONE\"", "\"X\"",
        ])
        let zone = happens(onceIn: 3) ? ",\"zoneID\":\(zone())" : ""
        return "{\"recordName\":\(name()),\"action\":\(action)\(zone)}"
    }

    private mutating func query() -> String {
        let comparator = pick(ServiceFilter.Comparator.allCases).rawValue
        let filter =
            "{\"\(pick(["fieldName", "systemFieldName"]))\":\(pick(["\"n\"", "\"recordName\"", "\"f0\"", name()])),"
            + "\"comparator\":\"\(comparator)\",\"fieldValue\":\(field()),\"distance\":\(number())}"
        let sort = "{\"fieldName\":\(name()),\"ascending\":\(flag())}"
        let type = pick(["\"T\"", "\"T\"", "\"TreasureTyp\"", name()])
        return
            "{\"recordType\":\(type),\"filterBy\":\(list(upTo: limits.filtersPerQuery) { _ in filter }),"
            + "\"sortBy\":\(list(upTo: limits.sortsPerQuery) { _ in sort })}"
    }

    private mutating func feed() -> String {
        "{\"zoneID\":\(zone()),\"syncToken\":\(maybe { $0.token() }),"
            + "\"resultsLimit\":\(pick(["1", "2", "null", number()])),\"reverse\":\(flag()),"
            + "\"desiredRecordTypes\":\(pick(["null", "[]", "[\"T\"]", "1"]))}"
    }

    private mutating func subscription() -> String {
        "{\"subscriptionID\":\(name()),\"subscriptionType\":\(pick(["\"zone\"", "\"query\"", "\"database\""])),"
            + "\"zoneID\":\(zone()),\"query\":\(maybe { $0.query() }),\"firesOn\":[\"create\"],"
            + "\"notificationInfo\":\(maybe { $0.notificationInfo() })}"
    }

    private mutating func notificationInfo() -> String {
        guard happens(onceIn: 2) else { return value(depth: 3) }
        return "{\"alertBody\":\"\(letters(upTo: limits.subscriptionBytes))\"}"
    }

    // MARK: Bodies of anything

    private mutating func object(depth: Int) -> String {
        var names = [
            "operations", "operationType", "record", "recordName", "recordType", "fields", "value",
            "type", "zoneID", "zoneName", "ownerRecordName", "zones", "records", "query",
            "filterBy", "sortBy", "comparator", "fieldName", "fieldValue", "syncToken",
            "resultsLimit", "subscription", "tokens", "assets", "users", "parent", "shortGUIDs",
        ]
        names.shuffle(using: &random)
        let count = Int.random(in: 0...4, using: &random)
        let members = names.prefix(count).map { "\"\($0)\":\(value(depth: depth + 1))" }
        return "{" + members.joined(separator: ",") + "}"
    }

    private mutating func value(depth: Int) -> String {
        switch Int.random(in: 0..<(depth > 4 ? 3 : 5), using: &random) {
        case 0: number()
        case 1: name()
        case 2: token()
        case 3: "[\(value(depth: depth + 1)),\(value(depth: depth + 1))]"
        default: object(depth: depth)
        }
    }

    // MARK: Bodies that are none

    mutating func broken(_ body: [UInt8]) -> [UInt8] {
        var bytes = body
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
        case 1:
            let depth = pick([31, 32, 33, 1_000, 100_000])
            return Array(String(repeating: pick(["[", "{\"a\":"]), count: depth).utf8)
        case 2:
            let depth = pick([30, 31, 32, 200])
            let nest = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            return Array("{\"zones\":\(nest),\"operations\":\(nest)}".utf8)
        case 3: return Array("{\"operations\":[],\"operations\":[]}".utf8)
        case 4: return Array("{\"zoneID\":{\"zoneName\":\"\\ud800\"}}".utf8)
        case 5: return [0xEF, 0xBB, 0xBF] + bytes
        case 6: return bytes.flatMap { [$0, 0] }
        case 7: return bytes + bytes
        case 8: return Array("{\"resultsLimit\":\(String(repeating: "1", count: 20_000))}".utf8)
        case 9: return (0..<64).map { _ in UInt8.random(in: 0...255, using: &random) }
        default:
            for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            return bytes
        }
    }
}
