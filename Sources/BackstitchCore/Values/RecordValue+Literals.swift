extension RecordValue: ExpressibleByStringLiteral {
    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension RecordValue: ExpressibleByStringInterpolation {}

extension RecordValue: ExpressibleByIntegerLiteral {
    /// A whole number of 64 bits.
    public init(integerLiteral value: Int64) { self = .int64(value) }
}

extension RecordValue: ExpressibleByFloatLiteral {
    /// A floating-point number.
    public init(floatLiteral value: Double) { self = .double(value) }
}

extension RecordValue: ExpressibleByBooleanLiteral {
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension RecordValue: ExpressibleByArrayLiteral {
    /// A list.
    public init(arrayLiteral elements: RecordValue...) { self = .list(elements) }
}
