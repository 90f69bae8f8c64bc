/// A JSON text that was checked as a whole, and where its values are.
///
/// The tokens are in the order of the text: a name comes before its value, and a list or an object before its
/// parts.
package final class JSONDocument: Sendable {
    let bytes: [UInt8]
    let tokens: [JSONToken]

    /// An object without members.
    package static let emptyObject = JSONDocument(
        Array("{}".utf8), [JSONToken(.object, 0, 0, next: 1)])

    private init(_ bytes: [UInt8], _ tokens: [JSONToken]) {
        self.bytes = bytes
        self.tokens = tokens
    }

    /// Checks a text, strictly: UTF-8 only, no name twice, bounded depth.
    ///
    /// - Complexity: O(*n*) in the bytes.
    package init(
        _ bytes: [UInt8], depthMax: Int = JSONParser.depthMax
    ) throws(JSONError) {
        self.bytes = bytes
        let result = unsafe bytes.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in
                var parser = unsafe JSONParser(bytes, depthMax: depthMax)
                try parser.parse()
                return parser.tokens
            }
        }
        tokens = try result.get()
    }

    /// The value that the whole text is.
    package var root: JSONItem { JSONItem(document: self, index: 0) }
}

/// One value of a JSON text that was checked; it keeps the text.
package struct JSONItem: Sendable {
    let document: JSONDocument
    let index: Int

    var token: JSONToken { document.tokens[index] }

    package var isNull: Bool { token.kind == .null }
    package var isNumber: Bool { token.kind == .number }
    package var isText: Bool { token.kind.isText }
    package var isArray: Bool { token.kind == .array }
    package var isObject: Bool { token.kind == .object }

    /// True or false; nil if it is another value.
    package var flag: Bool? {
        switch token.kind {
        case .yes: true
        case .no: false
        default: nil
        }
    }

    /// The number of elements of a list, or of members of an object; 0 of other values.
    package var count: Int { isArray || isObject ? Int(token.end) : 0 }

    /// Text; nil if it is another value.
    package var text: String? {
        guard isText else { return nil }
        return unsafe withUTF8 { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The spelling of a number, or text; nil if it is another value.
    package var numberOrText: String? {
        isNumber ? unsafe withUTF8 { unsafe String(decoding: $0, as: UTF8.self) } : text
    }

    /// Gives a closure the characters of a text, or those of a number as it is spelled.
    package func withUTF8<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        let token = token
        return unsafe document.bytes.withUnsafeBytes { bytes in
            let part = unsafe bytes.part(Int(token.start)..<Int(token.end))
            guard token.kind == .escapedString else { return unsafe body(part) }
            return unsafe part.unescapedJSON.withUnsafeBytes { unsafe body($0) }
        }
    }

    /// Whether it is text with these characters.
    package func isText(_ text: StaticString) -> Bool {
        guard isText else { return false }
        return unsafe withUTF8 { bytes in
            unsafe bytes.holdsSameBytes(
                as: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        }
    }

    /// The elements of a list; none of other values.
    package var elements: [JSONItem] {
        guard isArray else { return [] }
        var elements: [JSONItem] = []
        elements.reserveCapacity(count)
        var next = index + 1
        while next < Int(token.next) {
            elements.append(JSONItem(document: document, index: next))
            next = Int(document.tokens[next].next)
        }
        return elements
    }

    /// Gives a closure the members of an object in their order: the name, which is text, and the value.
    package func visitMembers<Failure: Error>(
        _ body: (_ name: JSONItem, _ value: JSONItem) throws(Failure) -> Void
    ) throws(Failure) {
        guard isObject else { return }
        var next = index + 1
        while next < Int(token.next) {
            let value = JSONItem(document: document, index: next + 1)
            try body(JSONItem(document: document, index: next), value)
            next = Int(value.token.next)
        }
    }

    /// The value of a member of an object; nil if no member has that name.
    ///
    /// - Complexity: O(*n*) in the number of members.
    package func member(_ name: String) -> JSONItem? {
        guard isObject else { return nil }
        let isASCII = name.utf8Span.isKnownASCII
        var name = name
        let found = name.withUTF8 { text in
            unsafe document.place(
                of: UnsafeRawBufferPointer(text), isASCII: isASCII, inObjectAt: index)
        }
        return found.map { JSONItem(document: document, index: $0) }
    }

    /// The value as a tree.
    package var value: JSONValue {
        switch token.kind {
        case .null: return .null
        case .no: return .bool(false)
        case .yes: return .bool(true)
        case .number: return .number(numberOrText ?? "")
        case .asciiString, .plainString, .escapedString: return .string(text ?? "")
        case .array: return .array(elements.map(\.value))
        case .object:
            var members: [JSONValue.Member] = []
            members.reserveCapacity(count)
            visitMembers { members.append(JSONValue.Member(name: $0.text ?? "", value: $1.value)) }
            return .object(members)
        }
    }
}

extension JSONDocument {
    /// The token of the value of a member.
    fileprivate func place(
        of name: UnsafeRawBufferPointer, isASCII: Bool, inObjectAt object: Int
    ) -> Int? {
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe tokens.withUnsafeBufferPointer { tokens in
                var index = object + 1
                let end = unsafe Int(tokens[object].next)
                while index < end {
                    let token = unsafe tokens[index]
                    let part = unsafe bytes.part(Int(token.start)..<Int(token.end))
                    // Equal texts of ASCII are equal bytes; others may have several spellings.
                    let isSame =
                        isASCII && token.kind == .asciiString
                        ? unsafe part.holdsSameBytes(as: name)
                        : unsafe part.jsonText(token.kind) == String(decoding: name, as: UTF8.self)
                    if isSame { return index + 1 }
                    index = unsafe Int(tokens[index + 1].next)
                }
                return nil
            }
        }
    }
}
