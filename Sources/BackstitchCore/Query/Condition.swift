/// What a row must be like to belong to a query's answer, by attribute names.
package indirect enum Condition: Hashable, Sendable {
    case constant(Bool)
    /// Null equals null and nothing else; in the order of values it is neither before nor after.
    case comparison(Operand, Comparison, Operand)
    case isNull(Operand)
    /// Whether the operand equals one of the values; null may be among them.
    case membership(Operand, [RecordValue])
    /// Whether the text of the first operand contains that of the second, by characters.
    case contains(Operand, Operand)
    /// Whether the text of the first operand starts with that of the second, by characters.
    case prefix(Operand, Operand)
    /// Whether an element of a list fulfils a condition, which names it by its depth.
    case anyElement(Operand, Condition)
    /// Whether the number of records that refer to this one and fulfil a condition compares with
    /// another number as asked for.
    case referrers(InverseReference, Condition, Comparison, Int)
    /// Whether all hold; those after the first that does not are not looked at.
    case all([Condition])
    /// Whether one holds; those after it are not looked at.
    case any([Condition])
    case not(Condition)
    /// Whether the operand is true; null is not.
    case test(Operand)
    /// The second condition if the first holds, else the third.
    case conditional(Condition, Condition, Condition)
}

/// The records of an entity that refer to others by one of its attributes.
package struct InverseReference: Hashable, Sendable {
    package let entity: String
    package let attribute: String

    package init(entity: String, attribute: String) {
        self.entity = entity
        self.attribute = attribute
    }
}
