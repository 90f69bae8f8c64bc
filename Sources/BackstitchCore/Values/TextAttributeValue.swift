/// A text, or one that may be nil: what can be compared without case and accents.
public protocol _TextAttributeValue: AttributeValue {}

extension String: _TextAttributeValue {}
extension Optional: _TextAttributeValue where Wrapped == String {}
