package import Foundation

extension Condition {
    /// The condition that holds for a record exactly where `predicate` does, with the values that it compares
    /// with as they would be saved.
    ///
    /// - Throws: ``QueryError`` with code `unsupportedExpression`, `unknownAttribute` or `typeMismatch`.
    package init<Model: Entity>(lowering predicate: Predicate<Model>) throws {
        let indexes = Model.attributeIndexes
        let attributes = Model.entitySchema.attributes
        var context = LoweringContext(
            variables: [predicate.variable.key: nil],
            attribute: { keyPath in
                guard let keyPath = keyPath as? PartialKeyPath<Model> else { return nil }
                if let index = indexes[keyPath] { return .attribute(attributes[index].name) }
                return Model.isIdentity(keyPath) ? .recordKey : nil
            },
            entityName: Model.entityName)
        self = try context.condition(predicate.expression).simplified()
    }
}
