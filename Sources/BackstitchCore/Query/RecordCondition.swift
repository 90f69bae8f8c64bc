/// A condition on the records of an entity, by attribute names, for code without Swift types.
///
/// A name or a value's type that does not fit the entity is found when the query is run.
public struct RecordCondition: Hashable, Sendable {
    package let condition: Condition

    package init(_ condition: Condition) {
        self.condition = condition
    }

    /// Holds if the attribute has the value; `.null` asks for records without one.
    public static func equal(_ attribute: String, _ value: RecordValue) -> Self {
        Self(.comparison(.attribute(attribute), .equal, .constant(value)))
    }

    /// Holds if the attribute has another value or none; with `.null`, if it has any.
    public static func notEqual(_ attribute: String, _ value: RecordValue) -> Self {
        Self(.comparison(.attribute(attribute), .notEqual, .constant(value)))
    }

    /// Holds if the attribute's value sorts before the given one.
    public static func less(_ attribute: String, than value: RecordValue) -> Self {
        Self(.comparison(.attribute(attribute), .less, .constant(value)))
    }

    /// Holds if the attribute's value sorts before the given one or equals it.
    public static func atMost(_ attribute: String, _ value: RecordValue) -> Self {
        Self(.comparison(.attribute(attribute), .lessOrEqual, .constant(value)))
    }

    /// Holds if the attribute's value sorts after the given one.
    public static func greater(_ attribute: String, than value: RecordValue) -> Self {
        Self(.comparison(.attribute(attribute), .greater, .constant(value)))
    }

    /// Holds if the attribute's value sorts after the given one or equals it.
    public static func atLeast(_ attribute: String, _ value: RecordValue) -> Self {
        Self(.comparison(.attribute(attribute), .greaterOrEqual, .constant(value)))
    }

    /// Holds if the attribute has one of the values.
    public static func member(_ attribute: String, of values: [RecordValue]) -> Self {
        Self(.membership(.attribute(attribute), values))
    }

    /// Holds if the attribute's text contains another, by characters.
    public static func contains(_ attribute: String, _ text: String) -> Self {
        Self(.contains(.attribute(attribute), .constant(.string(text))))
    }

    /// Holds if the attribute's text starts with another, by characters.
    public static func starts(_ attribute: String, with text: String) -> Self {
        Self(.prefix(.attribute(attribute), .constant(.string(text))))
    }

    /// Holds for the records with these names.
    public static func records(named names: [String], in zone: RecordID.Zone = .own) -> Self {
        records(names.map { RecordKey($0, zone: zone) })
    }

    package static func records(_ keys: [RecordKey]) -> Self {
        Self(.membership(.recordKey, keys.map { .reference($0) }))
    }

    /// Matches records that match all of the conditions.
    public static func all(_ conditions: [RecordCondition]) -> Self {
        Self(.all(conditions.map(\.condition)))
    }

    /// Matches records that match at least one of the conditions.
    public static func any(_ conditions: [RecordCondition]) -> Self {
        Self(.any(conditions.map(\.condition)))
    }

    /// Holds if the condition does not.
    public static func not(_ condition: RecordCondition) -> Self {
        Self(.not(condition.condition))
    }
}
