import Foundation

/// Why an attribute can not have a value.
package struct ValueError: Error, Hashable, Sendable {
    package let reason: String
}

extension RecordValue {
    /// The value as a record holds it under an attribute of a type, which a Swift type can read.
    ///
    /// - Parameter type: The declared type; nil for an attribute that no schema declares.
    package func saved(as type: AttributeType?) throws(ValueError) -> RecordValue {
        try checkRange()
        guard let type else { return self }
        guard let value = converted(to: type) else {
            throw ValueError(reason: "it is of the type \(tag.name) and not \(type)")
        }
        return try type.traits?.saved(value) ?? value
    }

    private func checkRange() throws(ValueError) {
        switch self {
        case .list(let elements):
            for element in elements {
                if case .list = element {
                    throw ValueError(reason: "there is a list inside the list")
                }
                try element.checkRange()
            }
        case .unknown(let value):
            if let violation = value.violation { throw ValueError(reason: violation) }
        default:
            if let violation = traits?.violation(of: self) { throw ValueError(reason: violation) }
        }
    }
}
