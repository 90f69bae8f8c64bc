/// An entity as the source declares it.
struct EntityDeclaration {
    /// The name in the store.
    var name = ""
    /// The access modifier of the generated members, with a space behind it, or nothing.
    var access = ""
    /// Whether the struct declares initialisers, so that it has no memberwise one.
    var hasInitializer = false
    /// How many attributes stand before the identity.
    var idPosition = 0
    /// The stored attributes in declaration order.
    var attributes: [AttributeDeclaration] = []
    /// The to-many relationships in declaration order.
    var toMany: [ToManyDeclaration] = []
}
