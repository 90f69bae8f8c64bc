extension EntityBinding {
    /// The entity that a reference attribute points to.
    ///
    /// - Throws: ``QueryError`` with code `unknownAttribute`, `typeMismatch` or `unknownEntity`.
    package func target(of name: String) throws(QueryError) -> EntityBinding {
        let attribute = try attribute(named: name)
        guard attribute.type == .reference else {
            throw QueryError(
                .typeMismatch,
                "A query of \(self.name) follows \(name), which is a \(attribute.type) and leads to no "
                    + "other record. Follow a reference.")
        }
        guard let target = attribute.target else {
            throw QueryError(
                .unknownEntity,
                "A query of \(self.name) follows \(name), of which the store does not know where it "
                    + "leads.")
        }
        return try entity(named: target)
    }

    /// The entity of a relation to this one, and its reference.
    ///
    /// - Throws: ``QueryError`` as for a target.
    func referrers(
        by relation: InverseReference
    ) throws(QueryError) -> (entity: EntityBinding, attribute: AttributeBinding) {
        let other = try entity(named: relation.entity)
        let attribute = try other.attribute(named: relation.attribute)
        guard attribute.type == .reference, attribute.target == name else {
            throw QueryError(
                .typeMismatch,
                "A query of \(name) asks for records of \(relation.entity) by \(relation.attribute), "
                    + "which does not refer to \(name). Name a reference that does.")
        }
        return (other, attribute)
    }

    private func entity(named name: String) throws(QueryError) -> EntityBinding {
        guard let entity = entities?.binding(named: name) else {
            throw QueryError(
                .unknownEntity,
                "A query of \(self.name) asks for records of \(name), which is no entity of the store."
            )
        }
        return entity
    }
}
