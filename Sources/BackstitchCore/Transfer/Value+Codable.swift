import Foundation

extension Value: Codable {
    private enum Kind: String, CodingKey, CaseIterable {
        case bool, int64, double, string, bytes, date, decimal, uuid, reference, location, list
        case unknown
    }

    /// Reads an object with one member, named by the kind of the value, or null.
    public init(from decoder: any Decoder) throws {
        if let single = try? decoder.singleValueContainer(), single.decodeNil() {
            self = .null
            return
        }
        let container = try decoder.container(keyedBy: Kind.self)
        guard container.allKeys.count == 1, let kind = container.allKeys.first else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "A value is an object with one member."))
        }
        switch kind {
        case .bool: self = .bool(try container.decode(Bool.self, forKey: kind))
        case .int64: self = .int64(try container.decode(Int64.self, forKey: kind))
        case .double: self = .double(try container.decode(Double.self, forKey: kind))
        case .string: self = .string(try container.decode(String.self, forKey: kind))
        case .bytes: self = .bytes(try container.decode(Data.self, forKey: kind))
        case .date: self = .date(milliseconds: try container.decode(Int64.self, forKey: kind))
        case .decimal:
            let text = try container.decode(String.self, forKey: kind)
            guard let decimal = Decimal(string: text) else {
                throw DecodingError.dataCorruptedError(
                    forKey: kind, in: container, debugDescription: "That is no decimal number.")
            }
            self = .decimal(decimal)
        case .uuid: self = .uuid(try container.decode(UUID.self, forKey: kind))
        case .reference:
            self = .reference(
                try container.decode(EntityID<Never>.self, forKey: kind).key)
        case .location: self = .location(try container.decode(Location.self, forKey: kind))
        case .list: self = .list(try container.decode([Value].self, forKey: kind))
        case .unknown: self = .unknown(try container.decode(UnknownValue.self, forKey: kind))
        }
    }

    /// Writes an object with one member, named by the kind of the value, or null.
    public func encode(to encoder: any Encoder) throws {
        if case .null = self {
            var container = encoder.singleValueContainer()
            try container.encodeNil()
            return
        }
        var container = encoder.container(keyedBy: Kind.self)
        switch self {
        case .null: break
        case .bool(let bool): try container.encode(bool, forKey: .bool)
        case .int64(let number): try container.encode(number, forKey: .int64)
        case .double(let number): try container.encode(number, forKey: .double)
        case .string(let text): try container.encode(text, forKey: .string)
        case .bytes(let bytes): try container.encode(bytes, forKey: .bytes)
        case .date(let milliseconds): try container.encode(milliseconds, forKey: .date)
        case .decimal(let decimal): try container.encode(decimal.description, forKey: .decimal)
        case .uuid(let uuid): try container.encode(uuid, forKey: .uuid)
        case .reference(let key):
            try container.encode(EntityID<Never>(key: key), forKey: .reference)
        case .location(let location): try container.encode(location, forKey: .location)
        case .list(let elements): try container.encode(elements, forKey: .list)
        case .unknown(let value): try container.encode(value, forKey: .unknown)
        }
    }
}
