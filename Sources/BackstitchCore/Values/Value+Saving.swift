import Foundation

/// Why a value is none that an attribute can have.
package struct ValueMisfit: Error, Hashable, Sendable {
    package let reason: String
}

extension Value {
    /// The value as a record holds it under an attribute of a type, which a Swift type can read.
    ///
    /// - Parameter type: The declared type; nil for an attribute that no schema declares.
    package func saved(as type: AttributeType?) throws(ValueMisfit) -> Value {
        try checkRange()
        guard let type else { return self }
        guard let value = converted(to: type) else {
            throw ValueMisfit(reason: "it is of the type \(kindName) and not \(type)")
        }
        switch (value, type) {
        case (.int64(let number), .int16) where Int16(exactly: number) == nil,
            (.int64(let number), .int32) where Int32(exactly: number) == nil:
            throw ValueMisfit(reason: "the number is out of the range of \(type)")
        case (.double(let number), .float):
            let rounded = Float(number)
            guard rounded.isFinite else {
                throw ValueMisfit(reason: "the number is out of the range of \(type)")
            }
            return .double(Double(rounded))
        case (.string(let text), .url) where URL(string: text) == nil:
            throw ValueMisfit(reason: "the text is no URL")
        default: return value
        }
    }

    private func checkRange() throws(ValueMisfit) {
        switch self {
        case .double(let number) where !number.isFinite:
            throw ValueMisfit(reason: "the number is NaN or infinite")
        case .decimal(let number) where !number.isFinite:
            throw ValueMisfit(reason: "the number is NaN")
        case .date(let milliseconds) where milliseconds.magnitude >= Self.millisecondsMax:
            throw ValueMisfit(reason: "the time is out of the range that can be stored")
        case .reference(let key):
            if let violation = key.name.violation { throw ValueMisfit(reason: violation) }
        case .location(let place):
            guard (-90...90).contains(place.latitude), (-180...180).contains(place.longitude)
            else { throw ValueMisfit(reason: "the place is not on earth") }
        case .list(let elements):
            for element in elements {
                if case .list = element {
                    throw ValueMisfit(reason: "there is a list inside the list")
                }
                try element.checkRange()
            }
        case .unknown(let value):
            if let violation = value.violation { throw ValueMisfit(reason: violation) }
        default: break
        }
    }

    /// As for times of a Swift type.
    private static let millisecondsMax: UInt64 = 1_000_000_000_000_000

    private var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "bool"
        case .int64: "int64"
        case .double: "double"
        case .string: "string"
        case .bytes: "bytes"
        case .date: "date"
        case .decimal: "decimal"
        case .uuid: "uuid"
        case .reference: "reference"
        case .location: "location"
        case .list: "list"
        case .unknown: "unknown"
        }
    }
}
