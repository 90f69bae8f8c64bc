import BackstitchCore
import CloudKitWire

extension WireValue {
    /// A value for the wire; nil for null.
    ///
    /// - Throws: `invalidRequest` for numbers, places and lists that the protocol can't spell: a
    ///   service would refuse the whole request for them.
    init?(_ value: ServiceValue, field: String) throws(ServiceError) {
        switch value {
        case .null: return nil
        case .string(let text): self = .string(text)
        case .int64(let number): self = .int64(number)
        case .double(let number):
            guard number.isFinite else {
                throw ServiceError(.invalidRequest, reason: "'\(field)' is no finite number")
            }
            self = .double(number)
        case .timestamp(let milliseconds): self = .timestamp(milliseconds)
        case .bytes(let data): self = .bytes(data)
        case .reference(let reference):
            self = .reference(
                WireReference(recordName: reference.recordName, action: reference.action.rawValue))
        case .location(let location):
            guard location.isValid else {
                throw ServiceError(.invalidRequest, reason: "'\(field)' is no place on earth")
            }
            self = .location(
                WireLocation(latitude: location.latitude, longitude: location.longitude))
        case .list(let elements):
            var values: [WireValue] = []
            values.reserveCapacity(elements.count)
            for element in elements {
                guard let value = try WireValue(element, field: field),
                    let type = value.scalarType, type == values.first?.scalarType ?? type
                else {
                    throw ServiceError(
                        .invalidRequest, reason: "'\(field)' is no list of values of one type")
                }
                values.append(value)
            }
            self = .list(values, of: values.first?.scalarType)
        case .unknown(let value):
            do {
                let json = try JSONParser.parse(Array(value.json.utf8))
                self = try WireValue(json: json, type: value.typeName, field: field)
            } catch {
                throw ServiceError(
                    .invalidRequest, reason: "'\(field)' can't be written: \(error)")
            }
        }
    }

    /// The value for the engine; one that it knows no type for as it came.
    var serviceValue: ServiceValue {
        switch self {
        case .string(let text): return .string(text)
        case .int64(let number): return .int64(number)
        case .double(let number): return .double(number)
        case .timestamp(let milliseconds): return .timestamp(milliseconds: milliseconds)
        case .bytes(let data): return .bytes(data)
        case .reference(let reference):
            let action = reference.action.flatMap(ServiceReference.Action.init)
            return .reference(
                ServiceReference(recordName: reference.recordName, action: action ?? .none))
        case .location(let location):
            return .location(
                Location(latitude: location.latitude, longitude: location.longitude))
        case .list(let elements, _):
            var values: [ServiceValue] = []
            values.reserveCapacity(elements.count)
            for element in elements {
                if case .asset = element { return unknownValue }
                values.append(element.serviceValue)
            }
            return .list(values)
        case .asset, .other: return unknownValue
        }
    }

    /// The value as it came, with the name of its type.
    private var unknownValue: ServiceValue {
        var writer = JSONWriter()
        writer.array([self.lasting]) { $1.write(to: &$0) }
        // Without the brackets of the list around it.
        let json = String(decoding: writer.bytes.dropFirst().dropLast(), as: UTF8.self)
        return .unknown(UnknownValue(typeName: typeName ?? "", json: json))
    }

    /// The value without what is another one in each reply: the address of a file.
    private var lasting: WireValue {
        switch self {
        case .asset(var asset):
            asset.downloadURL = nil
            return .asset(asset)
        case .list(let elements, let type): return .list(elements.map(\.lasting), of: type)
        default: return self
        }
    }
}

extension WireFields {
    /// Fields for the wire.
    init(_ fields: [String: ServiceValue]) throws(ServiceError) {
        self.init(minimumCapacity: fields.count)
        for (name, value) in fields {
            self[name] = WireField(try WireValue(value, field: name))
        }
    }
}
