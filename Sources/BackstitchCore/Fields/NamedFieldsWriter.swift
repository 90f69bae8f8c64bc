/// Packs fields one after another; their names may come in any order, and the last one of a name counts.
package struct NamedFieldsWriter: ~Copyable {
    /// The entries so far. A value that has begun is appended here: its tag and its payload.
    package var buffer: ByteBuffer
    private var count = 0
    /// Where the entry that was begun last starts, and where its value does.
    private var (start, valueStart) = (0, 0)
    /// Whether each name comes after the one before it.
    private var isAscending = true
    private var hasPlainNames = true

    package init(capacity: Int = 512) { buffer = ByteBuffer(capacity: capacity) }

    /// Begins an entry.
    package mutating func begin(
        _ name: UnsafeRawBufferPointer, _ flags: NamedFieldEntry.Flags = []
    ) {
        let last = (start, valueStart)
        start = buffer.count
        buffer.append(little: UInt32(name.count))
        buffer.append(little: UInt32(0))
        buffer.append(flags.rawValue)
        unsafe buffer.append(name)
        valueStart = buffer.count
        if count > 0, isAscending {
            isAscending = unsafe buffer.bytes.part((last.0 + NamedFieldEntry.headBytes)..<last.1)
                .precedes(name)
        }
        if hasPlainNames, unsafe name.contains(where: { $0 >= 0x80 }) { hasPlainNames = false }
        count += 1
    }

    /// Ends an entry.
    package mutating func end() {
        buffer.store(little: UInt32(buffer.count - valueStart), at: start + 4)
    }

    /// Writes a field.
    package mutating func write(
        _ value: ServiceValue, named name: String, _ flags: NamedFieldEntry.Flags = []
    ) {
        var name = name
        name.withUTF8 { unsafe begin(UnsafeRawBufferPointer($0), flags) }
        value.append(packedTo: &buffer)
        end()
    }

    /// Writes a field as it is packed elsewhere.
    package mutating func write(_ entry: NamedFieldEntry) {
        unsafe begin(entry.name, entry.flags)
        unsafe buffer.append(entry.value)
        end()
    }

    /// The fields that were written; the writer is empty then.
    package mutating func finish() -> NamedFields {
        defer {
            buffer.removeAll()
            (count, start, valueStart) = (0, 0, 0)
            (isAscending, hasPlainNames) = (true, true)
        }
        guard !isAscending || !hasPlainNames else {
            return NamedFields(
                bytes: buffer.array, count: count, hasPlainNames: hasPlainNames)
        }
        return sorted()
    }

    private func sorted() -> NamedFields {
        var ranges: [Range<Int>] = []
        ranges.reserveCapacity(count)
        var offset = 0
        while let entry = entry(at: offset) {
            ranges.append(offset..<(offset + entry.byteCount))
            offset += entry.byteCount
        }
        ranges.sort { left, right in
            guard let one = entry(at: left.lowerBound), let other = entry(at: right.lowerBound)
            else { return false }
            if unsafe one.name.precedes(other.name) { return true }
            return unsafe one.name.holdsSameBytes(as: other.name)
                && left.lowerBound < right.lowerBound
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(buffer.count)
        var kept = 0
        for (index, range) in ranges.enumerated() {
            if index + 1 < ranges.count, isSame(range, ranges[index + 1]) { continue }
            unsafe bytes.append(contentsOf: buffer.bytes[range])
            kept += 1
        }
        let fields = NamedFields(bytes: bytes, count: kept, hasPlainNames: hasPlainNames)
        return hasPlainNames ? fields : fields.withoutRespelledNames
    }

    private func entry(at offset: Int) -> NamedFieldEntry? {
        unsafe NamedFieldEntry(buffer.bytes.part(offset..<buffer.count))
    }

    private func isSame(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        guard let one = entry(at: left.lowerBound), let other = entry(at: right.lowerBound) else {
            return false
        }
        return unsafe one.name.holdsSameBytes(as: other.name)
    }
}

extension NamedFields {
    /// The fields without those whose names are other spellings of one that is there.
    fileprivate var withoutRespelledNames: NamedFields {
        let names = keys
        guard Set(names).count < names.count else { return self }
        var seen: Set<String> = []
        var bytes: [UInt8] = []
        withReader { reader in
            reader.visit { entry in
                guard seen.insert(entry.nameText).inserted else { return }
                bytes.append(contentsOf: self.bytes[reader.range(of: entry)])
            }
        }
        return NamedFields(bytes: bytes, count: seen.count, hasPlainNames: false)
    }
}
