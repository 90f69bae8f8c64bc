/// Maps the attributes of an entity's Swift type to the fields of a store's rows.
///
/// A macro-generated codec knows attributes by their position in the declaration; a row knows them
/// by field id. The layout maps one to the other, for one store.
public struct FieldLayout: Sendable, Hashable {
    /// The field id of each attribute, in declaration order.
    @usableFromInline package let fields: [FieldID]
    /// Whether the ids ascend, so that fields written in declaration order are in row order.
    @usableFromInline package let isAscending: Bool
    /// Where the bytes of external attributes are; nil if the entity has no such attribute, or the store no files.
    package let external: ExternalValues?

    package init(fields: [FieldID], external: ExternalValues? = nil) {
        self.fields = fields
        self.external = external
        isAscending = zip(fields, fields.dropFirst()).allSatisfy { $0 < $1 }
    }

    /// Whether both have the same fields.
    public static func == (left: FieldLayout, right: FieldLayout) -> Bool {
        left.fields == right.fields
    }

    /// Hashes the fields.
    public func hash(into hasher: inout Hasher) { hasher.combine(fields) }
}
