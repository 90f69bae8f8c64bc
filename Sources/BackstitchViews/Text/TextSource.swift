public import BackstitchCore
import BackstitchStore

/// The texts of an entity by which its records are found.
public struct TextSource: Sendable {
    /// The name of the entity.
    public let entity: String
    let weights: [Double]
    /// The texts of a record before a change, and after it; none if there is no record.
    let before: @Sendable (borrowing ProjectedChange) throws -> [String?]
    let after: @Sendable (borrowing ProjectedChange) throws -> [String?]
    /// The texts of a value of the type; none of another type.
    let texts: @Sendable (any Entity) -> [String?]

    /// Texts of an entity: key paths of attributes, or any functions of the record; nil is no text.
    ///
    /// - Parameter weights: What an occurrence in each text counts in the ranking, in the order of the
    ///   texts; 1 for those that have none. They may change at any time.
    public init<Model: Entity>(
        _ type: Model.Type, _ texts: (@Sendable (Model) -> String?)..., weights: [Double] = []
    ) {
        precondition(
            weights.count <= texts.count && weights.allSatisfy { $0 >= 0 && $0.isFinite },
            "A source has a weight for each text at most, and none is negative.")
        entity = Model.entityName
        self.weights =
            weights + Array(repeating: 1, count: texts.count - weights.count)
        before = { change in
            guard let model = try change.before(Model.self) else { return [] }
            return texts.map { $0(model) }
        }
        after = { change in
            guard let model = try change.after(Model.self) else { return [] }
            return texts.map { $0(model) }
        }
        self.texts = { model in
            guard let model = model as? Model else { return [] }
            return texts.map { $0(model) }
        }
    }

    func weight(ofText number: Int) -> Double {
        number < weights.count ? weights[number] : 1
    }
}
