/// The fields of a record as values, in order of their ids.
///
/// A field that is absent and a field that is null are equal: neither has a value.
package struct Fields: Sendable {
    private var entries: [(field: FieldID, value: RecordValue)] = []

    package init() {}

    /// Decodes packed fields.
    package init(_ packed: PackedFields) throws(FieldError) {
        entries.reserveCapacity(packed.count)
        for position in 0..<packed.count {
            let value = try unsafe packed.value(at: position).decoded()
            unsafe entries.append((packed.field(at: position), value))
        }
    }

    /// Fields from pairs in any order; the last of equal ids counts.
    package init(_ pairs: [(FieldID, RecordValue)]) {
        for (field, value) in pairs { self[field] = value }
    }

    package var isEmpty: Bool { entries.isEmpty }
    package var count: Int { entries.count }
    package var ids: [FieldID] { entries.map(\.field) }

    /// The bytes that the fields take in memory, roughly: what a field costs by itself is for all
    /// the forms that it has on its way to the service.
    package var byteCount: Int {
        entries.reduce(0) { $0 + Self.fieldByteCount + $1.value.payloadByteCount }
    }

    private static let fieldByteCount = 128

    /// Whether a value is a file, or a list with one.
    package var holdsAssets: Bool { entries.contains { $0.value.holdsAssets } }

    private func position(of field: FieldID) -> (index: Int, found: Bool) {
        if let last = entries.last, last.field < field { return (entries.count, false) }
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].field < field { low = middle + 1 } else { high = middle }
        }
        return (low, low < entries.count && entries[low].field == field)
    }

    /// The value of a field: nil if it is absent, `null` if it is explicitly null.
    ///
    /// Setting nil makes the field absent.
    package subscript(field: FieldID) -> RecordValue? {
        get {
            let (index, found) = position(of: field)
            return found ? entries[index].value : nil
        }
        set {
            let (index, found) = position(of: field)
            switch (newValue, found) {
            case (.some(let value), true): entries[index].value = value
            case (.some(let value), false): entries.insert((field, value), at: index)
            case (.none, true): entries.remove(at: index)
            case (.none, false): break
            }
        }
    }

    /// The value of a field, null if it is absent.
    package func value(_ field: FieldID) -> RecordValue { self[field] ?? .null }

    /// Sets the fields that `other` has and leaves the rest.
    package mutating func overlay(_ other: Fields) {
        for (field, value) in other.entries { self[field] = value }
    }

    /// Without the fields that are explicitly null.
    package var withoutNulls: Fields {
        guard entries.contains(where: \.value.isNull) else { return self }
        var result = Fields()
        result.entries = entries.filter { !$0.value.isNull }
        return result
    }

    /// Without some fields.
    package func without(_ fields: Set<FieldID>) -> Fields {
        guard !fields.isEmpty else { return self }
        var result = Fields()
        result.entries = entries.filter { !fields.contains($0.field) }
        return result
    }

    /// Only some fields.
    package func only(_ fields: Set<FieldID>) -> Fields {
        var result = Fields()
        result.entries = entries.filter { fields.contains($0.field) }
        return result
    }

    /// The fields whose values differ, an absent field being null.
    package func differences(from other: Fields) -> [FieldID] {
        var result: [FieldID] = []
        // Both are in order of their ids.
        var index = 0
        var otherIndex = 0
        while index < entries.count || otherIndex < other.entries.count {
            let isBehind = index == entries.count
            let otherIsBehind = otherIndex == other.entries.count
            if otherIsBehind
                || (!isBehind && entries[index].field < other.entries[otherIndex].field)
            {
                if !entries[index].value.isNull { result.append(entries[index].field) }
                index += 1
            } else if isBehind || other.entries[otherIndex].field < entries[index].field {
                if !other.entries[otherIndex].value.isNull {
                    result.append(other.entries[otherIndex].field)
                }
                otherIndex += 1
            } else {
                if entries[index].value != other.entries[otherIndex].value {
                    result.append(entries[index].field)
                }
                index += 1
                otherIndex += 1
            }
        }
        return result
    }

    /// Writes the fields to a writer.
    package func write(
        to writer: inout _FieldWriter, keepsNulls: Bool = false
    ) throws(FieldError) {
        for (field, value) in entries { try writer.write(value, of: field, keepsNull: keepsNulls) }
    }
}

extension RecordValue {
    fileprivate var isNull: Bool {
        if case .null = self { true } else { false }
    }
}

extension Fields: Sequence {
    /// An iterator of its own: the array's is generic, and other modules run it unspecialized.
    package struct Iterator: IteratorProtocol {
        fileprivate let entries: [(field: FieldID, value: RecordValue)]
        private var index = 0

        fileprivate init(entries: [(field: FieldID, value: RecordValue)]) {
            self.entries = entries
        }

        package mutating func next() -> (field: FieldID, value: RecordValue)? {
            guard index < entries.count else { return nil }
            defer { index += 1 }
            return entries[index]
        }
    }

    package func makeIterator() -> Iterator { Iterator(entries: entries) }
}

extension Fields: Equatable {
    package static func == (left: Fields, right: Fields) -> Bool {
        left.differences(from: right).isEmpty
    }
}

extension Fields: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (FieldID, RecordValue)...) { self.init(elements) }
}
