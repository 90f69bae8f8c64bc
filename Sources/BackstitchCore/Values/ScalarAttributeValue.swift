public import Foundation

/// A Swift type whose values can be elements of a list attribute: every attribute type that is
/// neither an optional nor a list, an id or a coded value.
public protocol ScalarAttributeValue: AttributeValue {}

extension String: ScalarAttributeValue {}
extension Bool: ScalarAttributeValue {}
extension Int: ScalarAttributeValue {}
extension Int64: ScalarAttributeValue {}
extension Int32: ScalarAttributeValue {}
extension Int16: ScalarAttributeValue {}
extension Double: ScalarAttributeValue {}
extension Float: ScalarAttributeValue {}
extension Decimal: ScalarAttributeValue {}
extension Date: ScalarAttributeValue {}
extension Data: ScalarAttributeValue {}
extension UUID: ScalarAttributeValue {}
extension URL: ScalarAttributeValue {}
