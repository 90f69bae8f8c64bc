package import BackstitchCore

/// Writes JSON (RFC 8259) member by member, without blanks.
package struct JSONWriter: ~Copyable {
    private var buffer: ByteBuffer
    /// Whether a comma goes before the next member or element.
    private var needsComma = false
    /// Whether numbers of fields are written as text.
    package var numbersAsStrings: Bool

    /// A writer that has written nothing.
    package init(numbersAsStrings: Bool = false, capacity: Int = 1024) {
        buffer = ByteBuffer(capacity: capacity)
        self.numbersAsStrings = numbersAsStrings
    }

    /// What was written.
    package var bytes: [UInt8] { unsafe [UInt8](buffer.bytes) }

    /// How many bytes were written.
    package var byteCount: Int { unsafe buffer.bytes.count }

    private mutating func open(_ byte: UInt8) {
        separate()
        buffer.append(byte)
        needsComma = false
    }

    private mutating func close(_ byte: UInt8) {
        buffer.append(byte)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { buffer.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func name(_ name: String) {
        separate()
        buffer.append(jsonText: name)
        buffer.append(UInt8(ascii: ":"))
        needsComma = false
    }

    // MARK: Elements

    /// An object as an element.
    package mutating func object<Failure: Error>(
        _ members: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        open(UInt8(ascii: "{"))
        try members(&self)
        close(UInt8(ascii: "}"))
    }

    /// A list as an element.
    package mutating func array<Elements: Sequence>(
        _ elements: Elements, _ write: (inout JSONWriter, Elements.Element) -> Void
    ) {
        array(elements: { json in for element in elements { write(&json, element) } })
    }

    /// A list as an element, whose elements a closure writes.
    package mutating func array<R, Failure: Error>(
        elements: (inout JSONWriter) throws(Failure) -> R
    ) throws(Failure) -> R {
        open(UInt8(ascii: "["))
        let result = try elements(&self)
        close(UInt8(ascii: "]"))
        return result
    }

    /// Text as an element.
    package mutating func text(_ text: String) {
        separate()
        buffer.append(jsonText: text)
    }

    /// Text as an element, by its UTF-8.
    package mutating func text(utf8 text: UnsafeRawBufferPointer) {
        separate()
        unsafe buffer.append(jsonText: text)
    }

    /// A whole number as an element.
    package mutating func integer(_ number: Int64) {
        separate()
        buffer.append(decimal: number)
    }

    /// A number as an element; null if it is not finite, which JSON can't spell.
    package mutating func number(_ number: Double) {
        separate()
        buffer.append(utf8: number.isFinite ? "\(number)" : "null")
    }

    /// True, false or null as an element.
    package mutating func flag(_ flag: Bool?) {
        separate()
        buffer.append(utf8: flag.map { $0 ? "true" : "false" } ?? "null")
    }

    /// Bytes that are JSON already, as an element.
    package mutating func raw(_ json: UnsafeRawBufferPointer) {
        separate()
        unsafe buffer.append(json)
    }

    /// A value of any kind as an element.
    package mutating func value(_ value: JSONValue) {
        switch value {
        case .null: flag(nil)
        case .bool(let value): flag(value)
        case .number(let text):
            separate()
            buffer.append(utf8: text)
        case .string(let text): self.text(text)
        case .array(let elements): array(elements) { $0.value($1) }
        case .object(let members):
            object { json in for member in members { json.member(member.name, member.value) } }
        }
    }

    // MARK: Members

    /// A text member; none if it is nil, as for all members.
    package mutating func member(_ name: String, _ text: String?) {
        guard let text else { return }
        self.name(name)
        self.text(text)
    }

    /// A text member by its UTF-8.
    package mutating func member(_ name: String, utf8 text: UnsafeRawBufferPointer) {
        self.name(name)
        separate()
        unsafe buffer.append(jsonText: text)
    }

    /// A whole number.
    package mutating func member(_ name: String, integer: Int64?) {
        guard let integer else { return }
        self.name(name)
        self.integer(integer)
    }

    /// A number.
    package mutating func member(_ name: String, number: Double?) {
        guard let number else { return }
        self.name(name)
        self.number(number)
    }

    /// True or false.
    package mutating func member(_ name: String, flag: Bool?) {
        guard let flag else { return }
        self.name(name)
        self.flag(flag)
    }

    /// An object, by the UTF-8 of its name.
    package mutating func object(
        utf8 name: UnsafeRawBufferPointer, _ members: (inout JSONWriter) -> Void
    ) {
        separate()
        unsafe buffer.append(jsonText: name)
        buffer.append(UInt8(ascii: ":"))
        needsComma = false
        object(members)
    }

    /// A value of any kind.
    package mutating func member(_ name: String, _ value: JSONValue?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    /// An object.
    package mutating func object(_ name: String, _ members: (inout JSONWriter) -> Void) {
        self.name(name)
        object(members)
    }

    /// A body as an object.
    package mutating func member(_ name: String, _ body: (some WireRequest)?) {
        guard let body else { return }
        self.name(name)
        object { body.write(to: &$0) }
    }

    /// A member whose value a closure writes as one element.
    package mutating func element(_ name: String, _ write: (inout JSONWriter) -> Void) {
        self.name(name)
        write(&self)
    }

    /// A list whose elements a closure writes.
    package mutating func array<R, Failure: Error>(
        _ name: String, elements: (inout JSONWriter) throws(Failure) -> R
    ) throws(Failure) -> R {
        self.name(name)
        return try array(elements: elements)
    }

    /// A list; none if it is nil.
    package mutating func member<Elements: Sequence>(
        _ name: String, array elements: Elements?,
        _ write: (inout JSONWriter, Elements.Element) -> Void
    ) {
        guard let elements else { return }
        self.name(name)
        array(elements, write)
    }

    /// A list of texts.
    package mutating func member(_ name: String, texts: [String]?) {
        member(name, array: texts) { $0.text($1) }
    }

    /// A list of bodies.
    package mutating func member(_ name: String, bodies: [some WireRequest]?) {
        member(name, array: bodies) { json, body in json.object { body.write(to: &$0) } }
    }

    /// Bytes that are JSON already.
    package mutating func member(_ name: String, raw: UnsafeRawBufferPointer) {
        self.name(name)
        unsafe self.raw(raw)
    }
}
