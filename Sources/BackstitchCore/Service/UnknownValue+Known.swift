import Foundation

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
