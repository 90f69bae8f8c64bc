/// One test of a bound condition: what it reads, what it compares with, and where to go on.
///
/// It holds no reference and no enum with a payload, so that running it counts no references.
struct ConditionStep: BitwiseCopyable, Sendable {
    /// How the field is read and compared.
    enum Kind: UInt8, BitwiseCopyable {
        case integer, milliseconds, double, float, bool
        /// Bytes of a reference, data or a UUID.
        case reference, bytes, uuid
        /// ASCII text by bytes; other text by ``text``.
        case ascii
        /// A text of the constants, compared as a string if bytes don't tell.
        case text
        case contains, prefix
        /// Whether the field is null.
        case isNull
        /// Whether the number is one of the sorted numbers among the constants.
        case integerMember
        /// Whether the reference is to one of a set of records.
        case referenceMember
        /// The record key against bytes.
        case recordKey
        /// A test that is a closure.
        case closure
    }

    /// The outcomes of a comparison for which the test holds.
    struct Outcomes: OptionSet, BitwiseCopyable, Sendable {
        let rawValue: UInt8
        init(rawValue: UInt8) { self.rawValue = rawValue }
        static let less = Outcomes(rawValue: 1)
        static let equal = Outcomes(rawValue: 2)
        static let greater = Outcomes(rawValue: 4)
        /// A NaN is on one side.
        static let unordered = Outcomes(rawValue: 8)
        /// The stored value is null, or none of the attribute's type.
        static let null = Outcomes(rawValue: 16)
        /// The row has no such field, so that the default counts.
        static let absent = Outcomes(rawValue: 32)

        init(_ comparison: Comparison) {
            self =
                switch comparison {
                case .equal: .equal
                case .notEqual: [.less, .greater, .unordered, .null]
                case .less: .less
                case .lessOrEqual: [.less, .equal]
                case .greater: .greater
                case .greaterOrEqual: [.greater, .equal]
                }
        }

        @inline(__always)
        func has(_ outcome: UInt8) -> Bool { rawValue & outcome != 0 }
    }

    /// The targets that end the run.
    static let accept: Int32 = -1
    static let reject: Int32 = -2

    var kind: Kind
    var comparison = Comparison.equal
    var outcomes: Outcomes = []
    var type = AttributeType.int64
    var field: UInt16 = 0
    /// The step after this one if it holds, and the step if it does not; or how the run ends.
    var onTrue = Self.accept
    var onFalse = Self.reject
    /// The number to compare with, by its bits.
    var bits: UInt64 = 0
    /// The bytes of the constant among the constants; for members, the number of integers.
    var start = 0
    var count = 0
    /// The position of the closure, text or set.
    var position = 0
}
