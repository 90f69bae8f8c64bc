extension RecordQuery {
    /// Something calculated from the records of an answer, by attribute names.
    public struct Aggregate: Hashable, Sendable {
        /// The function to calculate.
        public enum Function: String, Hashable, Sendable, CaseIterable {
            /// The number of records, or of those that have a value.
            case count
            /// The sum of numbers; zero of none.
            case sum
            /// The value that sorts first, or none if no record has a value.
            case minimum
            /// The value that sorts last, or none if no record has a value.
            case maximum
            /// The mean of numbers; none of none.
            case average
        }

        /// The function to calculate.
        public let function: Function
        /// The attribute; nil if records are counted.
        public let attribute: String?

        package init(_ function: Function, _ attribute: String?) {
            self.function = function
            self.attribute = attribute
        }

        /// The number of records.
        public static let count = Self(.count, nil)

        /// The number of records that have a value of an attribute.
        public static func count(_ attribute: String) -> Self { Self(.count, attribute) }

        /// The exact sum of an attribute, which is a number; a decimal sum has 38 digits at most.
        public static func sum(_ attribute: String) -> Self { Self(.sum, attribute) }

        /// The value of an attribute that sorts first. Lists and places have no order, so they are refused.
        public static func minimum(_ attribute: String) -> Self { Self(.minimum, attribute) }

        /// The value of an attribute that sorts last. Lists and places have no order, so they are refused.
        public static func maximum(_ attribute: String) -> Self { Self(.maximum, attribute) }

        /// The mean of an attribute: a double, of decimals a decimal.
        public static func average(_ attribute: String) -> Self { Self(.average, attribute) }
    }
}

extension RecordQuery {
    /// The records of an answer that have the same values, and what was calculated from them.
    public struct Group: Hashable, Sendable {
        /// The values that the records have in common, in the order of the attributes asked for.
        public let keys: [RecordValue]
        /// The results, in the order of the aggregates.
        public let values: [RecordValue]
    }
}
