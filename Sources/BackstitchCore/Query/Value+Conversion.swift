import Foundation

extension Value {
    /// The value as an attribute of a type has it; nil if it is none of that type.
    ///
    /// Numbers go if they mean the same: an integer is also a double and a decimal, 0 and 1 are
    /// also truth values. Text that spells a UUID is one. Null is a value of every type.
    package func converted(to type: AttributeType) -> Value? {
        switch (self, type) {
        case (.null, _), (.string, .string), (.string, .url), (.bytes, .data), (.bool, .bool),
            (.int64, .int16), (.int64, .int32), (.int64, .int64), (.date, .date), (.uuid, .uuid),
            (.double, .double), (.double, .float), (.decimal, .decimal),
            (.reference, .reference), (.location, .location):
            self
        case (.int64(let number), .double), (.int64(let number), .float):
            Double(exactly: number).map { .double($0) }
        case (.int64(let number), .decimal):
            .decimal(Decimal(number))
        case (.double(let number), .decimal):
            Decimal(string: "\(number)").map { .decimal($0) }
        case (.int64(let number), .bool):
            number == 0 || number == 1 ? .bool(number == 1) : nil
        case (.string(let text), .uuid):
            UUID(uuidString: text).map { .uuid($0) }
        case (.list(let elements), _):
            type.element.flatMap { Self.list(elements, of: $0) }
        default:
            nil
        }
    }

    private static func list(_ elements: [Value], of type: AttributeType) -> Value? {
        let converted = elements.compactMap { $0 == .null ? nil : $0.converted(to: type) }
        return converted.count == elements.count ? .list(converted) : nil
    }
}
