public import Foundation

/// A number that an attribute can have, or an optional of one: what can be summed up.
public protocol SummableValue: AttributeValue {
    /// The type of a sum.
    associatedtype _Sum: AttributeValue
    /// The type of a mean.
    associatedtype _Average: AttributeValue
}

extension Int: SummableValue {
    /// A sum is an `Int`.
    public typealias _Sum = Int
    /// A mean is a `Double`.
    public typealias _Average = Double
}
extension Int64: SummableValue {
    /// A sum is an `Int64`.
    public typealias _Sum = Int64
    /// A mean is a `Double`.
    public typealias _Average = Double
}
extension Int32: SummableValue {
    /// A sum is an `Int`.
    public typealias _Sum = Int
    /// A mean is a `Double`.
    public typealias _Average = Double
}
extension Int16: SummableValue {
    /// A sum is an `Int`.
    public typealias _Sum = Int
    /// A mean is a `Double`.
    public typealias _Average = Double
}
extension Double: SummableValue {
    /// A sum is a `Double`.
    public typealias _Sum = Double
    /// A mean is a `Double`.
    public typealias _Average = Double
}
extension Float: SummableValue {
    /// A sum is a `Double`.
    public typealias _Sum = Double
    /// A mean is a `Double`.
    public typealias _Average = Double
}
extension Decimal: SummableValue {
    /// A sum is a `Decimal`.
    public typealias _Sum = Decimal
    /// A mean is a `Decimal`.
    public typealias _Average = Decimal
}
extension Duration: SummableValue {
    /// A sum is a `Duration`.
    public typealias _Sum = Duration
    /// A mean is a `Duration`, in whole nanoseconds.
    public typealias _Average = Duration
}
extension Optional: SummableValue where Wrapped: SummableValue {
    /// The sum of the values that there are.
    public typealias _Sum = Wrapped._Sum
    /// The mean of the values that there are.
    public typealias _Average = Wrapped._Average
}
