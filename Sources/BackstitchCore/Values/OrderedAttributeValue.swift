public import Foundation

/// A type of attributes whose values have an order.
///
/// Text is in the order of its characters, enums are in the order of their raw values, ids in the order
/// of record names. Lists, places and data have none.
public protocol OrderedAttributeValue: AttributeValue {
    /// The type itself, without nil.
    associatedtype _Bound: OrderedAttributeValue = Self
}

extension String: OrderedAttributeValue {}
extension Bool: OrderedAttributeValue {}
extension Int: OrderedAttributeValue {}
extension Int64: OrderedAttributeValue {}
extension Int32: OrderedAttributeValue {}
extension Int16: OrderedAttributeValue {}
extension Double: OrderedAttributeValue {}
extension Float: OrderedAttributeValue {}
extension Decimal: OrderedAttributeValue {}
extension Date: OrderedAttributeValue {}
extension Duration: OrderedAttributeValue {}
extension UUID: OrderedAttributeValue {}
extension URL: OrderedAttributeValue {}
extension Optional: OrderedAttributeValue where Wrapped: OrderedAttributeValue {
    /// The type that the optional wraps.
    public typealias _Bound = Wrapped._Bound
}
