import BackstitchCore
import CloudKitWire

extension ServiceValue {
    /// The value as it is sent; nil for null. A value that was kept as unknown is sent as what it is.
    ///
    /// - Throws: `invalidRequest` for numbers, places and lists that the protocol can't spell: a
    ///   service would refuse the whole request for them.
    func checked(field: String) throws(ServiceError) -> ServiceValue? {
        switch self {
        case .null: return nil
        case .double(let number):
            guard number.isFinite else {
                throw ServiceError(.invalidRequest, "'\(field)' is no finite number")
            }
        case .location(let location):
            guard location.place.isValid else {
                throw ServiceError(.invalidRequest, "'\(field)' is no place on earth")
            }
        case .list(let elements, _):
            var values: [ServiceValue] = []
            values.reserveCapacity(elements.count)
            for element in elements {
                guard let value = try element.checked(field: field),
                    let type = value.scalarType, type == values.first?.scalarType ?? type
                else {
                    throw ServiceError(
                        .invalidRequest, "'\(field)' is no list of values of one type")
                }
                values.append(value)
            }
            return .list(values)
        case .unknown(let value):
            do {
                let json = try JSONParser.parse(Array(value.json.utf8))
                return try ServiceValue(json: json, type: value.typeName, field: field)
            } catch {
                throw ServiceError(
                    .invalidRequest, "'\(field)' can't be written: \(error)")
            }
        case .string, .int64, .timestamp, .bytes, .reference, .asset: break
        }
        return self
    }
}

extension WireFields {
    /// Fields for the wire.
    init(_ fields: NamedFields) throws(ServiceError) {
        self.init(minimumCapacity: fields.count)
        for (name, value) in fields {
            self[name] = WireField(try value.checked(field: name))
        }
    }
}
