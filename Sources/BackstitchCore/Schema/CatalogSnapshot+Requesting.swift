extension CatalogSnapshot {
    /// The names of the fields that a pull asks for; nil if it asks for all.
    ///
    /// A service is asked for fields by name, so that the names of later versions can't be among
    /// them: only an attribute that is pushed and not pulled is reason enough.
    package var requestedFields: Set<String>? {
        let isMasked = tables.contains { !$0.unreadFields.subtracting($0.unsentFields).isEmpty }
        guard isMasked else { return nil }
        var names: Set<String> = []
        for table in tables {
            for attribute in table.attributes where !table.unreadFields.contains(attribute.field) {
                names.insert(attribute.name)
            }
        }
        return names
    }
}
