import Foundation

/// A value of a type of the service that this version does not know.
///
/// It is kept as it came: through merges, compaction, rebuild, export and import, and it goes back so
/// if the record has to be made on the service again. Nothing else can be done with it: it is in no
/// order, has no index, and no Swift type reads it. Once a version knows the type, the value becomes
/// one of an attribute when a schema declares that, without another fetch.
public struct UnknownValue: Hashable, Sendable, Codable {
    /// The service's name of the type, such as `DURATION`.
    public let typeName: String
    /// The value as the service spells it, in JSON.
    public let json: String

    /// A value by its type's name and its JSON.
    public init(typeName: String, json: String) {
        self.typeName = typeName
        self.json = json
    }

    /// Why the value can't be saved; nil if it can.
    package var violation: String? {
        if typeName.isEmpty || typeName.utf8.count > Self.nameBytesMax {
            return "the name of its type is empty or has more than \(Self.nameBytesMax) bytes"
        }
        return (try? JSONParser.parse(Array(json.utf8))) == nil ? "it is no JSON" : nil
    }

    /// The most bytes of a type's name.
    static let nameBytesMax = 255
}

extension UnknownValue {
    /// The value if this version knows the type, as it does if an earlier one did not.
    package var known: ServiceValue? {
        guard let json = try? JSONParser.parse(Array(json.utf8)) else { return nil }
        guard typeName.hasSuffix(Self.listSuffix) else { return Self.scalar(json, typeName) }
        guard case .array(let elements) = json else { return nil }
        let element = String(typeName.dropLast(Self.listSuffix.count))
        let values = elements.compactMap { Self.scalar($0, element) }
        return values.count == elements.count ? .list(values) : nil
    }

    private static let listSuffix = "_LIST"

    private static func scalar(_ json: JSONValue, _ typeName: String) -> ServiceValue? {
        switch (typeName, json) {
        case ("STRING", .string(let text)): .string(text)
        case ("INT64", .number(let text)): Int64(text).map { .int64($0) }
        case ("DOUBLE", .number(let text)):
            Double(text).flatMap { $0.isFinite ? .double($0) : nil }
        case ("TIMESTAMP", .number(let text)): Int64(text).map { .timestamp(milliseconds: $0) }
        case ("BYTES", .string(let text)): Data(base64Encoded: text).map { .bytes($0) }
        case ("REFERENCE", .object(let members)): reference(members)
        case ("LOCATION", .object(let members)): location(members)
        default: nil
        }
    }

    private static func reference(_ members: [JSONValue.Member]) -> ServiceValue? {
        guard case .string(let name)? = members["recordName"] else { return nil }
        var action: ServiceReference.Action?
        if case .string(let text)? = members["action"] { action = .init(rawValue: text) }
        return .reference(ServiceReference(recordName: name, action: action ?? .none))
    }

    private static func location(_ members: [JSONValue.Member]) -> ServiceValue? {
        guard case .number(let latitude)? = members["latitude"],
            case .number(let longitude)? = members["longitude"],
            let latitude = Double(latitude), let longitude = Double(longitude)
        else { return nil }
        let location = Location(latitude: latitude, longitude: longitude)
        return location.isValid ? .location(location) : nil
    }
}

extension [JSONValue.Member] {
    fileprivate subscript(name: String) -> JSONValue? { first { $0.name == name }?.value }
}
