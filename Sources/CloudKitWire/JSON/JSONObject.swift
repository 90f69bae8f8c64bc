package import BackstitchCore

/// The members of a JSON object, read by name and type.
///
/// A member that is null counts as absent, as everywhere in the protocol.
package struct JSONObject: Sendable {
    /// The object.
    package let item: JSONItem

    private init(_ item: JSONItem) { self.item = item }

    /// The object that a value is.
    package init(_ value: JSONItem, of name: String) throws(WireFormatError) {
        guard value.isObject else { throw Self.mismatch(name, "an object") }
        self.init(value)
    }

    /// The object that bytes spell.
    package init(
        body: [UInt8], depthMax: Int = JSONParser.depthMax
    ) throws(WireFormatError) {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(body, depthMax: depthMax)
        } catch {
            throw WireFormatError("The body is no JSON: \(error.message), at byte \(error.offset).")
        }
        try self.init(document.root, of: "the body")
    }

    /// An object without members.
    package static let empty = JSONObject(JSONDocument.emptyObject.root)

    /// The number of members.
    package var count: Int { item.count }

    /// The value of a member; nil if it is null or absent.
    ///
    /// - Complexity: O(*n*) in the number of members.
    package func value(_ name: String) -> JSONItem? {
        guard let value = item.member(name), !value.isNull else { return nil }
        return value
    }

    /// Whether there is a member of that name, null included.
    package func has(_ name: String) -> Bool { item.member(name) != nil }

    /// Text; another name counts if the first is absent.
    package func text(
        _ name: String, _ otherName: String? = nil
    ) throws(WireFormatError) -> String? {
        guard let value = value(name) ?? otherName.flatMap(value) else { return nil }
        guard let text = value.text else { throw Self.mismatch(name, "text") }
        return text
    }

    /// Text that must be there.
    package func requiredText(_ name: String) throws(WireFormatError) -> String {
        guard let text = try text(name) else { throw Self.missing(name) }
        return text
    }

    /// True or false; another name counts if the first is absent.
    package func flag(
        _ name: String, _ otherName: String? = nil
    ) throws(WireFormatError) -> Bool? {
        guard let value = value(name) ?? otherName.flatMap(value) else { return nil }
        guard let flag = value.flag else { throw Self.mismatch(name, "true or false") }
        return flag
    }

    /// A whole number.
    package func integer(_ name: String) throws(WireFormatError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard let number = value.integer else { throw Self.mismatch(name, "a whole number") }
        return number
    }

    /// A finite number.
    package func number(_ name: String) throws(WireFormatError) -> Double? {
        guard let value = value(name) else { return nil }
        guard let number = value.finiteNumber else { throw Self.mismatch(name, "a number") }
        return number
    }

    /// An object.
    package func object(_ name: String) throws(WireFormatError) -> JSONObject? {
        guard let value = value(name) else { return nil }
        return try JSONObject(value, of: name)
    }

    /// An object that must be there.
    package func requiredObject(_ name: String) throws(WireFormatError) -> JSONObject {
        guard let object = try object(name) else { throw Self.missing(name) }
        return object
    }

    /// A list of values.
    package func array(_ name: String) throws(WireFormatError) -> [JSONItem]? {
        guard let value = value(name) else { return nil }
        guard value.isArray else { throw Self.mismatch(name, "a list") }
        return value.elements
    }

    /// A list of texts.
    package func texts(_ name: String) throws(WireFormatError) -> [String]? {
        guard let elements = try array(name) else { return nil }
        var texts: [String] = []
        texts.reserveCapacity(elements.count)
        for element in elements {
            guard let text = element.text else { throw Self.mismatch(name, "texts") }
            texts.append(text)
        }
        return texts
    }

    /// A list of objects, each read in its place; nil if it is absent.
    package func objects<Element>(
        _ name: String, _ read: (JSONObject) throws(WireFormatError) -> Element
    ) throws(WireFormatError) -> [Element]? {
        guard let elements = try array(name) else { return nil }
        var objects: [Element] = []
        objects.reserveCapacity(elements.count)
        for element in elements { objects.append(try read(JSONObject(element, of: name))) }
        return objects
    }

    /// A list of objects that must be there.
    package func requiredObjects<Element>(
        _ name: String, _ read: (JSONObject) throws(WireFormatError) -> Element
    ) throws(WireFormatError) -> [Element] {
        guard let objects = try objects(name, read) else { throw Self.missing(name) }
        return objects
    }

    /// The error for a member that is not there.
    package static func missing(_ name: String) -> WireFormatError {
        WireFormatError("The key '\(name)' is missing.")
    }

    /// The error for a member of a field that has another type.
    static func mismatch(_ name: String, _ expected: String, field: String) -> WireFormatError {
        WireFormatError(mismatch(name, expected).message, field: field)
    }

    /// The error for a member of another type.
    package static func mismatch(_ name: String, _ expected: String) -> WireFormatError {
        WireFormatError("Unexpected input: '\(name)' takes \(expected).")
    }
}

extension JSONItem {
    /// The value as a whole number of 64 bits: `5`, and as JSON has it also `5.0` and `5e0`. Text
    /// counts if it spells one in digits.
    package var integer: Int64? {
        guard isNumber || isText else { return nil }
        if let number = unsafe withUTF8({ unsafe Self.plainInteger($0) }) { return number }
        guard let text = numberOrText else { return nil }
        return isNumber ? Int64(text) ?? Int64(wholeNumber: text) : Int64(text)
    }

    /// A number of up to 18 digits; nil if it is spelled in another way.
    private static func plainInteger(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        var number: Int64 = 0
        let isNegative = unsafe bytes.first == UInt8(ascii: "-")
        let first = isNegative ? 1 : 0
        guard (1...18).contains(bytes.count - first) else { return nil }
        for index in first..<bytes.count {
            let digit = unsafe bytes[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            number = number * 10 + Int64(digit)
        }
        return isNegative ? -number : number
    }

    /// Whether the value is a number that is written without a fraction and an exponent.
    var isPlainInteger: Bool { isNumber && numberOrText.flatMap { Int64($0) } != nil }

    /// The value as a finite number; text counts if it spells one.
    package var finiteNumber: Double? {
        numberOrText.flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil }
    }
}
