/// One entry of packed fields, in place; valid as long as they are.
///
/// Its bytes are the little-endian 32-bit byte counts of the name and of the value, a byte of flags, the name in
/// UTF-8, and the value: the tag that a row has for it, and a payload. Values that a row has in the same form have
/// the same payload; see ``ServiceValue/append(packedTo:)`` for the others.
@safe
package struct NamedFieldEntry {
    /// How a field is kept, beside its value.
    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The service keeps it sealed.
        package static let isEncrypted = Flags(rawValue: 1)
        /// The sender gave no type, so it follows from the value.
        package static let isUntyped = Flags(rawValue: 2)
    }

    /// The bytes before the name.
    static let headBytes = 9

    package let name: UnsafeRawBufferPointer
    /// The tag and the payload.
    package let value: UnsafeRawBufferPointer
    package let flags: Flags

    /// The first entry of some bytes; nil if they are empty.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > Self.headBytes else { return nil }
        let nameCount = unsafe Int(bytes.little(UInt32.self, at: 0))
        let valueCount = unsafe Int(bytes.little(UInt32.self, at: 4))
        let start = Self.headBytes + nameCount
        unsafe flags = Flags(rawValue: bytes[8])
        unsafe name = bytes.part(Self.headBytes..<start)
        unsafe value = bytes.part(start..<(start + valueCount))
    }

    /// The bytes of the whole entry.
    package var byteCount: Int { unsafe Self.headBytes + name.count + value.count }

    package var nameText: String { unsafe String(decoding: name, as: UTF8.self) }

    /// The kind of the value.
    package var tag: FieldTag { unsafe FieldTag(rawValue: value[0]) ?? .null }

    /// The bytes behind the tag.
    package var payload: UnsafeRawBufferPointer { unsafe value.part(1..<value.count) }

    package var decoded: ServiceValue { unsafe ServiceValue(packed: value) }

    /// The size of the value that the limits of the protocol count, in bytes.
    package var countedBytes: Int {
        switch tag {
        case .string, .bytes: unsafe payload.count
        case .int64, .double, .date: 8
        default: decoded.countedBytes
        }
    }

    /// Whether the names are the same bytes.
    func holdsSameName(as other: NamedFieldEntry) -> Bool {
        unsafe name.holdsSameBytes(as: other.name)
    }

    /// Whether the values are equal.
    func holdsSameValue(as other: NamedFieldEntry) -> Bool {
        let mayDiffer = tag == .double || tag == .location || tag == .list
        if unsafe !mayDiffer && value.holdsSameBytes(as: other.value) { return true }
        return tag == other.tag && decoded == other.decoded
    }
}

/// Packed fields that are read, in place.
@safe
package struct NamedFieldsReader {
    private let bytes: UnsafeRawBufferPointer
    private let hasPlainNames: Bool

    fileprivate init(_ bytes: UnsafeRawBufferPointer, hasPlainNames: Bool) {
        unsafe self.bytes = bytes
        self.hasPlainNames = hasPlainNames
    }

    /// The entry at an offset; nil at the end.
    func entry(at offset: Int) -> NamedFieldEntry? {
        unsafe NamedFieldEntry(bytes.part(offset..<bytes.count))
    }

    var first: NamedFieldEntry? { entry(at: 0) }

    /// Gives a closure each entry, in the order of the names.
    package func visit<Failure: Error>(
        _ body: (NamedFieldEntry) throws(Failure) -> Void
    ) throws(Failure) {
        var offset = 0
        while let entry = entry(at: offset) {
            try body(entry)
            offset += entry.byteCount
        }
    }

    /// The entry with a name; nil if no entry has it.
    package func entry(named name: String) -> NamedFieldEntry? {
        var text = name
        return text.withUTF8 { text in
            unsafe entry(namedUTF8: UnsafeRawBufferPointer(text))
        }
    }

    /// The entry with the name that another one has.
    func entry(namedAs other: NamedFieldEntry) -> NamedFieldEntry? {
        unsafe entry(namedUTF8: other.name)
    }

    private func entry(namedUTF8 name: UnsafeRawBufferPointer) -> NamedFieldEntry? {
        var offset = 0
        while let entry = entry(at: offset) {
            if unsafe entry.name.holdsSameBytes(as: name) { return entry }
            offset += entry.byteCount
        }
        if hasPlainNames, unsafe name.allSatisfy({ $0 < 0x80 }) { return nil }
        // The same text may be spelled by other bytes.
        let text = unsafe String(decoding: name, as: UTF8.self)
        offset = 0
        while let entry = entry(at: offset) {
            if entry.nameText == text { return entry }
            offset += entry.byteCount
        }
        return nil
    }

    /// Where an entry with the name of another one belongs.
    func start(of other: NamedFieldEntry?) -> Int {
        guard let other else { return unsafe bytes.count }
        var offset = 0
        while let entry = entry(at: offset), unsafe entry.name.precedes(other.name) {
            offset += entry.byteCount
        }
        return offset
    }

    /// Where an entry of these fields is.
    func range(of entry: NamedFieldEntry) -> Range<Int> {
        guard let base = unsafe bytes.baseAddress, let name = unsafe entry.name.baseAddress else {
            return 0..<0
        }
        let start = unsafe name - base - NamedFieldEntry.headBytes
        return start..<(start + entry.byteCount)
    }
}

extension NamedFields {
    /// Gives a closure the fields, in place.
    package func withReader<Value, Failure: Error>(
        _ body: (NamedFieldsReader) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let result = unsafe bytes.withUnsafeBytes { bytes in
            Result { () throws(Failure) in
                try body(unsafe NamedFieldsReader(bytes, hasPlainNames: hasPlainNames))
            }
        }
        return try result.get()
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes come before others, compared one by one.
    func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
        let common = Swift.min(count, other.count)
        for index in 0..<common {
            let (mine, theirs) = unsafe (self[index], other[index])
            if mine != theirs { return mine < theirs }
        }
        return count < other.count
    }
}
