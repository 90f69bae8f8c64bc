package import Foundation

extension Condition {
    /// The condition that holds for a record exactly where `predicate` does.
    ///
    /// - Throws: ``QueryError`` with code `unsupportedExpression` or `unknownAttribute`.
    package init<Model: Entity>(lowering predicate: Predicate<Model>) throws {
        let indexes = Model.attributeIndexes
        let attributes = Model.entitySchema.attributes
        var context = LoweringContext(
            variables: [predicate.variable.key: nil],
            attribute: { keyPath in
                if keyPath == \Model.id { return .recordKey }
                guard let keyPath = keyPath as? PartialKeyPath<Model> else { return nil }
                return indexes[keyPath].map { .attribute(attributes[$0].name) }
            },
            entityName: Model.entityName)
        self = try context.condition(predicate.expression).simplified()
    }
}
