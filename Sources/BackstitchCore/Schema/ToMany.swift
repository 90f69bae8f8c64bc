/// The records of another entity that refer to one record: a to-many relationship.
///
/// It holds no records. Pass it to `fetch`, `count` or `observe`, which answer it from the inverse
/// index of the to-one relationship at the other end.
public struct ToMany<Target: Entity>: Sendable {
    /// The record that the others refer to.
    package let owner: RecordKey
    /// The to-one attribute of the others.
    package let inverse: any PartialKeyPath<Target> & Sendable

    /// The records of `Target` whose reference at `inverse` points to a record.
    public init<Owner: Entity, Reference: RecordReference<Owner>>(
        owner: EntityID<Owner>, inverse: any KeyPath<Target, Reference> & Sendable
    ) {
        self.owner = owner.key
        self.inverse = inverse
    }
}

/// The id of an entity, or an optional of one: what a to-one relationship is stored as.
public protocol RecordReference<Referenced>: AttributeValue {
    /// The entity that it refers to.
    associatedtype Referenced: Entity
}

extension EntityID: RecordReference where Model: Entity {
    /// The entity that the id is of.
    public typealias Referenced = Model
}

extension Optional: RecordReference where Wrapped: RecordReference {
    /// The entity that the id is of.
    public typealias Referenced = Wrapped.Referenced
}
