/// A Swift value type whose values are records of a store.
///
/// The `@Entity` macro writes the conformance; there is no reason to write it by hand.
public protocol Entity: Identifiable, Sendable where ID == EntityID<Self> {
    /// The name of the entity in the store and of its record type on the service.
    static var entityName: String { get }
    /// What the store must know of the type.
    static var entitySchema: EntitySchema { get }
    /// The position in the declaration of each stored attribute.
    static var attributeIndexes: [PartialKeyPath<Self>: Int] { get }
    /// The indexes over several attributes, and over texts without case and accents.
    static var indexes: [EntityIndex<Self>] { get }

    /// The record's identity.
    var id: EntityID<Self> { get }
    /// Reads a value from a row.
    init(id: EntityID<Self>, fields: inout _FieldReader) throws
    /// Writes the stored attributes in declaration order.
    func write(to fields: inout _FieldWriter) throws
}
