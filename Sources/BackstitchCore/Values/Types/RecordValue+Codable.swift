extension RecordValue: Codable {
    private static let list = ValueKey(name: FieldTag.list.name)
    private static let unknown = ValueKey(name: FieldTag.unknown.name)

    /// Reads an object with one member, named by the kind of the value, or null.
    public init(from decoder: any Decoder) throws {
        if let single = try? decoder.singleValueContainer(), single.decodeNil() {
            self = .null
            return
        }
        let container = try decoder.container(keyedBy: ValueKey.self)
        guard container.allKeys.count == 1, let key = container.allKeys.first else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "A value is an object with one member."))
        }
        switch key.stringValue {
        case Self.list.stringValue:
            self = .list(try container.decode([RecordValue].self, forKey: key))
        case Self.unknown.stringValue:
            self = .unknown(try container.decode(UnknownValue.self, forKey: key))
        default:
            guard let traits = AttributeTypes[kind: key.stringValue] else {
                throw DecodingError.dataCorruptedError(
                    forKey: key, in: container,
                    debugDescription: "There is no kind of value of that name.")
            }
            self = try traits.value(from: container, key)
        }
    }

    /// Writes an object with one member, named by the kind of the value, or null.
    public func encode(to encoder: any Encoder) throws {
        if case .null = self {
            var container = encoder.singleValueContainer()
            try container.encodeNil()
            return
        }
        var container = encoder.container(keyedBy: ValueKey.self)
        switch self {
        case .list(let elements): try container.encode(elements, forKey: Self.list)
        case .unknown(let value): try container.encode(value, forKey: Self.unknown)
        default: try traits?.encode(self, into: &container)
        }
    }
}
