extension Entity {
    /// Whether a key path is that of `id`.
    ///
    /// Within generic code, `\Self.id` is the requirement's key path, which equals none of a type's
    /// own. Of those, `id` is the one stored property that holds an id of the type and is not an
    /// attribute.
    static func isIdentity(_ keyPath: PartialKeyPath<Self>) -> Bool {
        if keyPath == \Self.id { return true }
        return keyPath is KeyPath<Self, EntityID<Self>> && attributeIndexes[keyPath] == nil
            && MemoryLayout<Self>.offset(of: keyPath) != nil
    }
}

extension AnyKeyPath {
    /// What a message calls it: the key path as written, or words if the compiler keeps no name.
    var shownName: String {
        let text = "\(self)"
        return text.contains("<computed") ? "A computed property" : text
    }

    /// The error of a query that names the key path, if it is no attribute of the entity.
    package func unknown(in entityName: String) -> QueryError {
        let isEmbedded = Self.valueType is any _EmbeddableValue.Type
        return QueryError(
            .unknownAttribute,
            "\(shownName) is not a stored attribute of \(entityName). "
                + (isEmbedded
                    ? "An embedded struct is stored in parts: name one of them, as in "
                        + "\\.size.width."
                    : "Conditions and sorts take stored attributes and id."))
    }
}
