/// A text, or one that may be nil: what can be compared without case and accents.
public protocol TextAttributeValue: AttributeValue {}

extension String: TextAttributeValue {}
extension Optional: TextAttributeValue where Wrapped == String {}
