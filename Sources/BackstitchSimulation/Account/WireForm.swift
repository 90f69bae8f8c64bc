package import BackstitchCore

/// Fields as the service has them, in the form in which a device and the service can be compared.
///
/// Some types lose precision on the way: a `Decimal` travels as a double and a double becomes a
/// `Float`. A value counts as the same when it is the same after one way through the declared type.
package enum WireForm {
    /// The fields of a local record.
    package static func fields(_ fields: Fields, _ table: EntityTable) -> [String: ServiceValue] {
        var wire: [String: ServiceValue] = [:]
        for (field, value) in fields where value != .null {
            guard let attribute = table.attribute(field) else { continue }
            wire[attribute.name] = canonical(sent(value, attribute), attribute)
        }
        return wire
    }

    /// The fields of a record of the service.
    package static func fields(
        _ record: ServiceRecord, _ table: EntityTable?
    ) -> [String: ServiceValue] {
        var wire: [String: ServiceValue] = [:]
        for (name, value) in record.fields where value != .null {
            wire[name] = canonical(value, table?.attribute(named: name))
        }
        return wire
    }

    /// A value as it is sent; files by their contents.
    private static func sent(_ value: RecordValue, _ attribute: CatalogAttribute?) -> ServiceValue {
        func file(_ asset: Asset) -> ServiceValue {
            .asset(
                ServiceAsset(
                    fileChecksum: SimulatedContent.hash(of: asset), size: asset.byteCount))
        }
        switch value {
        case .asset(let asset): return file(asset)
        case .list(let elements) where !elements.isEmpty && value.files.count == elements.count:
            return .list(value.files.map(file))
        default: return ServiceMapping.serviceValue(value, of: attribute?.schema)
        }
    }

    package static func canonical(
        _ value: ServiceValue, _ attribute: CatalogAttribute?
    ) -> ServiceValue {
        switch value {
        case .asset(let file):
            let hash = file.fileChecksum.map(SimulatedContent.hash(ofChecksum:))
            return .asset(ServiceAsset(fileChecksum: hash, size: file.size))
        case .list(let elements, of: .asset):
            return .list(elements.map { canonical($0, attribute) })
        default: break
        }
        // What was stored as a declared type stays as it is when the type is declared no more.
        let schema = attribute?.schema
        let (stored, _) = ServiceMapping.storedValue(value, of: schema)
        return ServiceMapping.serviceValue(stored, of: schema)
    }

    /// Whether two versions of a record have the same in a field.
    static func areSame(
        _ field: FieldID, _ first: Fields, _ second: Fields, _ table: EntityTable
    ) -> Bool {
        value(field, first, table) == value(field, second, table)
    }

    private static func value(
        _ field: FieldID, _ fields: Fields, _ table: EntityTable
    ) -> ServiceValue? {
        let value = fields.value(field)
        guard value != .null else { return nil }
        let attribute = table.attribute(field)
        return canonical(sent(value, attribute), attribute)
    }

    /// What is different, for a person to read; nil if nothing is.
    package static func difference(
        _ first: [String: ServiceValue], _ second: [String: ServiceValue],
        without hidden: Set<String> = []
    ) -> String? {
        guard first != second else { return nil }
        let names = Set(first.keys).union(second.keys).subtracting(hidden).sorted()
        let different = names.filter { first[$0] != second[$0] }
        guard !different.isEmpty else { return nil }
        return different.map { name in
            "\(name): \(short(first[name])) and \(short(second[name]))"
        }.joined(separator: "; ")
    }

    private static func short(_ value: ServiceValue?) -> String {
        guard let value else { return "none" }
        let text = "\(value)"
        return text.count > 80 ? text.prefix(80) + "…" : text
    }
}
