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

    private static let listSuffix = ServiceFieldType.listSuffix

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
        case ("ASSETID", .object(let members)): .asset(asset(members))
        default: nil
        }
    }

    private static func reference(_ members: [JSONValue.Member]) -> ServiceValue? {
        guard case .string(let name)? = members["recordName"] else { return nil }
        var reference = ServiceReference(recordName: name)
        if case .string(let text)? = members["action"] { reference.action = .init(name: text) }
        return .reference(reference)
    }

    private static func asset(_ members: [JSONValue.Member]) -> ServiceAsset {
        func text(_ name: String) -> String? {
            if case .string(let text)? = members[name] { text } else { nil }
        }
        var asset = ServiceAsset(
            fileChecksum: text("fileChecksum"), referenceChecksum: text("referenceChecksum"),
            wrappingKey: text("wrappingKey"))
        if case .number(let size)? = members["size"] { asset.size = Int64(size) }
        return asset
    }

    private static func location(_ members: [JSONValue.Member]) -> ServiceValue? {
        guard case .number(let latitude)? = members["latitude"],
            case .number(let longitude)? = members["longitude"],
            let latitude = Double(latitude), let longitude = Double(longitude)
        else { return nil }
        let location = GeoLocation(latitude: latitude, longitude: longitude)
        return location.isValid ? .location(location) : nil
    }
}

extension UnknownValue {
    /// A value of the service as it came, without what is another one in each reply: the addresses of
    /// files.
    init(lasting value: ServiceValue) {
        var buffer = ByteBuffer(capacity: 128)
        buffer.append(json: value.lasting)
        unsafe self.init(
            typeName: value.typeName ?? "", json: String(decoding: buffer.bytes, as: UTF8.self))
    }
}

extension ServiceValue {
    fileprivate var lasting: ServiceValue {
        switch self {
        case .asset(var asset):
            asset.downloadURL = nil
            return .asset(asset)
        case .list(let elements, let type): return .list(elements.map(\.lasting), of: type)
        default: return self
        }
    }
}

extension [JSONValue.Member] {
    fileprivate subscript(name: String) -> JSONValue? { first { $0.name == name }?.value }
}
