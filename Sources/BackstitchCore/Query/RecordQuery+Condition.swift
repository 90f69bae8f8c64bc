extension RecordQuery {
    /// A condition on the records of an entity, by attribute names, for code without Swift types.
    ///
    /// Names with dots between them lead over references to an attribute of another record:
    /// `department.name`. It is null if one of the references leads to no record.
    ///
    /// `fold(name)` is a text without case and accents, and `day(created)`, `week`, `month` and `year` are the
    /// beginnings of these in UTC, or in a time zone: `day(created, Europe/Berlin)`.
    ///
    /// A name or a value's type that does not fit the entity is found when the query is run.
    public struct Condition: Hashable, Sendable {
        package let condition: BackstitchCore.Condition

        package init(_ condition: BackstitchCore.Condition) {
            self.condition = condition
        }

        /// Holds if the attribute has the value; `.null` asks for records without one.
        public static func equal(_ attribute: String, _ value: RecordValue) -> Self {
            Self(.comparison(Operand(path: attribute), .equal, .constant(value)))
        }

        /// Holds if the attribute has another value or none; with `.null`, if it has any.
        public static func notEqual(_ attribute: String, _ value: RecordValue) -> Self {
            Self(.comparison(Operand(path: attribute), .notEqual, .constant(value)))
        }

        /// Holds if the attribute's value sorts before the given one.
        public static func less(_ attribute: String, than value: RecordValue) -> Self {
            Self(.comparison(Operand(path: attribute), .less, .constant(value)))
        }

        /// Holds if the attribute's value sorts before the given one or equals it.
        public static func atMost(_ attribute: String, _ value: RecordValue) -> Self {
            Self(.comparison(Operand(path: attribute), .lessOrEqual, .constant(value)))
        }

        /// Holds if the attribute's value sorts after the given one.
        public static func greater(_ attribute: String, than value: RecordValue) -> Self {
            Self(.comparison(Operand(path: attribute), .greater, .constant(value)))
        }

        /// Holds if the attribute's value sorts after the given one or equals it.
        public static func atLeast(_ attribute: String, _ value: RecordValue) -> Self {
            Self(.comparison(Operand(path: attribute), .greaterOrEqual, .constant(value)))
        }

        /// Holds if the attribute has one of the values.
        public static func member(_ attribute: String, of values: [RecordValue]) -> Self {
            Self(.membership(Operand(path: attribute), values))
        }

        /// Holds if the attribute's text contains another, by characters.
        public static func contains(_ attribute: String, _ text: String) -> Self {
            Self(.contains(Operand(path: attribute), .constant(.string(text))))
        }

        /// Holds if the attribute's text starts with another, by characters.
        public static func starts(_ attribute: String, with text: String) -> Self {
            Self(.prefix(Operand(path: attribute), .constant(.string(text))))
        }

        /// Holds if the list, text or data of an attribute has as many elements, characters or bytes.
        ///
        /// - Parameter count: A number, or a range of numbers such as `2...`.
        public static func count(_ attribute: String, _ count: some _QueryCount) -> Self {
            Self(
                count.condition {
                    BackstitchCore.Condition(count: $0, $1, of: Operand(path: attribute))
                })
        }

        package static func count(
            _ attribute: String, _ comparison: Comparison, _ number: Int
        ) -> Self {
            Self(BackstitchCore.Condition(count: comparison, number, of: Operand(path: attribute)))
        }

        /// The name of the list's element in a condition on elements.
        public static let element = Operand.elementPath

        /// Holds if an element of a list attribute fulfils a condition, in which the element is
        /// called ``element``.
        public static func anyElement(of attribute: String, _ condition: Self) -> Self {
            Self(.anyElement(Operand(path: attribute), condition.condition.deepened()))
        }

        /// Holds if a reference leads to a record that fulfils a condition.
        public static func related(_ reference: String, fulfils condition: Self) -> Self {
            Self(.test(.related(reference, .condition(condition.condition))))
        }

        /// Holds if as many records of an entity refer to this one as asked for.
        ///
        /// - Parameters:
        ///   - entity: The entity at the other end.
        ///   - reference: The attribute there that refers to this entity's records.
        ///   - count: A number, or a range of numbers such as `2...`.
        ///   - condition: What the records that count have to fulfil; nil counts all.
        public static func referrers(
            _ entity: String, by reference: String, _ count: some _QueryCount,
            fulfilling condition: Self? = nil
        ) -> Self {
            Self(
                count.condition {
                    referrers(entity, by: reference, $0, $1, fulfilling: condition).condition
                })
        }

        package static func referrers(
            _ entity: String, by reference: String, _ comparison: Comparison, _ number: Int,
            fulfilling condition: Self? = nil
        ) -> Self {
            Self(
                .referrers(
                    InverseReference(entity: entity, attribute: reference),
                    condition?.condition ?? .constant(true), comparison, number))
        }

        /// Holds for the records with these names.
        public static func records(named names: [String], in zone: RecordID.Zone = .own) -> Self {
            records(names.map { RecordKey($0, zone: zone) })
        }

        package static func records(_ keys: [RecordKey]) -> Self {
            Self(.membership(.recordKey, keys.map { .reference($0) }))
        }

        /// Matches records that match all of the conditions.
        public static func all(_ conditions: [Self]) -> Self {
            // A list in the list is part of it, so that a loop that adds to one nests nothing.
            let parts = conditions.flatMap { one -> [BackstitchCore.Condition] in
                if case .all(let parts) = one.condition { parts } else { [one.condition] }
            }
            return Self(.all(parts))
        }

        /// Matches records that match at least one of the conditions.
        public static func any(_ conditions: [Self]) -> Self {
            let parts = conditions.flatMap { one -> [BackstitchCore.Condition] in
                if case .any(let parts) = one.condition { parts } else { [one.condition] }
            }
            return Self(.any(parts))
        }

        /// Holds if the condition does not.
        public static func not(_ condition: Self) -> Self {
            Self(.not(condition.condition))
        }
    }
}
