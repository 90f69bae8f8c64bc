/// The fields of a record by their names, each with a value of the service.
///
/// It is used as a dictionary is:
///
/// ```swift
/// var fields: NamedFields = ["title": .string("Shopping"), "count": .int64(3)]
/// fields["title"] = .string("Errands")
/// for (name, value) in fields { print(name, value) }
/// ```
///
/// The values are packed into one run of bytes, in the order of the names as UTF-8, and each is decoded when it
/// is read. Two are equal if they have equal values under the same names.
public struct NamedFields: Sendable {
    /// The entries one after another, see ``NamedFieldEntry``.
    var bytes: [UInt8]
    /// The number of fields.
    public private(set) var count: Int
    /// Whether all names are ASCII, so that equal names are equal bytes.
    private(set) var hasPlainNames: Bool

    /// No fields.
    public init() { self.init(bytes: [], count: 0, hasPlainNames: true) }

    init(bytes: [UInt8], count: Int, hasPlainNames: Bool) {
        self.bytes = bytes
        self.count = count
        self.hasPlainNames = hasPlainNames
    }

    /// Fields by their names; of several with one name the last one.
    public init(_ fields: some Sequence<(key: String, value: ServiceValue)>) {
        self.init()
        var writer = NamedFieldsWriter()
        for (name, value) in fields { writer.write(value, named: name) }
        self = writer.finish()
    }

    /// Whether there is no field.
    public var isEmpty: Bool { count == 0 }

    /// The value of a field; nil if no field has that name. Setting it to nil removes the field.
    ///
    /// - Complexity: O(*n*) in the bytes of the fields if it is set, and in their number if it is read.
    public subscript(name: String) -> ServiceValue? {
        get { withReader { reader in reader.entry(named: name)?.decoded } }
        set {
            guard let newValue else {
                removeValue(forKey: name)
                return
            }
            updateValue(newValue, forKey: name)
        }
    }

    /// The names, in the order of their UTF-8.
    public var keys: [String] {
        withReader { reader in
            var names: [String] = []
            names.reserveCapacity(count)
            reader.visit { names.append($0.nameText) }
            return names
        }
    }

    /// The values, in the order of their names.
    public var values: [ServiceValue] {
        withReader { reader in
            var values: [ServiceValue] = []
            values.reserveCapacity(count)
            reader.visit { values.append($0.decoded) }
            return values
        }
    }

    /// Removes a field and returns its value; nil if no field has that name.
    @discardableResult
    public mutating func removeValue(forKey name: String) -> ServiceValue? {
        guard let (range, old) = place(of: name) else { return nil }
        bytes.removeSubrange(range)
        count -= 1
        return old
    }

    /// Sets a field, and returns the value that it had; nil if it is new.
    @discardableResult
    public mutating func updateValue(
        _ value: ServiceValue, forKey name: String
    ) -> ServiceValue? {
        let old = place(of: name)
        var writer = NamedFieldsWriter()
        writer.write(value, named: name)
        let entry = writer.finish()
        if let old {
            bytes.replaceSubrange(old.range, with: entry.bytes)
            if !hasPlainNames || !entry.hasPlainNames { sort() }
        } else {
            let start = withReader { reader in entry.withReader { reader.start(of: $0.first) } }
            bytes.insert(contentsOf: entry.bytes, at: start)
            count += 1
        }
        hasPlainNames = hasPlainNames && entry.hasPlainNames
        return old?.value
    }

    /// Where a field is, and its value.
    private func place(of name: String) -> (range: Range<Int>, value: ServiceValue)? {
        withReader { reader in reader.entry(named: name).map { (reader.range(of: $0), $0.decoded) }
        }
    }

    /// Brings the entries into the order of their names, after one got another spelling of its name.
    private mutating func sort() {
        var writer = NamedFieldsWriter()
        withReader { reader in reader.visit { writer.write($0) } }
        self = writer.finish()
    }

    /// The fields for which a condition holds.
    public func filter(
        _ isIncluded: ((key: String, value: ServiceValue)) throws -> Bool
    ) rethrows -> NamedFields {
        var writer = NamedFieldsWriter()
        for (name, value) in self where try isIncluded((name, value)) {
            writer.write(value, named: name)
        }
        return writer.finish()
    }

    /// The fields with other values.
    public func mapValues(
        _ transform: (ServiceValue) throws -> ServiceValue
    ) rethrows -> NamedFields {
        var writer = NamedFieldsWriter()
        for (name, value) in self { writer.write(try transform(value), named: name) }
        return writer.finish()
    }

    /// The fields with those of others, which count where both have one.
    public func merging(_ others: NamedFields) -> NamedFields {
        guard hasPlainNames, others.hasPlainNames else {
            // A name may be spelled otherwise there.
            var fields = self
            for (name, value) in others { fields[name] = value }
            return fields
        }
        var writer = NamedFieldsWriter(capacity: bytes.count + others.bytes.count)
        for fields in [self, others] {
            fields.withReader { reader in reader.visit { writer.write($0) } }
        }
        return writer.finish()
    }
}

extension NamedFields: ExpressibleByDictionaryLiteral {
    /// Fields by their names, each of which is there once.
    public init(dictionaryLiteral elements: (String, ServiceValue)...) {
        self.init(elements.lazy.map { (key: $0, value: $1) })
        precondition(count == elements.count, "A literal has a name twice.")
    }
}

extension NamedFields: Sequence {
    /// Gives the fields in the order of their names.
    public struct Iterator: IteratorProtocol {
        private let fields: NamedFields
        private var offset = 0

        fileprivate init(_ fields: NamedFields) { self.fields = fields }

        /// The next field; nil after the last one.
        public mutating func next() -> (key: String, value: ServiceValue)? {
            let start = offset
            let next = fields.withReader { reader in
                reader.entry(at: start).map { ($0.nameText, $0.decoded, start + $0.byteCount) }
            }
            guard let (name, value, end) = next else { return nil }
            offset = end
            return (name, value)
        }
    }

    /// Gives the fields in the order of their names.
    public func makeIterator() -> Iterator { Iterator(self) }

    /// The number of fields.
    public var underestimatedCount: Int { count }
}

extension NamedFields: Hashable {
    /// Whether both have equal values under the same names.
    public static func == (left: NamedFields, right: NamedFields) -> Bool {
        guard left.count == right.count else { return false }
        // Equal bytes are equal values, except for NaN. Equal values may also have different bytes.
        return left.withReader { reader in
            right.withReader { other in
                var isSame = true
                var offset = 0
                reader.visit { entry in
                    guard isSame else { return }
                    // Entries are in the order of their names, so that the same name is mostly in the same place.
                    var match = other.entry(at: offset)
                    offset += match?.byteCount ?? 0
                    if match?.holdsSameName(as: entry) != true {
                        match = other.entry(namedAs: entry)
                    }
                    isSame = match?.holdsSameValue(as: entry) ?? false
                }
                return isSame
            }
        }
    }

    /// Feeds the number of fields, because equal fields may have other bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(count) }
}

extension NamedFields: CustomStringConvertible {
    /// The fields as a dictionary shows them.
    public var description: String {
        let parts = map { "\"\($0.key)\": \($0.value)" }
        return parts.isEmpty ? "[:]" : "[\(parts.joined(separator: ", "))]"
    }
}
