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
                let json = try JSONDocument(Array(value.json.utf8))
                return try ServiceValue(json: json.root, type: value.typeName, field: field)
            } catch {
                throw ServiceError(
                    .invalidRequest, "'\(field)' can't be written: \(error)")
            }
        case .string, .int64, .timestamp, .bytes, .reference, .asset: break
        }
        return self
    }
}

extension NamedFields {
    /// The fields as they are sent; nothing is copied if all are.
    ///
    /// - Throws: `invalidRequest`, as ``ServiceValue/checked(field:)``.
    func checked() throws(ServiceError) -> NamedFields {
        let areSent = withReader { reader in
            var areSent = true
            reader.visit { entry in areSent = areSent && entry.isSentAsItIs }
            return areSent
        }
        if areSent { return self }
        var writer = NamedFieldsWriter()
        for (name, value) in self {
            writer.write(try value.checked(field: name) ?? .null, named: name)
        }
        return writer.finish()
    }
}

extension NamedFieldEntry {
    /// Whether it is known to be a value that can be sent.
    fileprivate var isSentAsItIs: Bool {
        switch tag {
        case .string, .int64, .date, .bytes, .null, .reference, .asset: true
        case .double: unsafe Double(bitPattern: payload.little(UInt64.self, at: 0)).isFinite
        default: false
        }
    }
}
