/// Maps the attributes of an entity's Swift type to the fields of a store's rows.
///
/// A macro-generated codec knows attributes by their position in the declaration; a row knows them
/// by field id. The layout maps one to the other, for one store.
public struct FieldLayout: Sendable, Hashable {
    /// The field id of each attribute, in declaration order.
    @usableFromInline package let fields: [FieldID]
    /// Whether the ids ascend, so that fields written in declaration order are in row order.
    @usableFromInline package let isAscending: Bool

    package init(fields: [FieldID]) {
        self.fields = fields
        isAscending = zip(fields, fields.dropFirst()).allSatisfy { $0 < $1 }
    }
}
