/// The number of a field within its entity, given once by a store's catalog and never given again.
public struct FieldID: Hashable, Sendable, Comparable, Codable {
    /// The number as stored.
    public let rawValue: UInt16

    /// A field by its number in a store's catalog.
    @inlinable
    public init(_ rawValue: UInt16) { self.rawValue = rawValue }

    /// Orders fields by number, the order within a row.
    @inlinable
    public static func < (left: FieldID, right: FieldID) -> Bool { left.rawValue < right.rawValue }
}

/// The number of an entity in a store's catalog, given once and never given again.
public struct EntityNumber: Hashable, Sendable, Comparable, Codable {
    /// The number as stored.
    public let rawValue: UInt16

    /// An entity by its number in a store's catalog.
    @inlinable
    public init(_ rawValue: UInt16) { self.rawValue = rawValue }

    /// Orders entities by number, the order of their tables.
    @inlinable
    public static func < (left: EntityNumber, right: EntityNumber) -> Bool {
        left.rawValue < right.rawValue
    }
}
