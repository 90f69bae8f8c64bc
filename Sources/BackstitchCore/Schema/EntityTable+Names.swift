extension EntityTable {
    /// The name of a field, or its number if the catalog lacks it.
    package func attributeName(_ field: FieldID) -> String {
        attribute(field)?.attributeName ?? "field \(field.rawValue)"
    }

    /// Fields by attribute name, without those that have no value.
    package func values(of fields: Fields) -> [String: RecordValue] {
        var values: [String: RecordValue] = [:]
        for (field, value) in fields where value != .null { values[attributeName(field)] = value }
        return values
    }
}
