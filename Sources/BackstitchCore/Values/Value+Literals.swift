extension Value: ExpressibleByStringLiteral {
    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension Value: ExpressibleByStringInterpolation {}

extension Value: ExpressibleByIntegerLiteral {
    /// A whole number of 64 bits.
    public init(integerLiteral value: Int64) { self = .int64(value) }
}

extension Value: ExpressibleByFloatLiteral {
    /// A floating-point number.
    public init(floatLiteral value: Double) { self = .double(value) }
}

extension Value: ExpressibleByBooleanLiteral {
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension Value: ExpressibleByArrayLiteral {
    /// A list.
    public init(arrayLiteral elements: Value...) { self = .list(elements) }
}
